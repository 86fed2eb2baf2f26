"""`format`: the verbs %s %d %f %e %b %x %X %o of the strings library at version 2, in the locale en-US.

Quirks are cel-go's: %f groups by thousands, %e writes powers of ten as superscripts and takes its precision for a
width, doubles inside lists have six places.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from webhook.cel.errors import CelError
from webhook.cel.function_types import Function
from webhook.cel.keys import bare
from webhook.cel.lib import costs
from webhook.cel.lib.conversions import to_string
from webhook.cel.lib.go.strconv import from_bytes, quote, to_bytes
from webhook.cel.lib.memory import sized, weigh
from webhook.cel.lib.rows import library, member
from webhook.cel.types import DYN, STRING, list_of
from webhook.cel.values import Duration, Timestamp, TypeValue, Uint, type_name

_SUPERSCRIPT: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_TO_STRING: Final = frozenset({int, Uint, float, bool, str, bytes, Timestamp, Duration, TypeValue})
_TOO_WIDE: Final = 1_000_000


def format_text(text: str, arguments: list[object]) -> str:
    """The text with its clauses filled in; CelError in cel-go's words for a bad clause or a wrong argument."""
    sized(weigh(arguments))
    data, out, position, used = to_bytes(text), bytearray(), 0, 0
    while position < len(data):
        at = data.find(b"%", position)
        if at < 0:
            at = len(data)
        out += data[position:at]
        position = at
        if at == len(data):
            break
        if data[at + 1 : at + 2] == b"%":
            out += b"%"
            position += 2
            continue
        if used >= len(arguments):
            raise CelError(f"index {used} out of range")
        position, verb, precision = read_clause(data, at)
        try:
            out += to_bytes(_VERBS[verb](arguments[used], precision))
        except CelError as error:
            raise CelError(f"error during formatting: {error.message}") from None
        used += 1
    return from_bytes(bytes(out))


def read_clause(data: bytes, at: int) -> tuple[int, str, int | None]:
    """The clause that begins with the `%` at a byte: where it ends, its verb, its precision; CelError if it is none."""
    position, precision = at + 1, None
    if position >= len(data):
        raise CelError("unexpected end of string")
    if data[position : position + 1] == b".":
        position, precision = _read_precision(data, position + 1)
    verb = chr(data[position])
    if verb not in _VERBS:
        raise CelError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
    return position + 1, verb, precision


def _read_precision(data: bytes, start: int) -> tuple[int, int]:
    end = start
    while end < len(data) and 0x30 <= data[end] <= 0x39:
        end += 1
    trouble = "could not parse formatting clause: error while parsing precision: "
    if end >= len(data):
        raise CelError(trouble + "could not find end of precision specifier")
    digits = data[start:end].decode()
    trouble += f"error while converting precision to integer: strconv.Atoi: parsing {quote(digits)}: "
    if not digits:
        raise CelError(trouble + "invalid syntax")
    if len(digits.lstrip("0")) > 19 or int(digits) >= 2**63:
        raise CelError(trouble + "value out of range")
    return end, int(digits)


def _string(value: object, precision: int | None = None) -> str:
    kind = type(value)
    if kind is list or kind is dict:
        return _member(value)
    if value is None:
        return "null"
    if kind not in _TO_STRING:
        raise CelError(
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
            f"durations, and timestamps, was given {type_name(value)}"
        )
    try:
        return to_string(value)
    except CelError as error:
        raise CelError(f'could not convert argument "{error.message}" to string') from None


def _member(value: object) -> str:
    """A value inside a list or map: strings are quoted, doubles have six places."""
    value = bare(value)
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bytes):
        return f"b{quote(_string(value))}"
    if isinstance(value, float):
        return f"{value:.6f}" if math.isfinite(value) else quote(_special(value))
    if isinstance(value, list):
        return f"[{', '.join(map(_member, value))}]"
    if isinstance(value, dict):
        pairs = sorted(((_key(key), _member(entry)) for key, entry in value.items()), key=lambda p: to_bytes(p[0]))
        return f"{{{', '.join(f'{key}:{entry}' for key, entry in pairs)}}}"
    if isinstance(value, (Timestamp, Duration)):
        return f"{'timestamp' if isinstance(value, Timestamp) else 'duration'}({quote(to_string(value))})"
    if value is not None and type(value) not in _TO_STRING:
        raise CelError(f"no formatting function for {type_name(value)}")
    return _string(value)


def _special(value: float) -> str:
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _key(key: object) -> str:
    key = bare(key)
    if isinstance(key, str):
        return quote(key)
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(int(key))
    raise CelError(f"no formatting function for map key of type {type_name(key)}")


def _integer(value: object, sentence: str, *, booleans: bool = False) -> int:
    if isinstance(value, int) and (booleans or not isinstance(value, bool)):
        return int(value)
    raise CelError(f"{sentence}, was given {type_name(value)}")


def _decimal(value: object, precision: int | None) -> str:
    return str(_integer(value, "decimal clause can only be used on integers"))


def _binary(value: object, precision: int | None) -> str:
    return format(_integer(value, "only integers and bools can be formatted as binary", booleans=True), "b")


def _octal(value: object, precision: int | None) -> str:
    return format(_integer(value, "octal clause can only be used on integers"), "o")


def _hex(value: object, precision: int | None) -> str:
    if isinstance(value, str):
        return to_bytes(value).hex()
    if isinstance(value, bytes):
        return value.hex()
    return format(_integer(value, "only integers, byte buffers, and strings can be formatted as hex"), "x")


def _double(value: object, sentence: str) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    raise CelError(f"{sentence}, was given {type_name(value)}")


def _fixed(value: object, precision: int | None) -> str:
    number = _double(value, "fixed-point clause can only be used on doubles")
    if not math.isfinite(number):
        return _infinite(number)
    places = 6 if precision is None else precision
    if places > _TOO_WIDE:
        return f"%!(BADPREC){number:,.6f}" if number else "%!(BADPREC)0.000000"
    least, most = places & 0xFF, (places + 2**15) % 2**16 - 2**15
    text = f"{abs(number):,.{max(most, 0)}f}"
    if most > least:
        kept = len(text) - (most - least)
        text = text[:kept] + text[kept:].rstrip("0")
        text = text.rstrip(".")
    return f"-{text}" if number < 0 else text


def _infinite(number: float) -> str:
    return "NaN" if math.isnan(number) else "∞" if number > 0 else "-∞"


def _scientific(value: object, precision: int | None) -> str:
    number = _double(value, "scientific clause can only be used on doubles")
    width = 6 if precision is None else precision
    if math.isfinite(number):
        mantissa, _, exponent = f"{number if number else 0.0:.6e}".partition("e")
        sign = "-" if exponent[0] == "-" else ""
        text = f"{mantissa}×10{(sign + exponent[1:]).translate(_SUPERSCRIPT)}"
    else:
        text = _infinite(number)
    if width > _TOO_WIDE:
        return "%!(BADWIDTH)" + text
    return text.rjust(width & 0xFFFF)


_VERBS: Final[dict[str, Callable[[object, int | None], str]]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "X": lambda value, precision: _hex(value, precision).upper(),
    "o": _octal,
}

FUNCTIONS: Final = library(
    "strings",
    Function(
        "format",
        (replace(member("string_format", STRING, (list_of(DYN),), STRING, format_text, costs.read()), variadic=True),),
        "The text with each clause replaced by an element of the list: %s any plain value, %d integers, %f and %e "
        "doubles (a number after a point is the precision of %f and the width of %e), %b %o %x %X other bases.",
        (
            (
                "'this is a string: %s, and an integer: %d'.format(['str', 42])",
                "'this is a string: str, and an integer: 42'",
            ),
            ("'%.3f'.format([1234.5])", "'1,234.500'"),
            ("'%e'.format([1052.032911275])", "'1.052033×10⁰³'"),
            ("'%x %b %o'.format([255, 5, 8])", "'ff 101 10'"),
            ("'%s'.format([[1.5, 'a']])", "'[1.500000, \"a\"]'"),
        ),
    ),
)
