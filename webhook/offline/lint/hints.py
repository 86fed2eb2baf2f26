"""The way out of mistakes in expressions: the name that was meant, the call that lacks its brackets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Final

from webhook.cel.env import ADMISSION_OBJECTS
from webhook.cel.functions import rows
from webhook.diagnostics import Diagnostic, Place, did_you_mean
from webhook.documents import Document

VARIABLES: Final = ("object", "oldObject", "request", "params", "namespaceObject", "variables", "authorizer")
MACROS: Final = ("all", "exists", "exists_one", "filter", "map", "has", "optMap", "optFlatMap")
_SYNTAX: Final = (
    (
        re.compile(r"(token recognition error at|extraneous input|mismatched input|missing '\(' at): ?'=[ ']"),
        "write == to compare",
    ),
    (re.compile(r"token recognition error at: '&"), "write && for and"),
    (re.compile(r"(token recognition error at: '\||extraneous input '\|')"), "write || for or"),
    (re.compile(r"input 'and'"), "write && for and"),
    (re.compile(r"input 'or'"), "write || for or"),
    (re.compile(r"input 'not'"), "write ! for not"),
    (
        re.compile(r"mismatched input '[^']*' expecting \{'\['"),
        "something to compare or to call is missing before this",
    ),
    (
        re.compile(r"mismatched input '<EOF>' expecting"),
        "the expression ends too early: a bracket is not closed, or a part is missing",
    ),
    (re.compile(r"extraneous input '[])}]'"), "this bracket was never opened"),
)
_WAYS: Final = {
    "params": "say spec.paramKind in the policy, and paramRef in its binding",
    "variables": "say spec.variables: a list of names and expressions",
    "oldObject": "oldObject is not there in this place",
}
_FIELD: Final = re.compile(r"undefined field '([^']+)'")
_NAME: Final = re.compile(r"undeclared reference to '([^']+)'")
_OPEN: Final = re.compile(r"'<EOF>' expecting '([)\]}])'")
_BRACKETS: Final = {")": "(", "]": "[", "}": "{"}
_OVERLOAD: Final = re.compile(r"found no matching overload for '([^']+)'")


@cache
def functions() -> frozenset[str]:
    """Name every function and macro that an expression may call."""
    return frozenset(row.name for row in rows() if row.name.isidentifier()) | frozenset(MACROS)


def with_hint(finding: Diagnostic, documents: Iterable[Document]) -> Diagnostic:
    """Add the way out to a finding of the CEL compiler (CEL001); others, and those that have one, stay."""
    if finding.code != "CEL001" or finding.hint:
        return finding
    finding = replace(finding, place=_at_name(finding))
    hint = _hint(finding.message, [d for d in documents if d.file == finding.place.file])
    return replace(finding, hint=hint) if hint else finding


def _at_name(finding: Diagnostic) -> Place:
    """Give the place of a name: the compiler points at the dot before a field, the bracket behind a function."""
    match, place = _NAME.search(finding.message) or _OVERLOAD.search(finding.message), finding.place
    field = _FIELD.search(finding.message)
    if field and finding.source[place.column - 1 :].startswith(f".{field[1]}"):
        return replace(place, column=place.column + 1, length=len(field[1]))
    if match is None or not finding.source[: place.column - 1].endswith(match[1]):
        return place
    return replace(place, column=place.column - len(match[1]), length=len(match[1]))


def _hint(message: str, documents: list[Document]) -> str:
    if match := _OPEN.search(message):
        return f"a {_BRACKETS[match[1]]} is not closed"
    for pattern, way in _SYNTAX:
        if pattern.search(message):
            return way
    if match := _FIELD.search(message):
        return _field(match[1], documents)
    if match := _NAME.search(message):
        name = match[1]
        if name in _declared(documents):
            return f"a variable of the policy is read as variables.{name}"
        return _WAYS.get(name) or did_you_mean(name, {*VARIABLES, *functions()} - {name})
    if match := _OVERLOAD.search(message):
        known = next((row for row in rows() if row.name == match[1]), None)
        examples = getattr(known, "examples", ())
        return f"for example: {_text(examples[0])}" if examples else ""
    return ""


def _text(example: object) -> str:
    """Give the text of an example, whatever else the row says of it."""
    first = example[0] if isinstance(example, tuple) else example
    return str(getattr(first, "expression", first))


def _field(name: str, documents: list[Document]) -> str:
    if name in functions():
        return f"{name} is a function: write {name}()"
    known = {*_declared(documents), *(field for fields in ADMISSION_OBJECTS.values() for field in fields)}
    return did_you_mean(name, known) or did_you_mean(name, functions())


def _declared(documents: list[Document]) -> set[str]:
    """Name the variables that the policies of a file declare."""
    found: set[str] = set()
    for document in documents:
        variables = document.at(("spec", "variables"))
        for item in variables if isinstance(variables, list) else ():
            if isinstance(item, dict) and isinstance(item.get("name"), str):
                found.add(item["name"])
    return found
