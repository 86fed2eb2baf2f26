"""What an expression may give where only a part of what it reads is known: seen in its checked tree, never evaluated.

So nobody is asked a question whose answer is settled, and no result is looked at that can only be right. An operand
that fails gives nothing; what else an expression gives is in the set, and sometimes more.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Final

from webhook.cel.program import Program
from webhook.cel.syntax.nodes import (
    AND,
    CONDITIONAL,
    EQUALS,
    IN,
    NOT,
    NOT_EQUALS,
    OR,
    Call,
    CreateList,
    Literal,
    Node,
    Select,
)
from webhook.policy.queue_rules.reads import path_of
from webhook.queue.model import ClusterQueue
from webhook.queue.rules import Variant

Values = frozenset[object]
Known = Callable[[tuple[str, ...]], object]
"""Gives the value behind a path of names, as `('queue', 'strategy')`; UNKNOWN where it may be any."""

UNKNOWN: Final = object()
EITHER: Final[Values] = frozenset({True, False})


def possible(program: Program, known: Known = lambda _: UNKNOWN) -> Values | None:
    """Return the texts, truths and nulls that an expression may give; None where it may give anything else."""
    return _possible(program, program.checked.root, known)


def _possible(program: Program, node: Node, known: Known) -> Values | None:
    if isinstance(node, Literal):
        return _told(node.value)
    if isinstance(node, Call):
        return None if node.target is not None else _call(program, node, known)
    path = None if isinstance(node, Select) and node.test else path_of(program, node)
    return None if path is None else _told(known(path))


def _told(value: object) -> Values | None:
    return frozenset({value}) if value is None or isinstance(value, str | bool) else None


def _call(program: Program, node: Call, known: Known) -> Values | None:
    name, args = node.function, node.args
    if name == CONDITIONAL:
        truth = _possible(program, args[0], known) or EITHER
        taken = [part for value, part in ((True, args[1]), (False, args[2])) if value in truth]
        return _union([_possible(program, part, known) for part in taken])
    if name in (AND, OR, NOT):
        rows = product(*(_possible(program, part, known) or EITHER for part in args))
        return frozenset(all(row) if name == AND else any(row) is (name == OR) for row in rows)
    if name in (EQUALS, NOT_EQUALS):
        pairs = _pairs(program, args, known)
        return None if pairs is None else frozenset((one == other) is (name == EQUALS) for one, other in pairs)
    if name == IN and isinstance(args[1], CreateList):
        found = _pairs(program, (args[0], *args[1].elements), known)
        return None if found is None else frozenset(row[0] in row[1:] for row in found)
    return None


def _pairs(program: Program, parts: tuple[Node, ...], known: Known) -> list[tuple[object, ...]] | None:
    """Return every way in which some parts may come out together."""
    found = [_possible(program, part, known) for part in parts]
    return None if None in found else list(product(*(values for values in found if values is not None)))


def _union(found: list[Values | None]) -> Values | None:
    return None if None in found else frozenset[object]().union(*(values for values in found if values is not None))


def spares(candidate: Program, queue: ClusterQueue) -> bool:
    """Return whether `preempt.candidate` can only say no to work of a queue, on behalf of other work of that queue."""

    def known(path: tuple[str, ...]) -> object:
        if path == ("victim", "cluster_queue"):
            return queue.name
        found: object = queue if path[0] == "queue" else UNKNOWN
        for name in path[1:]:
            found = found if found is UNKNOWN else getattr(found, name)
        return found

    return possible(candidate, known) == frozenset[object]({Variant.NEVER.value})
