"""What is wrong in a user's file, where it stands, and how to mend it.

A `Diagnostic` is a value: code, place, sentence, hint. Everything that reads a user's file collects them and
reports all at once, each with a caret under its place. Printing in colour, as SARIF or as JUnit is done elsewhere.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH: Final = 110
LIMIT = 100
"""How many errors of one file are told; more would not be read."""
_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0))}
_CONTROLS.update(
    (code, f"\\u{code:04x}") for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xE000))
)
"""What could write over a terminal, turn the order of a text around, or not be written at all."""


class Severity(StrEnum):
    """How much a finding matters. Only `ERROR` makes a file unusable."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a file: line and column count from 1, `length` in characters (0: unknown)."""

    file: str
    line: int = 0
    column: int = 0
    length: int = 0

    def __str__(self) -> str:
        """`file:line:column`, without the parts that are not known."""
        return ":".join([self.file, *(str(n) for n in (self.line, self.column) if n)])


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `source` is the line of the file it stands in, `hint` the way out; both may be empty."""

    code: str
    place: Place
    message: str
    severity: Severity = Severity.ERROR
    source: str = ""
    hint: str = ""

    def render(self, width: int = WIDTH) -> str:
        """The finding as text: `file:line:col: error[CODE]: message`, the line, a caret, the hint.

        A line longer than `width` characters is cut to what stands around the caret.
        """
        lines = [f"{self.place}: {self.severity}[{self.code}]: {self.message}"]
        if self.source and self.place.column:
            lines += caret(self.source, self.place.column, self.place.length, width)
        if self.hint:
            lines.append(f"    = {self.hint}")
        return plain("\n".join(lines))


def plain(text: str) -> str:
    """Return a text as it may be written to a terminal: control characters become escapes."""
    return text.translate(_CONTROLS)


def caret(source: str, column: int, length: int = 1, width: int = WIDTH) -> list[str]:
    """Two lines: a window of `source` around `column`, and a caret under it.

    Tabs are kept and wide characters (Chinese, for one) count double, so that both lines match up on a terminal.
    """
    start = max(0, column - 1 - width // 2) if len(source) > width else 0
    window = source[start : start + width]
    at = column - 1 - start
    lead = "".join(c if c == "\t" else " " * _cells(c) for c in window[:at]) + " " * max(0, at - len(window))
    marked = sum(map(_cells, window[at : at + length])) if length > 1 else 1
    return [f"    {window}", f"    {lead}^" + "~" * max(0, marked - 1)]


def _cells(character: str) -> int:
    """How many cells of a terminal a character takes, as `plain` writes it."""
    if unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    if replacement := _CONTROLS.get(ord(character)):
        return len(replacement)
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


class SourceError(Exception):
    """A user's file cannot be used. Carries every finding, in the order of the file."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: Sequence[Diagnostic] = sorted(diagnostics, key=lambda d: d.place)
        super().__init__(self.render())

    def render(self) -> str:
        """All findings as text, at most `LIMIT` of them."""
        shown = [d.render() for d in self.diagnostics[:LIMIT]]
        if (rest := len(self.diagnostics) - LIMIT) > 0:
            shown.append(f"... and {rest} more")
        return "\n".join(shown)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean "x"?` for the nearest known word, or nothing where none is near."""
    found = nearest(word, known)
    return f'did you mean "{found}"?' if found else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the nearest known word, or nothing where none is near.

    Edit distance, at most a third of the word's length; ties go to the first in alphabetical order.
    """
    limit = max(1, len(word) // 3)
    near = sorted((distance(word, k), k) for k in set(known) if abs(len(k) - len(word)) <= limit)
    return near[0][1] if near and near[0][0] <= limit else ""


def distance(a: str, b: str) -> int:
    """Edit distance between two words: two neighbours that changed places count once, case costs nothing."""
    a, b = a.lower(), b.lower()
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
