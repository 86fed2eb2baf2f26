"""Decides which regular expressions Python's `re` may run: those with provably the same meaning and linear time.

The subset: an anchored sequence of ASCII literals, classes and groups of plain alternatives, where no repetition can
give back a character that the next part could match; or a plain literal. All others are run by RE2 (`regex.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_ASCII: Final = frozenset(map(chr, range(128)))
_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS: Final = frozenset("0123456789")
_NAMED: Final = {"d": _DIGITS, "w": _LETTERS | _DIGITS | {"_"}, "s": frozenset("\t\n\f\r ")}
_PUNCTUATION: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_PLAIN: Final = (_ASCII - frozenset("\\^$.|?*+()[]{}")) - frozenset(map(chr, range(32)))
_BRANCHES: Final = 16


@dataclass(frozen=True, slots=True)
class _Item:
    """One step of the sequence: alternatives of sets of characters, once or repeated."""

    ways: tuple[tuple[frozenset[str], ...], ...]
    least: int = 1
    most: int | None = 1

    @property
    def firsts(self) -> frozenset[str]:
        return frozenset().union(*(way[0] for way in self.ways if way))

    @property
    def optional(self) -> bool:
        return self.least == 0 or any(not way for way in self.ways)


class _Outside(Exception):
    """The pattern is not in the subset."""


def matcher(pattern: str) -> Callable[[str], bool] | None:
    """A fast test for a pattern of the subset, None for every other pattern."""
    if pattern and _PLAIN.issuperset(pattern):
        return lambda text: pattern in text
    if not pattern.startswith("^") or not pattern.isascii():
        return None
    closed = pattern.endswith("$") and not pattern.endswith("\\$")
    try:
        items = _Reader(pattern[1 : len(pattern) - closed]).sequence()
    except _Outside:
        return None
    if not _linear(items, closed):
        return None
    run = re.compile("".join(map(_text, items)) + (r"\Z" if closed else ""), re.DOTALL).match
    return lambda text: run(text) is not None


def _linear(items: list[_Item], closed: bool) -> bool:
    branches = 1
    for index, item in enumerate(items):
        if item.most != 1 and item.firsts & _follow(items[index + 1 :]):
            return False
        if item.most == 1:
            branches *= len(item.ways) + (item.least == 0)
    return branches <= _BRANCHES


def _follow(items: list[_Item]) -> frozenset[str]:
    """The characters that the rest of the sequence may begin with."""
    firsts: frozenset[str] = frozenset()
    for item in items:
        firsts |= item.firsts
        if not item.optional:
            break
    return firsts


def _text(item: _Item) -> str:
    """The item written anew, with nothing in it that Python could read differently."""
    ways = ["".join(map(_class, way)) for way in item.ways]
    body = ways[0] if len(ways) == 1 and len(item.ways[0]) == 1 else f"(?:{'|'.join(ways)})"
    if (item.least, item.most) == (1, 1):
        return body
    return f"{body}{{{item.least},{'' if item.most is None else item.most}}}"


def _class(chars: frozenset[str]) -> str:
    return f"[{''.join(f'{chr(92)}x{ord(char):02x}' for char in sorted(chars))}]"


class _Reader:
    """Reads the sequence between the anchors."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def sequence(self) -> list[_Item]:
        items = []
        while self.position < len(self.text):
            items.append(self._item())
        return items

    def _take(self) -> str:
        if self.position >= len(self.text):
            raise _Outside
        self.position += 1
        return self.text[self.position - 1]

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _item(self) -> _Item:
        char = self._take()
        if char == "(":
            return self._group()
        if char == "[":
            chars = self._members()
        elif char == "\\":
            chars = self._escape()
        elif char in _PLAIN:
            chars = frozenset({char})
        else:
            raise _Outside
        least, most = self._repeat()
        return _Item(((chars,),), least, most)

    def _group(self) -> _Item:
        if self._peek() == "?":
            if self.text[self.position : self.position + 2] != "?:":
                raise _Outside
            self.position += 2
        ways: list[tuple[frozenset[str], ...]] = []
        way: list[frozenset[str]] = []
        while (char := self._take()) != ")":
            if char == "|":
                ways.append(tuple(way))
                way = []
            elif char == "\\":
                way.append(self._escape())
            elif char in _PLAIN:
                way.append(frozenset({char}))
            else:
                raise _Outside
        ways.append(tuple(way))
        least, most = self._repeat()
        if most != 1 or not all(ways):
            raise _Outside
        return _Item(tuple(ways), least, most)

    def _repeat(self) -> tuple[int, int | None]:
        least, most = {"?": (0, 1), "*": (0, None), "+": (1, None)}.get(self._peek(), (-1, None))
        if least >= 0:
            self.position += 1
        elif self._peek() == "{":
            found = re.compile(r"\{([0-9]{1,3})(,([0-9]{1,3})?)?\}", re.ASCII).match(self.text, self.position)
            if found is None:
                raise _Outside
            self.position = found.end()
            least = int(found.group(1))
            most = (int(found.group(3)) if found.group(3) else None) if found.group(2) else least
            if most is not None and most < max(least, 1):
                raise _Outside
        else:
            return 1, 1
        if self._peek() in ("?", "*", "+", "{") and self._peek():
            raise _Outside
        return least, most

    def _escape(self) -> frozenset[str]:
        char = self._take()
        if char in _NAMED:
            return _NAMED[char]
        if char in _PUNCTUATION:
            return frozenset({char})
        raise _Outside

    def _members(self) -> frozenset[str]:
        chars: set[str] = set()
        if self._peek() in ("^", "]"):
            raise _Outside
        while (char := self._take()) != "]":
            if char == "[":
                raise _Outside
            low = self._escape() if char == "\\" else frozenset({char})
            if self._peek() == "-" and self.text[self.position + 1 : self.position + 2] not in ("]", ""):
                if len(low) != 1 or char == "\\":
                    raise _Outside
                self.position += 1
                high = self._take()
                if high in "\\[" or high < char:
                    raise _Outside
                low = frozenset(map(chr, range(ord(char), ord(high) + 1)))
            chars |= low
        return frozenset(chars)
