"""Where a position of a file is: in which object, at which field, how far into which text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from webhook import documents
from webhook.diagnostics import SourceError
from webhook.documents import Document, Path, YamlNode
from webhook.offline.lint.context import Subject, subjects_of


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in an object. `path` leads to the field, from the object; `key` says that it is its name.

    `offset` is how many characters of the field's text stand before it, None where the value is no text.
    """

    subject: Subject
    path: Path
    key: bool = False
    offset: int | None = None

    @property
    def text(self) -> str:
        """The text of the field; empty where it is none."""
        return self.subject.text(*self.path)


def spot_at(found: Iterable[Document], line: int, column: int) -> Spot | None:
    """Return what stands at a line and column, both from 1; None between objects."""
    for document in found:
        node = document.nodes.get(())
        if node is None or not _holds(node, line, column):
            continue
        path, key = _deepest(document, line, column)
        for subject in subjects_of(document):
            if path[: len(subject.root)] == subject.root:
                offset = None if key else document.text_offset(path, line, column)
                return Spot(subject, path[len(subject.root) :], key, offset)
    return None


def value_at(found: Iterable[Document], text: str, line: int, column: int) -> tuple[Subject, Path, str] | None:
    """Return the field whose value is written at a line and column: its object, its path, and what is written."""
    rows = text.split("\n")
    row = rows[line - 1][: column - 1] if line <= len(rows) else ""
    for document in found:
        for path, node in document.keys.items():
            behind = row[node.end_column :].lstrip(" ") if node.line == line and node.end_column < column else None
            if behind is None or ":" in behind:
                continue
            word = behind.lstrip("['\"").rpartition(",")[2].lstrip(" '\"")
            for subject in subjects_of(document):
                if path[: len(subject.root)] == subject.root:
                    inner = (*path[len(subject.root) :], 0) if behind.startswith("[") else path[len(subject.root) :]
                    return subject, inner, word
    return _item_at(found, row, line)


def _item_at(found: Iterable[Document], row: str, line: int) -> tuple[Subject, Path, str] | None:
    """Return the list whose plain item is written on a line such as `    - Deny`: its first item stands for all."""
    item = row.lstrip(" ")
    if not item.startswith("- "):
        return None
    above = [
        (node.line, path, document)
        for document in found
        for path, node in document.keys.items()
        if node.line < line and node.column - 1 <= len(row) - len(item)
    ]
    if not above:
        return None
    _, path, document = max(above, key=lambda entry: entry[0])
    for subject in subjects_of(document):
        if path[: len(subject.root)] == subject.root:
            return subject, (*path[len(subject.root) :], 0), item.removeprefix("- ").lstrip(" '\"")
    return None


def fields_at(text: str, name: str, line: int, column: int) -> tuple[Subject, Path, str] | None:
    """Return the map whose field may be written at a line and column: its object, its path, and what is written of it.

    The line itself is left out where the text cannot be read with it.
    """
    rows = text.split("\n")
    row = rows[line - 1][: column - 1] if line <= len(rows) else ""
    word = row.lstrip(" ").removeprefix("- ").lstrip(" ")
    if ":" in word or '"' in word or "'" in word:
        return None
    indent = len(row) - len(word)
    try:
        found = documents.read("\n".join([*rows[: line - 1], "", *rows[line:]]), name)
    except SourceError:
        return None
    before = [(node, path, d) for d in found for path, node in d.keys.items() if node.line < line]
    for node, path, document in sorted(before, key=lambda item: (item[0].line, item[0].column), reverse=True):
        if node.column - 1 > indent:
            continue
        parent = path[:-1] if node.column - 1 == indent else path
        for subject in subjects_of(document):
            if parent[: len(subject.root)] == subject.root:
                return subject, parent[len(subject.root) :], word
        return None
    return None


def _deepest(document: Document, line: int, column: int) -> tuple[Path, bool]:
    """Return the longest path whose key or value holds a place."""
    values = [(path, False) for path, node in document.nodes.items() if _holds(node, line, column)]
    keys = [(path, True) for path, node in document.keys.items() if _holds(node, line, column)]
    return max([*values, *keys], key=lambda item: len(item[0]))


def _holds(node: YamlNode, line: int, column: int) -> bool:
    last = (node.end_line, node.end_column)
    if node.style in ("|", ">") and node.end_column == 1:  # it ends before the line that follows
        last = (node.end_line, 0)
    return (node.line, node.column) <= (line, column) <= last
