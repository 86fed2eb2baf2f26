"""The picture of the packages, drawn from the import contracts of pyproject.toml."""

import ast
import tomllib
from html import escape
from pathlib import Path

from tests.shared import ROOT

WIDTH, ROW, GAP = 860, 64, 12


def layers() -> list[list[str]]:
    """The packages from top to bottom; those of one row do not import each other."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (c for c in project["tool"]["importlinter"]["contracts"] if c["name"] == "Imports go down only")
    rows = [[name.strip().strip("()") for name in layer.split("|")] for layer in contract["layers"]]
    return [[name for name in row if _source(name).exists()] for row in rows]


def _source(name: str) -> Path:
    path = ROOT / name.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _words(name: str) -> str:
    """The first sentence of a package's docstring."""
    doc = ast.get_docstring(ast.parse(_source(name).read_text(encoding="utf-8"))) or ""
    return doc.split("\n")[0].split(". ")[0].rstrip(".")


def _lines(text: str, room: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) + 1 > room:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines[:3] if len(lines) <= 3 else [*lines[:2], f"{lines[2]} …"]


def picture() -> str:
    """The picture as SVG: a row for each layer."""
    rows = layers()
    height = len(rows) * (ROW + GAP) + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        "<title>The packages of Sluice. Imports go down only; packages of one row do not import each other.</title>",
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
    ]
    for row, names in enumerate(rows):
        width = (WIDTH - GAP * (len(names) + 1)) / len(names)
        for column, name in enumerate(names):
            x, y = GAP + column * (width + GAP), GAP + row * (ROW + GAP)
            parts.append(f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{ROW}" rx="6" fill="#e0f2f1"/>')
            short = escape(name.removeprefix("webhook."))
            parts.append(f'<text x="{x + 10:.0f}" y="{y + 18}" font-size="14" font-weight="bold">{short}</text>')
            for at, line in enumerate(_lines(_words(name), int(width / 5.6) - 3)):
                parts.append(f'<text x="{x + 10:.0f}" y="{y + 32 + at * 12}" font-size="10.5">{escape(line)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
