"""What is wrong with the expression of a rule, at its place in the file, with the way out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from webhook import cel
from webhook.cel import host
from webhook.cel.functions import rows
from webhook.cel.host import camel_case
from webhook.diagnostics import Diagnostic, did_you_mean
from webhook.documents import Document, Path

CODE: Final = "RUL003"
RENAMED: Final[Mapping[str, str]] = {
    "checks": "admissionChecksStrategy.admissionChecks",
    "cohort": "cohortName",
    "flavor": "name",
    "flavors": "onFlavors",
    "groups": "resourceGroups",
    "maxPriorityThreshold": "borrowWithinCohort.maxPriorityThreshold",
    "nominal": "nominalQuota",
    "podSets": "podSetAssignments",
    "queue": "queueName",
    "quotas": "resources",
    "requirements": "matchExpressions",
    "resources": "coveredResources",
    "strategy": "queueingStrategy",
    "taints": "nodeTaints",
    "usage": "resourceUsage",
}
"""Fields that had another name than in the API up to 0.1; the new one is of the same object."""
_FIELD: Final = re.compile(r"undefined field '([^']+)'")
_NAME: Final = re.compile(r"undeclared reference to '([^']+)'")
_OBJECT: Final = re.compile(r"webhook\.[\w.]+")


def mistakes(document: Document, path: Path, error: cel.CompileError, names: Iterable[str]) -> Iterator[Diagnostic]:
    """Yield the compiler's findings for the expression at a path; `names` are the variables that it may use."""
    for issue in error.issues:
        offset, length, message, hint = max(0, issue.offset), max(1, issue.length), issue.message, ""
        if match := _FIELD.search(message):
            offset, length, hint = _behind_dot(error.text, offset), len(match[1]), _field(match[1], issue.known)
        elif match := _NAME.search(message):
            offset, length = _at_name(error.text, offset, match[1]), len(match[1])
            message, hint = f"unknown name '{match[1]}'", _name(match[1], names)
        elif match := _OBJECT.search(message):
            message, hint = _OBJECT.sub(lambda found: _object(found[0]), message), _compared(match[0])
        place = document.text_place(path, offset, length)
        yield Diagnostic(CODE, place, message, source=document.source(place), hint=hint)


def _behind_dot(text: str, offset: int) -> int:
    """Return where a field's name begins: the compiler points at the dot before it."""
    return offset + len(text[offset:]) - len(text[offset:].lstrip(".? \n"))


def _at_name(text: str, offset: int, name: str) -> int:
    """Return where a function's name begins: the compiler points at the bracket behind it."""
    before = text[:offset].rstrip()
    return len(before) - len(name) if before.endswith(name) and not text.startswith(name, offset) else offset


def _field(name: str, known: tuple[str, ...]) -> str:
    if (spelled := camel_case(name)) != name and spelled in known:
        return f"use {spelled}: fields are spelled as in the API"
    renamed = RENAMED.get(spelled, "")
    if renamed.partition(".")[0] in known:
        return f"use {renamed}: fields are named as in the API"
    return did_you_mean(spelled, known) or (f"known fields: {', '.join(known)}" if known else "")


def _object(type_name: str) -> str:
    """Name a type of the core as the reference page does."""
    name = type_name.rpartition(".")[2]
    return name[:1].lower() + name[1:]


def _compared(type_name: str) -> str:
    """Return which fields an object has that was used like a plain value."""
    fields = host.fields(type_name)
    return f"{_object(type_name)} is an object with the fields {', '.join(fields)}" if fields else ""


def _name(name: str, names: Iterable[str]) -> str:
    seen = list(names)
    if (spelled := camel_case(name)) != name and spelled in seen:
        return f"use {spelled}"
    functions = {row.name for row in rows() if row.name.isidentifier()}
    return did_you_mean(name, {*seen, *functions}) or f"available here: {', '.join(seen)}"
