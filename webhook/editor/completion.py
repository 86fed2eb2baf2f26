"""What can be written at a place: names in an expression, fields and values of a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from webhook.editor.cursor import fields_at, spot_at, value_at
from webhook.editor.environments import known_in
from webhook.editor.members import Name, names_at
from webhook.editor.scan import Cursor, cursor
from webhook.editor.workspace import Workspace
from webhook.editor.yaml_fields import fields_below, values_at


@dataclass(frozen=True, slots=True)
class Completion:
    """The names that may stand at a place; each replaces the `typed` characters before it, `after` goes behind it."""

    names: tuple[Name, ...]
    typed: int = 0
    after: str = ""


def complete(workspace: Workspace, path: Path, line: int, column: int) -> Completion:
    """Return what can be written at a line and column of a file, both from 1."""
    parsed = workspace.files[path]
    around = workspace.around(path)
    spot = None if parsed.wrong else spot_at(parsed.documents, line, column)
    if spot is not None and spot.offset is not None:
        known = known_in(spot.subject, spot.path, around)
        at = cursor(spot.text, spot.offset) if known is not None else None
        if known is not None:
            return Completion(() if at is None else _sorted(names_at(known, at)), len(at.word) if at else 0)
    field = fields_at(parsed.text, str(path), line, column)
    if field is not None:
        subject, parent, word = field
        if names := _sorted(fields_below(subject, parent)):
            return Completion(names, len(word), ": ")
    value = value_at(parsed.documents, parsed.text, line, column)
    if value is not None:
        subject, parent, word = value
        if (known := known_in(subject, parent, around)) is not None and not word:
            return Completion(_sorted(names_at(known, Cursor("", 0))))
        return Completion(_sorted(values_at(subject, parent, workspace)), len(word))
    return Completion(())


def _sorted(names: Iterable[Name]) -> tuple[Name, ...]:
    return tuple(sorted({name.name: name for name in names}.values(), key=lambda n: (n.sort, n.name)))
