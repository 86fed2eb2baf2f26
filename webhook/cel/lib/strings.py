"""The strings library at version 2, and the string functions of the standard. `format` is in `formatting.py`."""

from __future__ import annotations

from typing import Final

from webhook.cel.errors import CelError
from webhook.cel.function_types import Function
from webhook.cel.lib import costs
from webhook.cel.lib.go.strconv import ESCAPES, to_bytes
from webhook.cel.lib.memory import sized
from webhook.cel.lib.rows import in_python, library, member, plain
from webhook.cel.types import BOOL, BYTES, INT, STRING, list_of, map_of, param
from webhook.cel.values import Uint

_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_QUOTES: Final = str.maketrans(ESCAPES)


def _out_of_range(index: int) -> CelError:
    return CelError(f"index out of range: {index}")


def char_at(text: str, index: int) -> str:
    """The character at an index, the empty string right behind the last; CelError elsewhere."""
    if index < 0 or index > len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def index_of(text: str, part: str, start: int = 0) -> int:
    """Where `part` first stands at or after `start`, -1 if nowhere; an empty part stands at `start`, whatever it is."""
    if part == "":
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(part, start)


def last_index_of(text: str, part: str) -> int:
    """Where `part` last stands, -1 if nowhere."""
    return text.rfind(part)


def last_index_of_until(text: str, part: str, last: int) -> int:
    """Where `part` last begins at or before `last`; an empty part at `last`; -1 where `last` is behind the text."""
    if part == "":
        return last
    if last < 0:
        raise _out_of_range(last)
    if last >= len(text):
        return -1
    return text.rfind(part, 0, last + len(part))


def replace(text: str, old: str, new: str, count: int = -1) -> str:
    """The text with the first `count` places of `old` replaced, all if `count` is negative."""
    if len(new) > len(old):
        places = text.count(old) if count < 0 else min(count, text.count(old))
        sized(len(text) + places * (len(new) - len(old)))
    return text.replace(old, new, count if count >= 0 else -1)


def split(text: str, separator: str, count: int = -1) -> list[str]:
    """The parts between separators, at most `count` (negative: all); an empty separator splits into characters."""
    if count == 0:
        return []
    if separator == "":
        if count < 0 or count >= len(text):
            return list(text)
        return [*text[: count - 1], text[count - 1 :]]
    return text.split(separator, count - 1 if count > 0 else -1)


def substring(text: str, start: int) -> str:
    """The text from `start` on; CelError if it is outside."""
    if start < 0 or start > len(text):
        raise _out_of_range(start)
    return text[start:]


def substring_range(text: str, start: int, end: int) -> str:
    """The text from `start` up to `end`; CelError if the range is upside down or outside."""
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if index < 0 or index > len(text):
            raise _out_of_range(index)
    return text[start:end]


def trim(text: str) -> str:
    """The text without white space (Unicode's) at both ends."""
    return text.strip(_SPACE)


def lower_ascii(text: str) -> str:
    """The text with A to Z in lower case, all else as it is."""
    return text.translate(_LOWER)


def upper_ascii(text: str) -> str:
    """The text with a to z in upper case, all else as it is."""
    return text.translate(_UPPER)


def join(parts: list[object], separator: str = "") -> str:
    """The parts with the separator between them; CelError where a part is no string."""
    for part in parts:
        if not isinstance(part, str):
            raise CelError(f"join: invalid input: {described(part)}")
    sized(sum(map(len, parts)) + len(separator) * len(parts))  # type: ignore[arg-type]
    return separator.join(parts)  # type: ignore[arg-type]


def described(value: object) -> str:
    """A value as Go prints it inside an error, for the plain types."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, Uint) else str(value)


def quote(text: str) -> str:
    """The text between quotes, with the escapes of a CEL literal; what is no character becomes U+FFFD."""
    readable = to_bytes(text).decode("utf-8", "replace") if not text.isascii() else text
    return f'"{readable.translate(_QUOTES)}"'


def contains(text: str, part: str) -> bool:
    """Whether `part` stands anywhere in the text."""
    return part in text


def starts_with(text: str, part: str) -> bool:
    """Whether the text begins with `part`."""
    return text.startswith(part)


def ends_with(text: str, part: str) -> bool:
    """Whether the text ends with `part`."""
    return text.endswith(part)


def size(value: str | bytes | list[object] | dict[object, object]) -> int:
    """How many characters, bytes, elements or entries."""
    return len(value)


_SIZED: Final = (
    ("bytes", BYTES),
    ("list", list_of(param("A"))),
    ("map", map_of(param("A"), param("B"))),
    ("string", STRING),
)
_STRINGS: Final = list_of(STRING)

FUNCTIONS: Final = library(
    "strings",
    Function(
        "charAt",
        (member("string_char_at_int", STRING, (INT,), STRING, char_at),),
        "The character at an index. Right behind the last one it is empty.",
        (("'hello'.charAt(4)", "'o'"), ("'a'.charAt(1)", "''"), ("'a'.charAt(2)", "error: index out of range: 2")),
    ),
    Function(
        "indexOf",
        (
            member("string_index_of_string", STRING, (STRING,), INT, index_of, costs.WALKED),
            member("string_index_of_string_int", STRING, (STRING, INT), INT, index_of, costs.WALKED),
        ),
        "Where a part first occurs, from an index on where one is given; -1 if nowhere.",
        (
            ("'hello mellow'.indexOf('ello')", "1"),
            ("'hello mellow'.indexOf('ello', 2)", "7"),
            ("'a'.indexOf('b')", "-1"),
        ),
    ),
    Function(
        "lastIndexOf",
        (
            member("string_last_index_of_string", STRING, (STRING,), INT, last_index_of, costs.WALKED),
            member("string_last_index_of_string_int", STRING, (STRING, INT), INT, last_index_of_until, costs.WALKED),
        ),
        "Where a part last begins, at an index or before it where one is given; -1 if nowhere.",
        (("'hello mellow'.lastIndexOf('ello')", "7"), ("'hello mellow'.lastIndexOf('ello', 6)", "1")),
    ),
    Function(
        "lowerAscii",
        (member("string_lower_ascii", STRING, (), STRING, lower_ascii, costs.KEPT),),
        "The text with A to Z in lower case.",
        (("'TacoCÆt'.lowerAscii()", "'tacocÆt'"),),
    ),
    Function(
        "replace",
        (
            member("string_replace_string_string", STRING, (STRING, STRING), STRING, replace, costs.REPLACED),
            member("string_replace_string_string_int", STRING, (STRING, STRING, INT), STRING, replace, costs.REPLACED),
        ),
        "The text with a part replaced, as often as the count says (negative: everywhere).",
        (
            ("'hello hello'.replace('he', 'we')", "'wello wello'"),
            ("'hello hello'.replace('he', 'we', 1)", "'wello hello'"),
        ),
    ),
    Function(
        "split",
        (
            member("string_split_string", STRING, (STRING,), _STRINGS, split, costs.DIVIDED),
            member("string_split_string_int", STRING, (STRING, INT), _STRINGS, split, costs.DIVIDED),
        ),
        "The parts between separators, at most as many as the count says. The last part keeps the rest.",
        (("'a b c'.split(' ')", "['a', 'b', 'c']"), ("'a b c'.split(' ', 2)", "['a', 'b c']"), ("''.split('')", "[]")),
    ),
    Function(
        "substring",
        (
            member("string_substring_int", STRING, (INT,), STRING, substring, costs.KEPT),
            member("string_substring_int_int", STRING, (INT, INT), STRING, substring_range, costs.KEPT),
        ),
        "The text from an index on, up to a second one where that is given.",
        (("'tacocat'.substring(4)", "'cat'"), ("'tacocat'.substring(0, 4)", "'taco'")),
    ),
    Function(
        "trim",
        (member("string_trim", STRING, (), STRING, trim, costs.KEPT),),
        "The text without leading and trailing white space.",
        (("' \\ttrim\\n '.trim()", "'trim'"),),
    ),
    Function(
        "upperAscii",
        (member("string_upper_ascii", STRING, (), STRING, upper_ascii, costs.KEPT),),
        "The text with a to z in upper case.",
        (("'TacoCæt'.upperAscii()", "'TACOCæT'"),),
    ),
    Function(
        "strings.quote",
        (plain("strings_quote", (STRING,), STRING, quote, costs.QUOTED),),
        "The text between quotes, escaped so that it can be printed.",
        (("strings.quote('single-quote with \"double quote\"')", '\'"single-quote with \\\\"double quote\\\\""\''),),
    ),
    Function(
        "join",
        (
            member("list_join", _STRINGS, (), STRING, join, costs.WRITTEN),
            member("list_join_string", _STRINGS, (STRING,), STRING, join, costs.WRITTEN),
        ),
        "The strings of a list as one, with a separator between them where one is given.",
        (("['hello', 'mellow'].join()", "'hellomellow'"), ("['hello', 'mellow'].join(' ')", "'hello mellow'")),
    ),
) + library(
    "standard",
    Function(
        "contains",
        (in_python("{1} in {0}", member("contains_string", STRING, (STRING,), BOOL, contains, costs.CONTAINED)),),
        "Whether a text has a part.",
        (("'hello world'.contains('o w')", "true"),),
    ),
    Function(
        "startsWith",
        (
            in_python(
                "{0}.startswith({1})", member("starts_with_string", STRING, (STRING,), BOOL, starts_with, costs.BEGUN)
            ),
        ),
        "Whether a text begins with a part.",
        (("'hello world'.startsWith('hello')", "true"),),
    ),
    Function(
        "endsWith",
        (in_python("{0}.endswith({1})", member("ends_with_string", STRING, (STRING,), BOOL, ends_with, costs.BEGUN)),),
        "Whether a text ends with a part.",
        (("'hello world'.endsWith('world')", "true"),),
    ),
    Function(
        "size",
        (
            *(in_python("len({0})", plain(f"size_{name}", (of,), INT, size, costs.nominal)) for name, of in _SIZED),
            *(in_python("len({0})", member(f"{name}_size", of, (), INT, size, costs.nominal)) for name, of in _SIZED),
        ),
        "How many characters a string has, bytes bytes, a list elements, a map entries.",
        (("size('日本語')", "3"), ("[1, 2].size()", "2"), ("size({'a': 1})", "1")),
        one_body=True,
        unit_cost=True,
    ),
)
