"""The position of a new workload in its queue, read from the state of the core, which is not changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from webhook.api import amounts
from webhook.queue.flavors.request_plan import Choice, GroupPlan, PodSetPlan, make_plan
from webhook.queue.model import Workload
from webhook.queue.pending.queue import PendingQueue
from webhook.queue.quota.accounting import local_of
from webhook.queue.rules import Rules
from webhook.queue.state import State
from webhook.queue.workload_facts import tie

NOTHING_TO_BORROW: Final = ", no quota left to borrow"


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """One resource of one flavor, in the core's integers: requested, free now, and the most that can ever be used.

    `lent` is the part of `free` that would be borrowed.
    """

    resource: str
    flavor: str
    asked: int
    free: int
    most: int
    nominal: int
    lent: int

    def text(self) -> str:
        """Return a text such as `requests 8 GPUs, 2 free, no quota left to borrow`."""
        asked, free = (amounts.text(self.resource, max(0, n)) for n in (self.asked, self.free))
        line = f"requests {asked} {self.resource}, {free} free"
        if self.most > self.nominal:
            line += f", {amounts.text(self.resource, self.lent)} of it to borrow" if self.lent else NOTHING_TO_BORROW
        return line


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """`position` counts from 1; `never` is the reason why the workload can never be admitted, "" if it can."""

    position: int
    rows: tuple[WaitingRow, ...]
    never: str = ""

    @property
    def fits(self) -> bool:
        """Whether all requests fit into the free quota."""
        return all(row.asked <= row.free for row in self.rows)

    @property
    def tightest(self) -> WaitingRow | None:
        """The row with the largest missing part of its request; among equals, devices first. None without rows."""
        return max(self.rows, key=lambda row: (_lack(row), "/" in row.resource), default=None)


def position_of(state: State, pending_queue: PendingQueue, workload: Workload, rules: Rules, now: int) -> QueuePosition:
    """Return the position that `workload` would have in `pending_queue` if it were created now."""
    plan = make_plan(workload.pod_sets, pending_queue.node, state.flavors, rules)
    lanes = len(pending_queue.lanes)
    local = state.local_queues.get(local_of(workload))
    usage = state.accounting.share(workload, pending_queue.queue, local) if lanes > 1 or not rules.usage_apart else 0.0
    rank = (*rules.order(workload, pending_queue.queue, now, usage), *tie(workload))
    position = 1 + pending_queue.before(rank)
    rows: dict[tuple[str, str], WaitingRow] = {}
    for pod_set in plan.pod_sets:
        if pod_set.missing:
            return QueuePosition(
                position, (), f"ClusterQueue {pending_queue.queue.name} has no quota for {pod_set.missing}"
            )
        for group in pod_set.groups:
            options = list(_options(pending_queue, group, pod_set))
            if never := _never(options, group, pod_set, pending_queue):
                return QueuePosition(position, (), never)
            for row in _best(options):
                key = (row.flavor, row.resource)
                rows[key] = _sum(rows[key], row) if key in rows else row
    return QueuePosition(position, tuple(rows.values()))


def _options(
    pending_queue: PendingQueue, group: GroupPlan, pod_set: PodSetPlan
) -> Iterator[tuple[Choice, list[WaitingRow]]]:
    for choice in group.choices:
        if not choice.why:
            yield choice, [_row(pending_queue, choice.flavor, *ask, pod_set.count) for ask in choice.asks]


def _row(pending_queue: PendingQueue, flavor: str, resource: str, column: int, each: int, count: int) -> WaitingRow:
    tree, at = pending_queue.node.tree, pending_queue.node.base + column
    cell = tree.cells[at]
    free, own = tree.available(at, tree.usage), max(0, cell.nominal_quota - tree.usage[at])
    return WaitingRow(resource, flavor, each * count, free, cell.most, cell.nominal_quota, max(0, free - own))


def _never(
    options: list[tuple[Choice, list[WaitingRow]]], group: GroupPlan, pod_set: PodSetPlan, pending_queue: PendingQueue
) -> str:
    """Return why no flavor could ever hold the pod set, even with its minimum count; "" if one could."""
    queue = pending_queue.queue.name
    if not options:
        return f"no flavor of ClusterQueue {queue} fits pod set {pod_set.name}: " + "; ".join(
            choice.why for choice in group.choices
        )
    reasons = []
    for choice, rows in options:
        over = [row for row in rows if row.asked * pod_set.min_count > row.most * max(1, pod_set.count)]
        if not over:
            return ""
        row = over[0]
        asked, most = amounts.text(row.resource, row.asked), amounts.text(row.resource, row.most)
        reasons.append(
            f"requests {asked} {row.resource}, ClusterQueue {queue} can use at most {most} of flavor {choice.flavor}"
        )
    return "; ".join(reasons)


def _best(options: list[tuple[Choice, list[WaitingRow]]]) -> list[WaitingRow]:
    """Return the rows of the first flavor that fits now, else of the one that lacks least."""
    return min((rows for _, rows in options), key=lambda rows: max((_lack(row) for row in rows), default=0.0))


def _sum(one: WaitingRow, other: WaitingRow) -> WaitingRow:
    asked = one.asked + other.asked
    return WaitingRow(one.resource, one.flavor, asked, one.free, one.most, one.nominal, one.lent)


def _lack(row: WaitingRow) -> float:
    """Return the part of the request that is not free, from 0 (all is free) to 1."""
    return max(0.0, (row.asked - row.free) / row.asked) if row.asked > 0 else 0.0
