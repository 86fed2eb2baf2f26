"""Where a cursor stands in an expression that is being written: the word, what it is a part of, what is in scope.

The text need not be whole: only what stands before the cursor is read, token by token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<blank>\s+|//[^\n]*)
    |(?P<string>[rRbB]{0,2}(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))
    |(?P<number>\d[\w.]*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_OPENS: Final = {")": "(", "]": "[", "}": "{"}
ONE: Final = ("all", "exists", "exists_one", "filter", "map", "sortBy")
TWO: Final = ("all", "exists", "existsOne", "transformList", "transformMap", "transformMapEntry")
"""The macros that bind one variable, and those that bind two."""
OPTIONAL: Final = ("optMap", "optFlatMap")
"""The macros that bind the value of an optional."""


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A piece of an expression: its sort (string, number, name or sign), its text, and where it starts."""

    sort: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Where the next character stands."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class MacroVariables:
    """Variables of a macro around the cursor: what they run `over`; `let` says that it is one value (`cel.bind`)."""

    names: tuple[str, ...]
    over: str
    let: bool = False


@dataclass(frozen=True, slots=True)
class Cursor:
    """What stands at the cursor.

    `word` is what is written of a name, from `start` on; `receiver` the expression before the dot, None where there is
    none; `struct` the type whose field is to be named, such as `Object.spec`; `bindings` from the outermost on.
    """

    word: str
    start: int
    receiver: str | None = None
    struct: str = ""
    bindings: tuple[MacroVariables, ...] = ()


def tokens(text: str) -> list[Lexeme]:
    """Return the tokens of a text; blanks and comments are left out."""
    found = [Lexeme(str(m.lastgroup), m[0], m.start()) for m in _TOKEN.finditer(text)]
    return [token for token in found if token.sort != "blank"]


def cursor(text: str, offset: int) -> Cursor | None:
    """Return what stands at an offset of a text; None inside a string or a number."""
    before = tokens(text[:offset])
    if _in_string(before) or (before and before[-1].sort in ("string", "number") and before[-1].end == offset):
        return None
    word, start = "", offset
    if before and before[-1].sort == "name" and before[-1].end == offset:
        word, start = before[-1].text, before[-1].start
        before = before[:-1]
    bindings = tuple(_bindings(text, before))
    dot = _dot(before)
    if dot is not None:
        begin = _chain(before, dot - 1)
        receiver = "" if begin is None else text[before[begin].start : before[dot - 1].end]
        return Cursor(word, start, receiver, "", bindings)
    return Cursor(word, start, None, _struct(text, before), bindings)


def word_at(text: str, offset: int) -> Lexeme | None:
    """Return the name that an offset stands in or behind."""
    return next((t for t in tokens(text) if t.sort == "name" and t.start <= offset <= t.end), None)


def _in_string(found: list[Lexeme]) -> bool:
    """Return whether a quote is open: its sign found no other one."""
    return any(token.text in ("'", '"') for token in found)


def _dot(found: list[Lexeme]) -> int | None:
    """Return the index of the dot that ends the tokens, with or without the `?` behind it."""
    at = len(found) - 1
    if at > 0 and found[at].text == "?" and found[at - 1].text == "." and found[at - 1].end == found[at].start:
        at -= 1
    return at if at > 0 and found[at].text == "." else None


def _chain(found: list[Lexeme], at: int) -> int | None:
    """Return the index of the first token of the expression that ends at a token: names, calls, indexes, literals."""
    while at >= 0:
        token = found[at]
        if token.text in _OPENS:
            opened = _opening(found, at)
            if opened is None:
                return None
            called = opened > 0 and found[opened - 1].sort == "name" and token.text != "]"
            indexed = opened > 0 and token.text == "]" and (found[opened - 1].sort == "name" or _closes(found, opened))
            if not called and not indexed:
                return opened
            at = opened - 1
            continue
        if token.sort == "sign":
            return None
        dot = _dot(found[:at])
        if token.sort != "name" or dot is None:
            return at
        at = dot - 1
    return None


def _closes(found: list[Lexeme], at: int) -> bool:
    return found[at - 1].text in _OPENS


def _opening(found: list[Lexeme], at: int) -> int | None:
    """Return the index of the bracket that the one at an index closes."""
    depth = 0
    for index in range(at, -1, -1):
        if found[index].text in _OPENS:
            depth += 1
        elif found[index].text in _OPENS.values():
            depth -= 1
            if depth == 0:
                return index
    return None


def _open(found: list[Lexeme], signs: str) -> list[int]:
    """Return the indexes of the brackets that nothing closes, the outermost first."""
    stack: list[int] = []
    for index, token in enumerate(found):
        if token.text in _OPENS.values():
            stack.append(index)
        elif token.text in _OPENS and stack:
            stack.pop()
    return [index for index in stack if found[index].text in signs]


def _bindings(text: str, found: list[Lexeme]) -> list[MacroVariables]:
    bound = []
    for at in _open(found, "("):
        names = _named(found[at + 1 :])
        dot = _dot(found[: at - 1]) if at > 1 else None
        begin = _chain(found, dot - 1) if dot is not None else None
        if dot is None or begin is None or not names:
            continue
        macro, over = found[at - 1].text, text[found[begin].start : found[dot - 1].end]
        if macro == "bind" and over == "cel":
            if (value := _argument(text, found, at + 3)) is not None:
                bound.append(MacroVariables(names[:1], value, let=True))
        elif macro in OPTIONAL:
            bound.append(MacroVariables(names[:1], f"{over}.value()", let=True))
        elif len(names) > 1 and macro in TWO:
            bound.append(MacroVariables(names[:2], over))
        elif macro in ONE:
            bound.append(MacroVariables(names[:1], over))
    return bound


def _named(found: list[Lexeme]) -> tuple[str, ...]:
    """Return the names, each followed by a comma, that an argument list begins with."""
    names = []
    for name, comma in zip(found[::2], found[1::2], strict=False):
        if name.sort != "name" or comma.text != ",":
            break
        names.append(name.text)
    return tuple(names)


def _argument(text: str, found: list[Lexeme], start: int) -> str | None:
    """Return the text of the argument that starts at a token, if a comma ends it."""
    depth = 0
    for index in range(start, len(found)):
        depth += (found[index].text in _OPENS.values()) - (found[index].text in _OPENS)
        if depth == 0 and found[index].text == "," and index > start:
            return text[found[start].start : found[index - 1].end]
    return None


def _struct(text: str, found: list[Lexeme]) -> str:
    """Return the name before the brace in which a field is to be named next; empty where none is."""
    opened = _open(found, "([{")
    if not opened or found[opened[-1]].text != "{" or found[-1].text not in ("{", ","):
        return ""
    at = opened[-1]
    begin = _chain(found, at - 1) if at > 0 and found[at - 1].sort == "name" else None
    return "" if begin is None else text[found[begin].start : found[at - 1].end]
