"""The position of a new workload in its queue, read from the state of the core, which is not changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from webhook.api import amounts
from webhook.queue.definitions import local_of
from webhook.queue.flavors.request_plan import RequestPlan
from webhook.queue.flavors.search import Assignment, Search
from webhook.queue.model import Workload
from webhook.queue.pending.impossible import no_victims
from webhook.queue.pending.queue import PendingQueue
from webhook.queue.rules import Mode, Rules
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

    @property
    def lack(self) -> float:
        """The part of the request that is not free, from 0 (all is free) to 1."""
        return max(0.0, (self.asked - self.free) / self.asked) if self.asked > 0 else 0.0

    def text(self) -> str:
        """Return a text such as `requests 8 GPUs, 2 free, no quota left to borrow`."""
        asked, free = (amounts.text(self.resource, max(0, n)) for n in (self.asked, self.free))
        line = f"requests {asked} {self.resource}, {free} free"
        if self.most > self.nominal:
            line += f", {amounts.text(self.resource, self.lent)} of it to borrow" if self.lent else NOTHING_TO_BORROW
        return line


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """`position` counts from 1; `fits`: all requests fit into the free quota, on the flavors of the `rows`."""

    position: int
    fits: bool
    rows: tuple[WaitingRow, ...]

    @property
    def tightest(self) -> WaitingRow | None:
        """The row with the largest missing part of its request; among equals, devices first. None without rows."""
        return max(self.rows, key=lambda row: (row.lack, "/" in row.resource), default=None)


def position_of(
    state: State, pending_queue: PendingQueue, workload: Workload, plan: RequestPlan, rules: Rules, now: int
) -> QueuePosition:
    """Return the position that `workload` would have in `pending_queue` if it were created now."""
    lanes = len(pending_queue.lanes)
    local = state.local_queues.get(local_of(workload))
    usage = state.accounting.share(workload, pending_queue.queue, local) if lanes > 1 or not rules.usage_apart else 0.0
    rank = (*rules.order(workload, pending_queue.queue, now, usage), *tie(workload))
    node = pending_queue.node
    found = Search(node, node.tree.usage, rules, no_victims, pending_queue.seen).assign(plan)
    rows = [_row(pending_queue, column, asked) for column, asked in found.usage.items()]
    if found.mode == Mode.NO_FIT:
        rows = _nearest(list(_lacking(pending_queue, found)))
    return QueuePosition(1 + pending_queue.before(rank), found.mode == Mode.FIT, tuple(rows))


def _lacking(pending_queue: PendingQueue, found: Assignment) -> Iterator[WaitingRow]:
    """Yield what the first pod set lacks that found no flavor."""
    placed = {pod_set.name for pod_set, _, _ in found.pod_sets}
    for lack in found.lacks:
        if lack.column >= 0 and lack.pod_set not in placed:
            yield _row(pending_queue, lack.column, lack.asked)


def _nearest(rows: list[WaitingRow]) -> list[WaitingRow]:
    """Return the rows of the flavor that lacks least."""
    by_flavor: dict[str, list[WaitingRow]] = {}
    for row in rows:
        by_flavor.setdefault(row.flavor, []).append(row)
    return min(by_flavor.values(), key=lambda of_flavor: max(row.lack for row in of_flavor), default=[])


def _row(pending_queue: PendingQueue, column: int, asked: int) -> WaitingRow:
    tree, at = pending_queue.node.tree, pending_queue.node.base + column
    cell = tree.cells[at]
    free, own = tree.available(at, tree.usage), max(0, cell.nominal_quota - tree.usage[at])
    return WaitingRow(cell.resource, cell.flavor, asked, free, cell.most, cell.nominal_quota, max(0, free - own))
