"""Lets a policy on Pods speak of the pod templates of a job kind: of its one template, or of each of several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from webhook.cel.errors import CompileError
from webhook.offline.native_policies.expressions import (
    Templates,
    ended,
    grouped,
    identifiers,
    indexed,
    inlined,
    renamed,
    unused,
    variables_in,
)

_NEW: Final = "oldObject == null"
_CHANGED: Final = f"{_NEW} || object.spec != oldObject.spec"
WHOLE: Final = frozenset({_CHANGED, f"{_NEW} || object != oldObject"})
"""Conditions that mean the same, or more, when they are asked of the whole object instead of a template."""
MOST_WRITTEN_OUT: Final = 8_000
"""Up to so many characters, variables are written out where they are read, and so evaluated for no template that does
not need them. Above, as the API server takes seconds to compile so much, a variable is a list of what it is of each.
"""


class NotPortable(Exception):
    """A policy, or one of its kinds, has no native form; the text says why."""


def of_one(spec: dict[str, Any], templates: Templates) -> Callable[[str], str]:
    """Let the policy speak of the one template as `variables.pod`; conditions see no variables.

    Returns what renames the objects of an expression so.
    """
    names = _names(spec)
    pod, old_pod = unused("pod", names), unused("oldPod", names)

    def as_pod(text: str) -> str:
        return renamed(renamed(text, f"variables.{old_pod}", "oldObject"), f"variables.{pod}")

    old = f"(oldObject == null ? null : {renamed(templates.text, 'oldObject')})"
    declared = [{"name": pod, "expression": templates.text}, {"name": old_pod, "expression": old}]
    declared += [{**v, "expression": as_pod(v["expression"])} for v in spec.get("variables") or ()]
    spec["variables"] = declared
    worded = ("expression", "messageExpression")
    if "validations" in spec:
        spec["validations"] = [
            {**v, **{field: as_pod(v[field]) for field in worded if field in v}} for v in spec["validations"]
        ]
    if conditions := spec.get("matchConditions"):
        inline = (f"({templates.text})", old)
        spec["matchConditions"] = [{**c, "expression": _condition(c["expression"], *inline)} for c in conditions]
    return as_pod


def texts_of(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the expressions that are asked of a template."""
    for condition in spec.get("matchConditions") or ():
        if _plain(condition["expression"]) not in WHOLE:
            yield _compared(condition["expression"]) or condition["expression"]
    for item in (*(spec.get("variables") or ()), *(spec.get("validations") or ())):
        yield item["expression"]
        if item.get("messageExpression"):
            yield item["messageExpression"]
    for mutation in spec.get("mutations") or ():
        yield from (mutation[form]["expression"] for form in ("applyConfiguration", "jsonPatch") if form in mutation)


def _names(spec: Mapping[str, Any]) -> set[str]:
    """Return the names that a policy declares or reads. Raises CompileError where an expression is no CEL."""
    return {v["name"] for v in spec.get("variables") or ()}.union(*map(identifiers, texts_of(spec)))


def _condition(text: str, pod: str, old: str) -> str:
    """Write a match condition for a template; one that asks whether something changed may ask it of the whole."""
    if compared := _compared(text):
        return f"{_NEW} || {renamed(renamed(compared, renamed(pod, 'oldObject'), 'oldObject'), pod)}"
    return text if _plain(text) in WHOLE else renamed(renamed(text, old, "oldObject"), pod)


def _compared(text: str) -> str:
    """Return `A != B ...` of a condition `oldObject == null || A != B ...`, each B being A of the old object; or ""."""
    new, _, compared = _plain(text).partition(" || ")
    try:
        sides = [change.partition(" != ") for change in compared.split(" || ")]
        same = new == _NEW and all(renamed(side, "oldObject") == old for side, _, old in sides)
    except CompileError:  # it was split within brackets
        return ""
    return compared if same and _plain(text) not in WHOLE else ""


def _plain(text: str) -> str:
    return " ".join(text.split())


def of_many(spec: dict[str, Any], templates: Templates) -> None:
    """Apply each validation to every template. Raises NotPortable where a template's old form would be needed."""
    # What a condition compares stands in the templates, and these in the spec: where it changed, the spec did.
    conditions = [
        {**c, "expression": _CHANGED} if _compared(c["expression"]) else c for c in spec.get("matchConditions") or ()
    ]
    own = [c["expression"] for c in conditions if _plain(c["expression"]) not in WHOLE]
    names = _names(spec)  # other names: they would be hidden by a macro's variable of the same one
    pods, pod = unused("pods", names), unused("pod", names)
    asked = " && ".join(grouped(renamed(text, pod)) for text in own)
    declared = [{"name": pods, "expression": templates.text}]
    variables = {v["name"]: v["expression"] for v in spec.get("variables") or ()}
    written = [ended(renamed(inlined(v["expression"], variables), pod)) for v in spec["validations"]]
    if sum(map(len, written)) <= MOST_WRITTEN_OUT:
        judged = [f"({asked}) ? {grouped(text)} : true" if asked else text for text in written]
        alls = [f"variables.{pods}.all({pod}, {text})" for text in judged]
    else:
        if asked:  # a variable is evaluated for each template in the list: for those without the condition it may fail
            declared[0]["expression"] = f"({templates.text}).filter({pod}, {asked})"
        at = unused("at", names)
        lists, of_pod = _lists(_variables_read(spec), pods, pod, at)
        declared += lists
        alls = [f"variables.{pods}.all({at}, {pod}, {of_pod(v['expression'])})" for v in spec["validations"]]
    if any(renamed(text, "x", "oldObject") != text for text in (*own, *written)):
        raise NotPortable("it reads oldObject, whose templates cannot be matched with the new ones")
    spec["variables"] = declared
    spec["validations"] = [_for_all(*one) for one in zip(spec["validations"], alls, strict=True)]
    if conditions:
        spec["matchConditions"] = [{**c, "expression": _exists(c["expression"], templates, pod)} for c in conditions]


def _lists(
    variables: Iterable[dict[str, Any]], pods: str, pod: str, at: str
) -> tuple[list[dict[str, Any]], Callable[[str], str]]:
    """Declare what is read of a template as the list of what it is of each; returns what reads an expression so."""
    listed: set[str] = set()

    def of_pod(text: str) -> str:
        return ended(renamed(indexed(text, listed, at), pod))

    declared = []
    for variable in variables:
        text = of_pod(variable["expression"])
        if text != ended(variable["expression"]):
            listed.add(variable["name"])
            text = f"variables.{pods}.transformList({at}, {pod}, {text})"
        declared.append({**variable, "expression": text})
    return declared, of_pod


def _variables_read(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the variables that the validations need, in their order: each reads only those before it."""
    needed = {name for validation in spec["validations"] for name in variables_in(validation["expression"])}
    kept = []
    for variable in reversed(spec.get("variables") or ()):
        if variable["name"] in needed:
            kept.append(variable)
            needed |= variables_in(variable["expression"])
    return kept[::-1]


def _exists(text: str, templates: Templates, pod: str) -> str:
    return text if _plain(text) in WHOLE else f"({templates.text}).exists({pod}, {ended(renamed(text, pod))})"


def _for_all(validation: dict[str, Any], expression: str) -> dict[str, Any]:
    """Return the validation of all templates; a message that may concern one of them only is left to `message`."""
    made = {**validation, "expression": expression}
    made.pop("messageExpression", None)
    if not made.get("message"):
        made["message"] = "a pod template violates this policy"
    return made
