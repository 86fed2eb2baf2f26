"""`&&` and `||` as Python expressions. Part of `emitter.py`; see its docstring for the rules."""

from __future__ import annotations

import re

from webhook.cel.codegen.source_writer import Code, SourceWriter
from webhook.cel.syntax.nodes import Node
from webhook.cel.types import BOOL

_BEGINS = re.compile(r"\((\w+)\.startswith\(k(\d+)\)\)")


def logical(to: SourceWriter, word: str, args: tuple[Node, ...]) -> Code:
    """`&&` and `||`: inline where the right side needs no statements."""
    left = to.condition(args[0])
    written, right = to.later(lambda: to.condition(args[1]))
    if not written:
        return Code(_either(to, left, right) if word == "or" else f"({left} and {right})", BOOL)
    name = to.fresh()
    to.line(f"{name} = {left}")
    to.line(f"if {name}:" if word == "and" else f"if not {name}:")
    to.lines += written
    to.lines.append("    " * (to.depth + 1) + f"{name} = {right}")
    return Code(name, BOOL, True)


def _either(to: SourceWriter, *sides: str) -> str:
    """`a or b` without statements. Texts that one text may begin with are asked for together."""
    parts: list[str] = []
    beginnings: dict[str, int] = {}
    for part in (part for side in sides for part in to.either.get(side, (side,))):
        found = _BEGINS.fullmatch(part)
        at = beginnings.get(found[1]) if found else None
        if found is None or at is None:
            if found:
                beginnings[found[1]] = len(parts)
            elif "cel_find" in part:
                beginnings.clear()
            parts.append(part)
        else:
            first = _BEGINS.fullmatch(parts[at])
            assert first is not None
            several = to.constant((*_texts(to, first[2]), *_texts(to, found[2])))
            parts[at] = f"({found[1]}.startswith({several}))"
    text = parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"
    to.either[text] = tuple(parts)
    return text


def _texts(to: SourceWriter, number: str) -> tuple[object, ...]:
    value = to.constants[int(number)]
    return value if isinstance(value, tuple) else (value,)
