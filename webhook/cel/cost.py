"""How much a program may cost at most, from its text alone, for values up to a given size. A bound, not a prediction.

What an evaluation really costs is counted by the exact form; this is what lint shows beside it.
"""

from __future__ import annotations

from webhook.cel import syntax
from webhook.cel.syntax import Call, CreateList, CreateMap, CreateStruct, Fold, Ident, Literal, Node, Select

CHECK = 350_000
"""Cost of asking the authorizer once: two checks fit into one call."""
_FREE = (Literal,)
_FIXED = {Ident: 2, Select: 1, CreateList: 11, CreateMap: 31, CreateStruct: 41}


def bound(node: Node, size: int) -> int:
    """An upper bound of cost units when every list, map and text has at most `size` elements or characters."""
    if isinstance(node, Fold):
        inner = bound(node.condition, size) + bound(node.step, size) + 4
        rounds = 1 if node.macro == "bind" else size
        return 5 + bound(node.range, size) + bound(node.init, size) + rounds * inner + bound(node.result, size)
    own = _call(node, size) if isinstance(node, Call) else 0 if isinstance(node, _FREE) else _FIXED[type(node)]
    return own + sum(bound(part, size) for part in syntax.children(node))


def _call(node: Call, size: int) -> int:
    if node.function == "check":
        return CHECK
    read = size // 10 + 1
    if node.function in ("matches", "find", "findAll", "contains"):
        pattern = node.args[-1]
        length = len(str(pattern.value)) if isinstance(pattern, Literal) else size
        return read * (length // 4 + 1)
    if node.function in ("distinct", "sort", "@sortByAssociatedKeys") or node.function.startswith("sets."):
        return 2 * size * size + 12
    return 2 * read + 12 if node.function not in (syntax.AND, syntax.OR, syntax.CONDITIONAL) else 0
