"""Cost accounting in generated code: what the fast form adds for each node, so that no cost limit is missed.

The invariant: where the fast form gives a value, `m` is at least what the exact form would have spent, and at most
`CALL_LIMIT`. `m` begins with the sum of what all nodes outside of loops cost at most
(`Writer.spend`); a loop adds its rounds times the sum of its body before it begins; what no constant bounds is added
where it happens (`Writer.charge`). A bound is never a guess: texts and containers whose size would count are constant,
tested against a threshold (beyond it the exact form takes over), or charged by their size.
"""

from __future__ import annotations

from collections.abc import Sequence

from webhook.cel.codegen.runtime import COMPARED_OFTEN, COMPARED_ONCE, JOINED_OFTEN, JOINED_ONCE
from webhook.cel.codegen.source_writer import Code, SourceWriter, Unsupported
from webhook.cel.function_types import Cost, Function, Overload
from webhook.cel.interpreter import dispatch
from webhook.cel.lib import costs
from webhook.cel.lib.cidrs import CIDR_TYPE
from webhook.cel.lib.ips import IP_TYPE
from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import Call, CreateList, CreateMap, Ident, Literal, Node, Select
from webhook.cel.types import BOOL, BYTES, DOUBLE, INT, NULL, STRING, UINT, TypeKind
from webhook.cel.values import ABSENT

_CHAINS = frozenset((nodes.INDEX, nodes.OPT_INDEX, nodes.OPT_SELECT))
_PLUMBING = frozenset((nodes.AND, nodes.OR, nodes.NOT, nodes.NOT_STRICTLY_FALSE, nodes.CONDITIONAL, nodes.ADD))
_WIDE = "\U0001f600"
"""The character with the most bytes, which is what some functions are charged by."""
_HUGE = 10**12
_SINGLE = {BOOL: True, INT: 1, UINT: 1, DOUBLE: 1.0, NULL: None}
_ADDRESSES = frozenset((IP_TYPE, CIDR_TYPE))
"""Types whose values count their bytes."""
_ADDRESS_BYTES = 16
_COUNTED_ONE = (TypeKind.OPAQUE, TypeKind.WELL_KNOWN, TypeKind.OBJECT)


def step(operand: Node) -> int:
    """Cost of one more step of a chain, of its first step besides what the chain itself costs."""
    chained = isinstance(operand, (Ident, Select)) or (isinstance(operand, Call) and operand.function in _CHAINS)
    return 1 if chained else 2


def plumbing(parts: Sequence[Node], written: set[int]) -> int:
    """What the nodes of a macro cost at most for which no code is written; those in `written` have been counted."""
    total, stack = 0, list(parts)
    while stack:
        at = stack.pop()
        if id(at) in written:
            continue
        stack.extend(nodes.children(at))
        match at:
            case Literal():
                pass
            case Ident() | Select():
                total += 2
            case Call(function=name) if name in _PLUMBING or name in (nodes.EQUALS, nodes.MAP_INSERT):
                total += 0 if name in (nodes.AND, nodes.OR, nodes.CONDITIONAL) else 1
            case CreateList():
                total += costs.LIST_BASE
            case CreateMap():
                total += costs.MAP_BASE
            case _:
                raise Unsupported("a part of a macro whose cost is not known")
    return total


def size(code: Code) -> int | None:
    """How big a value counts at most when it is compared, None where that is not known."""
    if code.size is not None:
        return code.size
    if code.type is None or code.type in (STRING, BYTES):
        return None
    if code.type in _ADDRESSES:
        return _ADDRESS_BYTES
    one = code.type in _SINGLE or (code.type.kind in _COUNTED_ONE and not code.type.is_optional)
    return 1 if one else None


def compared(to: SourceWriter, a: Code, b: Code) -> str:
    """Add the cost of comparing two values; gives the ending of the helper that leaves where both are too big."""
    known = [n for n in (size(a), size(b)) if n is not None]
    if known:
        to.spend(costs.traversal(min(known)))
        return ""
    often = to.blocks > 0
    to.spend(costs.traversal(COMPARED_OFTEN if often else COMPARED_ONCE))
    return "_often" if often else "_once"


def joined(to: SourceWriter, a: Code, b: Code) -> tuple[str, int]:
    """Add the cost of joining two texts; gives the ending of the helper and the size of the result."""
    sizes = (size(a), size(b))
    if sizes[0] is not None and sizes[1] is not None:
        total = sizes[0] + sizes[1]
        to.spend(costs.traversal(total))
        return "", total
    most = JOINED_OFTEN if to.blocks > 0 else JOINED_ONCE
    to.spend(costs.traversal(most))
    return "_often" if to.blocks > 0 else "_once", most


def settled(function: Function, overloads: tuple[str, ...]) -> Cost | None:
    """What an operator costs by its operands, None where it costs 1."""
    return next((o.cost for o in function.overloads if o.id == overloads[0]), None) if len(overloads) == 1 else None


def price(function: Function, row: Overload | None) -> Cost | None:
    """What a call costs by its arguments, None where it costs 1."""
    found = row.cost if row is not None else dispatch.costs_by_name(function)
    if found is None and function.one_body:
        found = dispatch.costs_by_name(function)
    return None if found is costs.nominal or found is dispatch.unit else found


def most(cost: Cost, codes: Sequence[Code]) -> int | None:
    """An upper bound of a call's cost that holds for all values the arguments may have, None where there is none."""
    if dispatch.by_result(cost, len(codes)):
        return None
    largest = [_largest(code) for code in codes]
    if any(value is ABSENT for value in largest):
        return None
    units = cost(largest, "")
    by_number = [_HUGE if value is _SINGLE[INT] else value for value in largest]
    return units if cost(by_number, "") == units else None


def _largest(code: Code) -> object:
    """The value of an argument for which calls cost most, ABSENT where there is none."""
    if code.const is not ABSENT:
        return code.const
    if code.type is STRING and code.size is not None:
        return _WIDE * code.size
    if code.type is BYTES and code.size is not None:
        return b"x" * code.size
    return _SINGLE.get(code.type, ABSENT) if code.type is not None else ABSENT
