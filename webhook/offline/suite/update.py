"""`sluice test --update`: writes the result of a case into its suite file, as the expected patch or object only."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from webhook import documents
from webhook.documents import YamlNode
from webhook.offline.files import write_whole
from webhook.offline.suite.run_case import Result

Edit = tuple[YamlNode, list[str], Any]
"""A value's place, the lines to write there (none: it stands within a line), and the value."""


def update(results: Iterable[Result]) -> dict[Path, int]:
    """Rewrite the expected patches and objects that are wrong; gives how many per file."""
    edits: dict[Path, list[Edit]] = {}
    for result in results:
        verdict, case = result.verdict, result.case
        if verdict is None or not any(f.code == "SUI012" for f in result.findings):
            continue
        file = Path(case.document.file)
        for name, value in (("patch", [s.wire() for s in verdict.patch]), ("patched", verdict.object)):
            node = case.document.nodes.get((*case.route, "expect", name))
            key = case.document.keys.get((*case.route, "expect", name))
            written = (case.spec.get("expect") or {}).get(name)
            if node is not None and key is not None and not isinstance(written, str):
                inline = bool(case.document.lines[key.line - 1][: key.column - 1].strip())
                edits.setdefault(file, []).append((node, [] if inline else _block(value, key.column - 1), value))
    for file, changes in edits.items():
        _rewrite(file, changes)
    return {file: len(changes) for file, changes in edits.items()}


def _block(value: Any, indent: int) -> list[str]:
    """Write a value as the lines that follow its key: a list with an operation a line, a map as a block."""
    if isinstance(value, list):
        return [f"{' ' * indent}- {orjson.dumps(step).decode()}" for step in value] or [f"{' ' * indent}  []"]
    return [f"{' ' * (indent + 2)}{line}" for line in documents.dump(value).rstrip("\n").split("\n")]


def _rewrite(file: Path, changes: list[Edit]) -> None:
    """Put the new lines in the place of the old ones, from the end of the file to its start."""
    old = file.read_bytes().decode("utf-8-sig")
    end = "\r\n" if "\r\n" in old else "\n"
    text = old.replace("\r\n", "\n").split("\n")
    for node, lines, value in sorted(changes, key=lambda change: (change[0].line, change[0].column), reverse=True):
        if not lines:
            after = text[node.end_line - 1][node.end_column - 1 :]
            within = f"{text[node.line - 1][: node.column - 1]}{orjson.dumps(value).decode()}{after}"
            text[node.line - 1 : node.end_line] = [within]
            continue
        start, last = node.line - 1, _end(text, node)
        head = text[start][: node.column - 1].rstrip()
        comment = text[node.end_line - 1][node.end_column - 1 :].strip()
        keep = [f"{head}  {comment}" if comment.startswith("#") else head] if head.endswith(":") else []
        text[start : last + 1] = [*keep, *lines]
    write_whole(file, end.join(text).encode())


def _end(text: list[str], node: YamlNode) -> int:
    """Return the index of the value's last line; a block ends before the blank lines and comments that follow it."""
    end = node.end_line - 1
    if node.end_column == 1 or not text[end][: node.end_column - 1].strip():
        end -= 1
    while end > node.line - 1 and text[end].strip()[:1] in ("", "#"):
        end -= 1
    return end
