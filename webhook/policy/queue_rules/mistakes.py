"""What is wrong with the expression of a rule, at its place in the file, with the way out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from webhook import cel
from webhook.cel.functions import rows
from webhook.cel.host import camel_case
from webhook.diagnostics import Diagnostic, did_you_mean
from webhook.documents import Document, Path

CODE: Final = "RUL003"
_FIELD: Final = re.compile(r"undefined field '([^']+)'")
_NAME: Final = re.compile(r"undeclared reference to '([^']+)'")


def mistakes(document: Document, path: Path, error: cel.CompileError, names: Iterable[str]) -> Iterator[Diagnostic]:
    """Give what a compiler says of the expression at a path; `names` are the variables that it may use."""
    for issue in error.issues:
        offset, length, message, hint = max(0, issue.offset), max(1, issue.length), issue.message, ""
        if match := _FIELD.search(message):
            offset, length, hint = _behind_dot(error.text, offset), len(match[1]), _field(match[1], issue.known)
        elif match := _NAME.search(message):
            offset, length = _at_name(error.text, offset, match[1]), len(match[1])
            message, hint = f"unknown name '{match[1]}'", _name(match[1], names)
        place = document.text_place(path, offset, length)
        yield Diagnostic(CODE, place, message, source=document.source(place), hint=hint)


def _behind_dot(text: str, offset: int) -> int:
    """Give where a field's name begins: the compiler points at the dot before it."""
    return offset + len(text[offset:]) - len(text[offset:].lstrip(".? \n"))


def _at_name(text: str, offset: int, name: str) -> int:
    """Give where a function's name begins: the compiler points at the bracket behind it."""
    before = text[:offset].rstrip()
    return len(before) - len(name) if before.endswith(name) and not text.startswith(name, offset) else offset


def _field(name: str, known: tuple[str, ...]) -> str:
    if (spelled := camel_case(name)) != name and spelled in known:
        return f"use {spelled}: fields are spelled as in the API"
    return did_you_mean(spelled, known) or (f"known fields: {', '.join(known)}" if known else "")


def _name(name: str, names: Iterable[str]) -> str:
    seen = list(names)
    if (spelled := camel_case(name)) != name and spelled in seen:
        return f"use {spelled}"
    functions = {row.name for row in rows() if row.name.isidentifier()}
    return did_you_mean(name, {*seen, *functions}) or f"available here: {', '.join(seen)}"
