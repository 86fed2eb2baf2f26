"""Whether a request could ever be admitted: in an empty tree, with the least pod counts, on some choice of flavors.

The search for flavors takes, pod set by pod set, what it prefers at the moment; when others use quota it may take other
flavors. So a request is impossible only if no choice of flavors at all holds its pod sets together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final, TypeVar

from webhook.queue.decisions import Shortage
from webhook.queue.flavors.request_plan import RequestPlan
from webhook.queue.flavors.search import Search
from webhook.queue.model import Workload
from webhook.queue.pending.queue import PendingQueue
from webhook.queue.rules import Mode, Rules

Column = TypeVar("Column", bound=Hashable)
Asks = Sequence[tuple[Column, int]]
"""(column, amount) pairs: what a choice of flavor takes."""

MOST_TRIES: Final = 1_000
"""So many choices are tried, about a millisecond; a request that needs more counts as possible."""


def impossible(
    pending_queue: PendingQueue, workload: Workload, plan: RequestPlan, rules: Rules
) -> tuple[Shortage, ...] | None:
    """Return what a queue can never give of a request, None if the workload may be admitted some day.

    It may, too, if something else keeps it waiting that an object can change: an inactive queue, or a field that is not
    supported. `free` of a shortage is what would be free in an empty tree.
    """
    if pending_queue.inactive or workload.problem:
        return None
    node = pending_queue.node
    cells, base = node.tree.cells, node.base
    counts = [p.min_count if rules.partial else p.count for p in plan.pod_sets]
    covered = not any(p.missing for p in plan.pod_sets)
    if covered and holds_all(list(_options(plan, counts)), lambda column: cells[base + column].most):
        return None
    assignment = Search(node, [0] * len(cells), rules, no_victims, pending_queue.seen).assign(plan, counts)
    placed = {pod_set.name for pod_set, _, _ in assignment.pod_sets}
    return tuple(
        Shortage(s.pod_set, s.flavor, s.resource, s.asked, s.free, s.most, 0, note=s.note, beside=s.beside)
        for s in assignment.lacks
        if s.pod_set not in placed
    )


def no_victims(column: int, amount: int) -> tuple[int, int]:
    """Answer a search that must do without preemption."""
    return Mode.NO_FIT, 0


def holds_all(options: Sequence[Sequence[Asks[Column]]], most: Callable[[Column], int]) -> bool:
    """Return whether one choice of each group can be taken so that no column gives more than its `most`.

    `options` are the choices, group by group. True if more than `MOST_TRIES` would have to be tried.
    """
    if not all(any(all(n <= most(c) for c, n in asks) for asks in choices) for choices in options):
        return False
    taken: dict[Column, int] = {}
    left = MOST_TRIES

    def place(at: int) -> bool:
        nonlocal left
        if at == len(options):
            return True
        for asks in options[at]:
            left -= 1
            if left < 0:
                return True
            if all(taken.get(column, 0) + amount <= most(column) for column, amount in asks):
                taken.update((column, taken.get(column, 0) + amount) for column, amount in asks)
                if place(at + 1):
                    return True
                taken.update((column, taken[column] - amount) for column, amount in asks)
        return False

    return place(0)


def _options(plan: RequestPlan, counts: Sequence[int]) -> Iterator[list[Asks[int]]]:
    for pod_set, count in zip(plan.pod_sets, counts, strict=True):
        for group in pod_set.groups:
            usable = (choice.asks for choice in group.choices if not choice.why)
            yield [[(column, amount * count) for _, column, amount in asks] for asks in usable]
