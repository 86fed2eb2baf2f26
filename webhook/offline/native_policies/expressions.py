"""Rewrites CEL texts for native policies: renames `object`, writes variables out, and adapts paths to pod templates.

Texts are changed at the offsets of parsed names, so strings and fields of the same name stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from webhook.cel.syntax import parser
from webhook.cel.syntax.nodes import Ident, Node, Select, walk
from webhook.jobs.job import JobKind, Template

_MOST: Final = 20
"""How often variables are written into each other before it is given up."""
_POD: Final = (
    'dyn({{"apiVersion": dyn("v1"), "kind": dyn("Pod"), '
    '"metadata": dyn(dyn({0}).?metadata.orValue({{}})), "spec": dyn(dyn({0}).?spec.orValue({{}}))}})'
)
"""A template as a Pod."""


@lru_cache(maxsize=4096)
def nodes_of(text: str) -> tuple[Node, ...]:
    """Return the nodes of a text, its macros as calls: the same few hundred texts are asked for once for each kind.

    Raises CompileError where the text is no CEL.
    """
    return tuple(walk(parser.parse(text, with_macros=False)))


@dataclass(frozen=True, slots=True)
class Templates:
    """A CEL text that gives a kind's pod template, or (`many`) the list of its templates."""

    text: str
    many: bool


def templates_of(kind: JobKind) -> Templates:
    """Write how to get at the pod templates of a kind."""
    if len(kind.templates) == 1 and not {"*", "[]"} & set(kind.templates[0].path):
        return Templates(".".join(("object", *kind.templates[0].path)), many=False)
    return Templates(" + ".join(_list(template) for template in kind.templates), many=True)


def as_pods(templates: Templates) -> Templates:
    """Write the templates as the Pods that the engine makes of them: with a kind, and always with metadata."""
    if templates.many:
        return Templates(f"({templates.text}).map(t, {_POD.format('t')})", many=True)
    return Templates(_POD.format(templates.text), many=False)


def reads_all_of(text: str, known: Iterable[str]) -> bool:
    """Return whether a text reads more of an object than the known fields. Raises CompileError where it is no CEL."""
    nodes = nodes_of(text)
    named = ("object", "oldObject")
    fields = {
        n.operand.pos for n in nodes if isinstance(n, Select) and isinstance(n.operand, Ident) and n.field in known
    }
    return any(isinstance(n, Ident) and n.name in named and n.pos not in fields for n in nodes)


def _list(template: Template) -> str:
    """Write a template's path as a list: absent parts give an empty one, `*` and `[]` map over what is there."""
    fields = template.path
    at = next((i for i, step in enumerate(fields) if step in ("*", "[]")), None)
    if at is None:
        return f"[{_optional('object', fields)}].filter(t, t.hasValue()).map(t, t.value())"
    rest = fields[at + 1 :]
    if fields[at] == "*":
        holder = f"{_optional('object', fields[:at])}.orValue({{}})"
        items = f"{holder}.map(k, {holder}[k])"
    else:
        items = f"{_optional('object', fields[:at])}.orValue([])"
    return f"{items}.map(g, {_optional('g', rest)}).filter(t, t.hasValue()).map(t, t.value())"


def _optional(base: str, fields: tuple[str, ...]) -> str:
    return base + "".join(f".?{field}" for field in fields)


def renamed(text: str, into: str, name: str = "object") -> str:
    """Write another text wherever a name is read. Raises CompileError where the text is no CEL."""
    places = sorted({n.pos for n in nodes_of(text) if isinstance(n, Ident) and n.name == name}, reverse=True)
    for at in places:
        text = text[:at] + into + text[at + len(name) :]
    return text


def variables_in(text: str) -> set[str]:
    """Return the names of the variables that a text reads. Raises CompileError where the text is no CEL."""
    return {node.field for node in _variables(text)}


def inlined(text: str, variables: Mapping[str, str]) -> str:
    """Write out each `variables.x`, those in their expressions as well. Raises CompileError where a text is no CEL.

    They stand in dyn(): of a variable's type the API server knows less than of its text, and would warn of fields that
    its schemas leave out, such as a LimitRange's `min`.
    """
    for _ in range(_MOST):
        written = _replaced(text, lambda name, read: f"dyn{grouped(variables[name])}" if name in variables else read)
        if written == text:
            break
        text = written
    return text


def indexed(text: str, names: Container[str], index: str) -> str:
    """Read an item of each variable among `names`, as each is a list. Raises CompileError where the text is no CEL."""
    return _replaced(text, lambda name, read: f"{read}[{index}]" if name in names else read)


def _replaced(text: str, write: Callable[[str, str], str]) -> str:
    """Write something else wherever a variable is read, by its name and the text that reads it."""
    for node in sorted(_variables(text), key=lambda n: n.operand.pos, reverse=True):
        match = re.compile(rf"variables\s*\.\s*{re.escape(node.field)}").match(text, node.operand.pos)
        if match:
            text = text[: match.start()] + write(node.field, match[0]) + text[match.end() :]
    return text


def _variables(text: str) -> list[Select]:
    return [
        n
        for n in nodes_of(text)
        if isinstance(n, Select) and isinstance(n.operand, Ident) and n.operand.name == "variables"
    ]


def identifiers(text: str) -> set[str]:
    """Return all names in a text, those of macros' variables too. Raises CompileError where the text is no CEL."""
    return {n.name for n in nodes_of(text) if isinstance(n, Ident)}


def unused(name: str, names: set[str]) -> str:
    """Return the name, or a longer one where it is among the others."""
    while name in names:
        name += "_"
    return name


def grouped(text: str) -> str:
    """Put a text into brackets."""
    return f"({ended(text)})"


def ended(text: str) -> str:
    """Return a text behind which another one may stand: a comment at its end needs a line of its own."""
    return f"{text}\n" if "//" in text else text
