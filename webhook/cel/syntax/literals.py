"""The text of string, bytes and number literals to their values, by the rules of cel-go's `unescape`."""

from __future__ import annotations

import re

from webhook.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "`": "`",
    "?": "?",
}
_ESCAPE = re.compile(r"\\(?:([xX])([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)


class LiteralError(ValueError):
    """The literal stands for no value, e.g. an int of more than 64 bits."""


def unquote(text: str) -> str:
    """The value of a string literal, quotes and prefix included in `text`."""
    body, raw = _strip(text)
    return body if raw or "\\" not in body else _ESCAPE.sub(_character, body)


def unquote_bytes(text: str) -> bytes:
    """The value of a bytes literal, `b` prefix included in `text`."""
    body, raw = _strip(text[1:])
    if raw or "\\" not in body:
        return body.encode("utf-8", "surrogatepass")
    parts: list[bytes] = []
    last = 0
    for hit in _ESCAPE.finditer(body):
        parts += (body[last : hit.start()].encode("utf-8", "surrogatepass"), _byte(hit))
        last = hit.end()
    parts.append(body[last:].encode("utf-8", "surrogatepass"))
    return b"".join(parts)


def _strip(text: str) -> tuple[str, bool]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    width = 3 if len(text) >= 6 and text[:3] in ("'''", '"""') else 1
    return text[width:-width], raw


def _character(hit: re.Match[str]) -> str:
    _, hexadecimal, short, long, octal, simple = hit.groups()
    if simple is not None:
        return _SIMPLE[simple]
    code = int(octal, 8) if octal else int(hexadecimal or short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise LiteralError("invalid unicode code point")
    return chr(code)


def _byte(hit: re.Match[str]) -> bytes:
    _, hexadecimal, short, long, octal, simple = hit.groups()
    if simple is not None:
        return _SIMPLE[simple].encode()
    if short or long:
        raise LiteralError("unable to unescape string")
    return bytes([int(octal, 8) if octal else int(hexadecimal, 16)])


def integer(text: str) -> int:
    """The value of an int literal with its sign, decimal or `0x`."""
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    value = sign * _digits(digits, "invalid int literal")
    if not INT_MIN <= value <= INT_MAX:
        raise LiteralError("invalid int literal")
    return value


def unsigned(text: str) -> Uint:
    """The value of a uint literal, `u` included."""
    value = _digits(text[:-1], "invalid uint literal")
    if value > UINT_MAX:
        raise LiteralError("invalid uint literal")
    return Uint(value)


def _digits(text: str, message: str) -> int:
    if len(text) > 400:
        raise LiteralError(message)
    return int(text[2:], 16) if text.startswith("0x") else int(text)


def double(text: str) -> float:
    """The value of a double literal; one too large for a double is an error."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise LiteralError("invalid double literal")
    return value
