"""What a compiled rule reads, seen in its checked tree: fields by their names in the core, and how finely the time.

The queue core keeps by it which workloads count as alike, and asks again what may have another answer. Never too
little is given, sometimes too much. Parameters are constants and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from webhook.cel import host
from webhook.cel.program import Program
from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import Call, Fold, Ident, Node, Select
from webhook.cel.types import TIMESTAMP, TypeKind

PARAMETERS: Final = "parameters"
QUARTER: Final = 15 * 60_000
"""Hours, days and all above change at quarters of an hour only, whatever the zone (offsets are multiples of one)."""
STEPS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("getHours", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"), QUARTER),
    **dict.fromkeys(("getMonth", "getFullYear"), QUARTER),
    "getMinutes": 60_000,
    "getSeconds": 1_000,
}
ANY_TIME: Final = 1


def reads_of(program: Program) -> frozenset[str]:
    """Return what an expression reads: `workload.queued_at`, `usage`; an object as a whole by its variable's name."""
    return frozenset(_reads(program, program.checked.root, frozenset()))


def step_of(program: Program) -> int:
    """Return how often an expression's result may change with time, in milliseconds; 0 if it does not read the time."""
    times = {name for name, type_ in program.env.variables.items() if type_ == TIMESTAMP}
    return finest(_steps(program.checked.root, times))


def finest(steps: Iterable[int]) -> int:
    """Return the smallest step of several; 0 where none reads the time."""
    return min((step for step in steps if step), default=0)


def union(reads: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return all that several expressions read."""
    return frozenset[str]().union(*reads)


def _reads(program: Program, node: Node, bound: frozenset[str]) -> Iterator[str]:
    if isinstance(node, Fold):
        yield from _reads(program, node.range, bound)
        yield from _reads(program, node.init, bound)
        inner = bound | {node.var, node.var2, node.accu}
        for part in (node.condition, node.step, node.result):
            yield from _reads(program, part, inner)
    elif (path := path_of(program, node)) is not None:
        if path[0] in program.env.variables and path[0] not in bound and path[0] != PARAMETERS:
            yield ".".join(path[:2])
    else:
        for child in nodes.children(node):
            yield from _reads(program, child, bound)


def path_of(program: Program, node: Node) -> tuple[str, ...] | None:
    """Return a variable and the attributes behind it as far as they are of objects; None for any other form."""
    if isinstance(node, Ident):
        return (node.name.removeprefix("."),)
    if not isinstance(node, Select) or (before := path_of(program, node.operand)) is None:
        return None
    over = program.checked.types.get(node.operand.id)
    if over is None or over.kind is not TypeKind.OBJECT or not host.known(over.name):
        return before
    return (*before, host.attribute_of(node.field))


def _steps(node: Node, times: set[str]) -> Iterator[int]:
    if isinstance(node, Call) and _is_one_of(node.target, times):
        yield STEPS.get(node.function, ANY_TIME)
        for argument in node.args:
            yield from _steps(argument, times)
    elif _is_one_of(node, times):
        yield ANY_TIME
    else:
        for child in nodes.children(node):
            yield from _steps(child, times)


def _is_one_of(node: Node | None, names: set[str]) -> bool:
    return isinstance(node, Ident) and node.name.removeprefix(".") in names
