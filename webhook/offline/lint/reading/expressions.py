"""Static analysis of expressions: equal parts, constant parts, and conditions that do not depend on the object.

`None` means that the result depends on the object. Run-time errors are not considered; the trial rules find those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import Call, Fold, Ident, Literal, Node, Select, qualified_name, walk

Facts = Mapping[str, frozenset[str]]
"""What names can be, such as `request.operation` -> {CREATE, UPDATE}."""


def key(node: Any) -> Any:
    """Return a value that is equal for expressions that are written alike, wherever they stand."""
    if isinstance(node, Node | nodes.MapEntry | nodes.Field):
        named = (f.name for f in fields(node) if f.name not in ("id", "pos"))
        return (type(node).__name__, *(key(getattr(node, name)) for name in named))
    if isinstance(node, tuple):
        return tuple(map(key, node))
    return (type(node).__name__, node)


def names(node: Node) -> set[str]:
    """Name what an expression reads, the variables of its own macros left out."""
    own = {n for fold in walk(node) if isinstance(fold, Fold) for n in (fold.var, fold.var2, fold.accu)}
    return {n.name for n in walk(node) if isinstance(n, Ident)} - own


def truth(node: Node, facts: Facts, known: Mapping[Any, bool]) -> bool | None:
    """Return True if a condition is always true, False if it never is, None if it depends on the object.

    `known` are conditions that hold already, by their key.
    """
    if known and _alike(node, known) and (told := known.get(key(node))) is not None:
        return told
    match node:
        case Literal(value=bool(value)):
            return value
        case Call(function=nodes.NOT, args=(inner,)):
            found = truth(inner, facts, known)
            return None if found is None else not found
        case Call(function=nodes.AND | nodes.OR as function):
            return _junction(function, node, facts, known)
        case Call(function=nodes.CONDITIONAL, args=(test, yes, no)):
            return _conditional(truth(test, facts, known), truth(yes, facts, known), truth(no, facts, known))
        case Call(function=nodes.EQUALS | nodes.NOT_EQUALS as function, args=(a, b)):
            same = _same(a, b, facts)
            return same if same is None or function == nodes.EQUALS else not same
        case Call(function=nodes.IN, args=(a, b)):
            return _member(a, b, facts)
        case Call(function=nodes.GREATER_EQUALS | nodes.LESS as function, args=(a, Literal(value=0))) if _is_size(a):
            return function == nodes.GREATER_EQUALS
    return None


def _alike(node: Node, known: Mapping[Any, bool]) -> bool:
    """Return whether a key may be that of a node: its first words are. Keys are as long as what they are of."""
    word = key(node.function) if isinstance(node, Call) else None
    return any(k[0] == type(node).__name__ and word in (None, k[1]) for k in known)


def junction(function: str, node: Node) -> list[Node]:
    """Return the parts of a chain of `&&` or of `||`."""
    if isinstance(node, Call) and node.function == function:
        return [part for arg in node.args for part in junction(function, arg)]
    return [node]


def _junction(function: str, node: Node, facts: Facts, known: Mapping[Any, bool]) -> bool | None:
    """`||` with a part and its opposite is true, `&&` with both is false; one deciding part decides."""
    decides = function == nodes.OR
    parts = junction(function, node)
    found = [truth(part, facts, known) for part in parts]
    if decides in found or _opposites(parts) or _at_odds(parts, nodes.NOT_EQUALS if decides else nodes.EQUALS):
        return decides
    return None if None in found else not decides


def _opposites(parts: list[Node]) -> bool:
    denied = {key(p.args[0]) for p in parts if isinstance(p, Call) and p.function == nodes.NOT}
    return bool(denied) and any(key(part) in denied for part in parts)


def _at_odds(parts: list[Node], function: str) -> bool:
    """Return whether one value is compared with two constants: `a == 1 && a == 2`, `a != 1 || a != 2`."""
    constants: dict[Any, object] = {}
    for part in parts:
        if not isinstance(part, Call) or part.function != function:
            continue
        value, constant = sorted(part.args, key=lambda side: isinstance(side, Literal))
        if (
            isinstance(value, Literal)
            or not isinstance(constant, Literal)
            or not isinstance(constant.value, str | bool)
        ):
            continue
        if constants.setdefault(key(value), constant.value) != constant.value:
            return True
    return False


def _is_size(node: Node) -> bool:
    return isinstance(node, Call) and node.function == "size"


def _conditional(test: bool | None, yes: bool | None, no: bool | None) -> bool | None:
    if test is not None:
        return yes if test else no
    return yes if yes == no else None


def _same(a: Node, b: Node, facts: Facts) -> bool | None:
    if isinstance(a, Literal) and isinstance(b, Literal):
        return type(a.value) is type(b.value) and a.value == b.value
    if type(a) is type(b) and key(a) == key(b) and not any(isinstance(n, Call) for n in walk(a)):
        return True
    for name, other in ((a, b), (b, a)):
        can_be = facts.get(qualified_name(name) or "")
        if can_be is not None and isinstance(other, Literal) and isinstance(other.value, str):
            if other.value not in can_be:
                return False
            return True if len(can_be) == 1 else None
    return None


def _member(a: Node, b: Node, facts: Facts) -> bool | None:
    can_be = facts.get(qualified_name(a) or "") if isinstance(a, Select) else None
    if can_be is None or not isinstance(b, nodes.CreateList):
        return None
    listed = [e.value for e in b.elements if isinstance(e, Literal) and isinstance(e.value, str)]
    if len(listed) != len(b.elements):
        return None
    inside = can_be & set(listed)
    return None if inside and inside != can_be else bool(inside)
