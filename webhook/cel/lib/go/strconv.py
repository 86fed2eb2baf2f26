"""How Go writes values as text: quoted strings and shortest doubles. No functions of the language here."""

from __future__ import annotations

import math
import re
from typing import Any, Final

_SURROGATES: Final = re.compile("[\\ud800-\\udfff]")
_HALVES: Final = re.compile("[\\ud800-\\udc7f\\udd00-\\udfff]")
ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def to_bytes(text: str) -> bytes:
    """The UTF-8 of a string; a byte that was not UTF-8 stands in it as a lone surrogate and comes back as that byte."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # Half of a surrogate pair, which no JSON or YAML brings here: what Go reads for it.
        return _HALVES.sub("\ufffd", text).encode("utf-8", "surrogateescape")


def from_bytes(data: bytes) -> str:
    """The string of some bytes, those that are not UTF-8 as lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def json_text(text: str) -> str:
    """The text as Go's encoding/json writes it: each byte that is not UTF-8 becomes U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", from_bytes(to_bytes(text)))
    return text


def json_value(value: Any) -> Any:
    """A value of JSON with all its texts so; the very same one where nothing is to be replaced."""
    kind = type(value)
    if kind is str:
        return json_text(value)
    if kind is list:
        items = [json_value(item) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if kind is dict:
        pairs = {json_text(key): json_value(item) for key, item in value.items()}
        same = all(new is old for new, old in zip(pairs.values(), value.values(), strict=False))
        return value if same and pairs.keys() == value.keys() else pairs
    return value


def quote(text: str) -> str:
    """The text as strconv.Quote and the verb %q write it."""
    return f'"{"".join(map(_quoted, text))}"'


def _quoted(char: str) -> str:
    if char in ESCAPES:
        return ESCAPES[char]
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if char.isprintable():
        return char
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shortest(number: float) -> str:
    """A double with the fewest digits that read back the same, as Go's verb %g writes it: `1e+21`, `2.5`, `+Inf`."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    digits, point = decimal_digits(abs(number))
    exponent = point - 1
    if exponent < -4 or exponent >= 6:
        return sign + _scientific(digits, exponent)
    return sign + _plain(digits, point)


def decimal_digits(number: float) -> tuple[str, int]:
    """The shortest digits of a number that is not negative, and where the point stands: 0.012 is ("12", -1)."""
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, places = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + places
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    stripped = stripped.rstrip("0")
    return (stripped, point) if stripped else ("0", 1)


def plain(number: float) -> str:
    """A finite double without an exponent and with the fewest digits, as strconv.FormatFloat(x, 'f', -1, 64)."""
    digits, point = decimal_digits(abs(number))
    return ("-" if math.copysign(1.0, number) < 0 else "") + _plain(digits, point)


def _plain(digits: str, point: int) -> str:
    if point <= 0:
        return f"0.{'0' * -point}{digits}"
    if point >= len(digits):
        return digits.ljust(point, "0")
    return f"{digits[:point]}.{digits[point:]}"


def _scientific(digits: str, exponent: int) -> str:
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
