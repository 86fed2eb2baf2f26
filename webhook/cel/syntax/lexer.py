"""Text to tokens, by the lexer rules of cel-go's grammar: longest match, whitespace and comments dropped."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ESC = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_STRING = "|".join(
    [
        rf'"""(?:{_ESC}|[^\\])*?"""',
        rf"'''(?:{_ESC}|[^\\])*?'''",
        rf'"(?:{_ESC}|[^\\"\n\r])*"',
        rf"'(?:{_ESC}|[^\\'\n\r])*'",
        r'[rR]"""(?:.|\n)*?"""',
        r"[rR]'''(?:.|\n)*?'''",
        r'[rR]"[^"\n\r]*"',
        r"[rR]'[^'\n\r]*'",
    ]
)
_TOKEN = re.compile(
    rf"""
    (?P<space>[\t \r\n\f]+|//[^\n]*)
  | (?P<bytes>[bB](?:{_STRING}))
  | (?P<string>{_STRING})
  | (?P<ident>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<double>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
  | (?P<uint>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])
  | (?P<int>0x[0-9a-fA-F]+|[0-9]+)
  | (?P<op>==|!=|<=|>=|&&|\|\||[\[\]{{}}().,\-!?:+*/%<>])
  | (?P<escaped>`[A-Za-z0-9_./\- ]+`)
    """,
    re.VERBOSE,
)
KEYWORDS = {"in": "in", "true": "true", "false": "false", "null": "null"}


@dataclass(frozen=True, slots=True)
class Token:
    """A token: `kind` is the operator or keyword itself, or the name of the group it belongs to."""

    kind: str
    text: str
    pos: int


class LexError(ValueError):
    """A character that begins no token."""

    def __init__(self, message: str, pos: int) -> None:
        super().__init__(message)
        self.message = message
        self.pos = pos


def tokens(text: str) -> list[Token]:
    """The tokens of `text`, closed by one of kind `end`. Raises LexError at the first character that begins none."""
    out: list[Token] = []
    at, size, match = 0, len(text), _TOKEN.match
    while at < size:
        hit = match(text, at)
        if hit is None:
            raise LexError(f"token recognition error at: '{text[at]}'", at)
        kind = hit.lastgroup or ""
        word = hit.group()
        if kind != "space":
            if kind == "op":
                kind = word
            elif kind == "ident":
                kind = KEYWORDS.get(word, kind)
            out.append(Token(kind, word, at))
        at = hit.end()
    out.append(Token("end", "<EOF>", size))
    return out
