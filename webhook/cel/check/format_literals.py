"""Validates `'text'.format([…])` of literals as the API server does: bad clauses, wrong types, unused arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.cel.check.checker import Checked
from webhook.cel.errors import CelError, Issue
from webhook.cel.lib.formatting import read_clause
from webhook.cel.lib.go.strconv import to_bytes
from webhook.cel.syntax.nodes import Call, CreateList, CreateMap, Literal, Node
from webhook.cel.types import Type, TypeKind

_DURING: Final = "error during formatting: "
_ACCEPTS: Final[dict[str, tuple[frozenset[str], str]]] = {
    "d": (frozenset({"int", "uint"}), "decimal clause can only be used on integers"),
    "f": (frozenset({"double", "string"}), "fixed-point clause can only be used on doubles"),
    "e": (frozenset({"double", "string"}), "scientific clause can only be used on doubles"),
    "b": (frozenset({"int", "uint", "bool"}), "only integers and bools can be formatted as binary"),
    "x": (
        frozenset({"int", "uint", "string", "bytes"}),
        "only integers, byte buffers, and strings can be formatted as hex",
    ),
    "o": (frozenset({"int", "uint"}), "octal clause can only be used on integers"),
    "s": (
        frozenset({"int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"})
        | {"google.protobuf.Timestamp", "google.protobuf.Duration"},
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
        "and timestamps",
    ),
}


def issues(checked: Checked, node: Call) -> Iterator[Issue]:
    """The first thing wrong with a call of `format` whose text and list are literals."""
    if node.function != "format" or node.target is None or len(node.args) != 1:
        return
    text, arguments = node.target, node.args[0]
    if not isinstance(text, Literal) or not isinstance(text.value, str) or not isinstance(arguments, CreateList):
        return
    found = _first_issue(checked, node, to_bytes(text.value), arguments.elements)
    if found is not None:
        yield found


def _first_issue(checked: Checked, node: Call, data: bytes, arguments: tuple[Node, ...]) -> Issue | None:
    position, used = data.find(b"%"), 0
    while position >= 0:
        if data[position + 1 : position + 2] == b"%":
            position = data.find(b"%", position + 2)
            continue
        try:
            end, verb = _clause(data, position, used, len(arguments))
        except CelError as error:
            return Issue(node.pos, error.message)
        accepted, sentence = _ACCEPTS[verb.lower()]
        culprit = _misfit(checked, arguments[used], accepted, deep=verb == "s")
        if culprit is not None:
            return Issue(culprit.pos, f"{_DURING}{sentence}, was given {checked.types[culprit.id].name}")
        used += 1
        position = data.find(b"%", end)
    if len(arguments) > used:
        spare = f"too many arguments supplied to string.format (expected {used}, got {len(arguments)})"
        return Issue(node.pos, spare)
    return None


def _clause(data: bytes, position: int, used: int, count: int) -> tuple[int, str]:
    if position + 1 < len(data) and used >= count:
        raise CelError(f"index {used} out of range")
    end, verb, _ = read_clause(data, position)
    return end, verb


def _misfit(checked: Checked, node: Node, accepted: frozenset[str], *, deep: bool) -> Node | None:
    """The node whose type a clause cannot take; %s looks into lists and maps that are written out."""
    found: Type = checked.types[node.id]
    if found.kind is not TypeKind.DYN and found.name not in accepted:
        return node
    below: list[Node] = []
    if deep and isinstance(node, CreateList):
        below = list(node.elements)
    elif deep and isinstance(node, CreateMap):
        below = [part for entry in node.entries for part in (entry.key, entry.value)]
    return next((bad for part in below if (bad := _misfit(checked, part, accepted, deep=True)) is not None), None)
