"""Regular expressions: `matches`, `find`, `findAll`, with RE2's meaning. The only file that imports RE2.

A pattern known at compile time goes through `compile_constant`, which may choose Python's `re` where
`python_re.py` has shown that it is the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import re2

from webhook.cel.errors import CelError
from webhook.cel.function_types import Function
from webhook.cel.lib import costs
from webhook.cel.lib.go.strconv import from_bytes, to_bytes
from webhook.cel.lib.python_re import matcher
from webhook.cel.lib.rows import library, member, plain
from webhook.cel.types import BOOL, INT, STRING, list_of
from webhook.cel.values import Optional, TypeValue

_MEMORY: Final = 64 << 20
_LONGEST: Final = 100_000
_SENTENCES: Final = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
}
_ANY_BYTE: Final = re.compile(r"\\(?:Q.*?(?:\\E|$)|([\s\S]))", re.DOTALL)
_NAME: Final = re.compile(r"\(\?P?<\w+>")


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    return options


_OPTIONS: Final = _options()


class PatternError(ValueError):
    """A pattern is none. The message is Go's: error parsing regexp: …"""


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Any:
    """The pattern compiled by RE2; PatternError in Go's words."""
    if len(pattern) > _LONGEST:
        raise PatternError(f"error parsing regexp: expression too large: `{pattern[:32]}`")
    if any(escape.group(1) == "C" for escape in _ANY_BYTE.finditer(pattern)):
        raise PatternError("error parsing regexp: invalid escape sequence: `\\C`")
    try:
        return re2.compile(to_bytes(pattern).decode("utf-8", "replace"), _OPTIONS)
    except re2.error as error:
        message = error.args[0].decode("utf-8", "replace") if error.args else ""
        if message.startswith("duplicate capture group name"):
            return compiled(_NAME.sub("(", pattern))
        raise PatternError(_in_go_words(message)) from None


def _in_go_words(message: str) -> str:
    reason, _, part = message.partition(": ")
    return f"error parsing regexp: {_SENTENCES.get(reason, reason)}: `{part}`"


def _search(pattern: str, trouble: str) -> Any:
    try:
        return compiled(pattern)
    except PatternError as error:
        raise CelError(trouble + str(error)) from None


def compile_constant(pattern: str) -> Callable[[str], bool]:
    """A test `text -> bool` for a constant pattern of `matches`; PatternError where it is no pattern."""
    search = compiled(pattern).search
    fast = matcher(pattern)
    return fast if fast is not None else lambda text: search(to_bytes(text)) is not None


_LONG: Final = 10_000
_PRODUCT: Final = 1 << 28
"""Steps of RE2 that take about a second: what a long pattern and a long text may take together."""


def _endless(text: str, pattern: str) -> None:
    """Refuse what would take tens of seconds, in Go as here: `matches(text, pattern)` may cost 1 all the same."""
    if len(pattern) > _LONG and len(pattern) * len(text) > _PRODUCT:
        raise CelError(f"regular expression too large: {len(pattern)} characters for a text of {len(text)}")


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern matches anywhere in the text."""
    _endless(text, pattern)
    return _search(pattern, "").search(to_bytes(text)) is not None


def find(text: str, pattern: str) -> str:
    """The first match, the empty string if there is none."""
    _endless(text, pattern)
    found = _search(pattern, "Illegal regex: ").search(to_bytes(text))
    return from_bytes(found.group()) if found else ""


def find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    """All matches, or the first `count`; none overlap, and an empty one does not follow on another's heels."""
    _endless(text, pattern)
    search, data = _search(pattern, "Illegal regex: ").search, to_bytes(text)
    matches: list[str] = []
    position, last_end = 0, -1
    while position <= len(data) and (count < 0 or len(matches) < count):
        found = search(data, position)
        if not found:
            break
        start, end = found.span()
        accepted = end != position or start != last_end
        position = end if end != position else position + _width(data, position)
        last_end = end
        if accepted:
            matches.append(from_bytes(data[start:end]))
    return matches


def _width(data: bytes, position: int) -> int:
    """How many bytes the character at a position has; 1 where it is none."""
    lead = data[position] if position < len(data) else 0
    width = 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    try:
        data[position : position + width].decode()
    except UnicodeDecodeError:
        return 1
    return width


def native(value: object) -> object:
    """What Go's native form of a value shows: the value inside an optional, the name of a type."""
    if isinstance(value, Optional) and value.present:
        return native(value.value)
    return value.name if isinstance(value, TypeValue) else value


FUNCTIONS: Final = library(
    "standard",
    Function(
        "matches",
        (
            plain("matches", (STRING, STRING), BOOL, matches, costs.nominal),
            member("matches_string", STRING, (STRING,), BOOL, matches, costs.MATCHED),
        ),
        "Whether a regular expression of RE2 matches anywhere in a text.",
        (("'123-456'.matches('^[0-9]+(-[0-9]+)?$')", "true"), ("matches('hello', '^h.*o$')", "true")),
        one_body=True,
        pattern=True,
        matcher=compile_constant,
    ),
) + library(
    "kubernetes.regex",
    Function(
        "find",
        (member("string_find_string", STRING, (STRING,), STRING, find, costs.FOUND),),
        "The first match of a regular expression, empty if there is none.",
        (("'abc 123'.find('[0-9]+')", "'123'"), ("'abc'.find('[0-9]+')", "''")),
        pattern=True,
    ),
    Function(
        "findAll",
        (
            member("string_find_all_string", STRING, (STRING,), list_of(STRING), find_all, costs.FOUND),
            member("string_find_all_string_int", STRING, (STRING, INT), list_of(STRING), find_all, costs.FOUND),
        ),
        "The matches of a regular expression, at most as many as given.",
        (("'123 abc 456'.findAll('[0-9]+')", "['123', '456']"), ("'1 2 3'.findAll('[0-9]', 1)", "['1']")),
        pattern=True,
    ),
)
