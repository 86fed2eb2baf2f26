"""Mutations of Pods rewritten for the pod template of one kind: types, fragments and patch paths, as texts.

`Object{spec: ...}` becomes `Object{spec: Object.spec{template: Object.spec.template{spec: ...}}}`, and a patch's
`/spec/...` becomes `/spec/template/spec/...`. What reads the Pod is renamed by `expressions.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from webhook.cel.syntax.lexer import Token, tokens
from webhook.cel.syntax.nodes import CreateStruct
from webhook.offline.native_policies.expressions import grouped, nodes_of

_TYPE: Final = re.compile(r"\bObject(?=(?:\s*\.\s*\w+)*\s*$)")
_PLAIN: Final = re.compile(r"""(["'])/[^"'\\]*\1""")
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_ENDING: Final = _CLOSING | {","}
Edit = tuple[int, int, str]
"""The places between which a text is replaced, and by what."""


def for_template(mutation: dict[str, Any], path: tuple[str, ...], as_pod: Callable[[str], str]) -> dict[str, Any]:
    """Write a mutation of Pods for the template at `path`. `as_pod` renames what its expressions read.

    Raises CompileError where an expression is no CEL.
    """
    if mutation["patchType"] == "JSONPatch":
        text = prefixed(as_pod(mutation["jsonPatch"]["expression"]), path)
        return {**mutation, "jsonPatch": {"expression": text}}
    text = wrapped(as_pod(mutation["applyConfiguration"]["expression"]), path)
    return {**mutation, "applyConfiguration": {"expression": text}}


def wrapped(text: str, path: tuple[str, ...]) -> str:
    """Put the fragment that an expression gives under a path of fields."""
    made = grouped(_edited(text, _types(text, path)))
    for depth in range(len(path), 0, -1):
        holder = ".".join(("Object", *path[: depth - 1]))
        made = f"{holder}{{{path[depth - 1]}: {made}}}"
    return made


def prefixed(text: str, path: tuple[str, ...]) -> str:
    """Put the patches that an expression gives under a path of fields."""
    text = _edited(text, _paths(text, "/" + "/".join(path)))
    return _edited(text, _types(text, path))


def _types(text: str, path: tuple[str, ...]) -> Iterator[Edit]:
    """Name the types of fragments by the fields that lead to them there."""
    longer = ".".join(("Object", *path))
    for node in _objects(text):
        if node.type_name.partition(".")[0] == "Object":
            found = _TYPE.search(text[: node.pos])
            assert found is not None
            yield found.start(), found.end(), longer


def _paths(text: str, prefix: str) -> Iterator[Edit]:
    """Put the prefix before the `path` and the `from` of each patch."""
    found = tokens(text)
    for node in _objects(text):
        for field in node.fields if node.type_name == "JSONPatch" else ():
            if field.name in ("path", "from"):
                end = _end(found, field.pos)
                yield field.pos + 1, end, f" {_below(prefix, text[field.pos + 1 : end].strip())}"


def _end(found: list[Token], colon: int) -> int:
    """Return the place where the value behind a colon ends: at the comma or the bracket that is not its own."""
    depth = 0
    for token in found:
        if token.pos <= colon:
            continue
        if depth == 0 and token.kind in _ENDING:
            return token.pos
        depth += (token.kind in _OPENING) - (token.kind in _CLOSING)
    raise AssertionError("the text is that of a parsed expression")


def _objects(text: str) -> Iterator[CreateStruct]:
    return (n for n in nodes_of(text) if isinstance(n, CreateStruct))


def _below(prefix: str, value: str) -> str:
    """Write a path under a prefix: within the text where it is one, else as a sum."""
    if _PLAIN.fullmatch(value):
        return f"{value[0]}{prefix}{value[1:]}"
    return f'"{prefix}" + {grouped(value)}'


def _edited(text: str, edits: Iterable[Edit]) -> str:
    for start, end, new in sorted(set(edits), reverse=True):
        text = text[:start] + new + text[end:]
    return text
