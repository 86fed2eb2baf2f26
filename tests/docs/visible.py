"""Every text that users read: pages, help, the chart, policies, and the strings of the sources.

Of the sources all strings with a blank in them count but docstrings: messages, hints and log lines are among them.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import click

from tests.docs.reference import cli, commands
from tests.shared import ROOT

PAGES = ("README.md", "docs/**/*.md", "certs/**/*.md", "charts/**/*", "policies/**/*.yaml", "policies/**/*.md")
SCAFFOLD = "webhook/offline/scaffold/files/**/*"
APART = ("docs/decisions/",)
"""Pages that tell of the work itself."""


def texts() -> Iterator[tuple[str, int, str]]:
    """Give each text with its file (of help: the command) and line."""
    for file in (file for pattern in (*PAGES, SCAFFOLD) for file in sorted(ROOT.glob(pattern)) if file.is_file()):
        name = file.relative_to(ROOT).as_posix()
        if not name.startswith(APART):
            for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), 1):
                yield name, number, line
    for file in sorted((ROOT / "webhook").rglob("*.py")):
        for number, text in _strings(file):
            yield file.relative_to(ROOT).as_posix(), number, text
    yield from _help()


def _strings(file: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(file.read_text("utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and " " in node.value
            and id(node) not in docs
        ):
            yield node.lineno, node.value


def _help() -> Iterator[tuple[str, int, str]]:
    for path, command in commands(cli):
        name = " ".join(("sluice", *path))
        yield name, 0, " ".join(filter(None, (command.help, command.short_help, command.epilog)))
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.help:
                yield f"{name} {parameter.opts[-1]}", 0, parameter.help
