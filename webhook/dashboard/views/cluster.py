"""Cohorts and queues with their quota, as the core's trees have it. A tree is told as of one moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from webhook.cluster.pace import Pass, at_once, every
from webhook.cluster.queues.counts import WorkloadCounts
from webhook.dashboard.model.queues import ClusterView, FlavorColumn, QuotaCell, QuotaNode
from webhook.dashboard.sources import Sources
from webhook.queue.model import ClusterQueue, StopPolicy
from webhook.queue.quota.tree import FlavorResource, Tree, TreeNode, Usage
from webhook.queue.state import State

NODE_LIMIT: Final = 5000
"""Nodes of one answer, where nothing else is asked for."""
FEW: Final = 50
"""Counts that are summed between two pauses."""
STEP: Final = 8
"""Nodes between two pauses."""


@dataclass(slots=True)
class QueueTally:
    """The workloads of a queue, or of all below a cohort; `used` by flavor and resource."""

    pending: int = 0
    active: int = 0
    reserving: int = 0
    admitted: int = 0
    used: Counter[FlavorResource] = field(default_factory=Counter)


def columns_of(state: State) -> dict[FlavorResource, int]:
    """Number the flavors and resources that have quota, sorted by name."""
    found = {name for tree in state.trees for name in tree.names}
    return {name: number for number, name in enumerate(sorted(found))}


def column_rows(columns: Mapping[FlavorResource, int]) -> tuple[FlavorColumn, ...]:
    """Return the numbers as they are sent to the page."""
    return tuple(FlavorColumn(*name) for name in columns)


def cluster_view(
    sources: Sources, wanted: Callable[[QuotaNode], bool] | None = None, offset: int = 0, limit: int = NODE_LIMIT
) -> Pass[ClusterView]:
    """Return, in steps, the nodes that are wanted, with the cohorts above them; None wants all."""
    state, revision, now = sources.state, sources.revision, sources.now()
    columns, tallies = columns_of(state), (yield from tallies_of(state, sources.counts, list(state.by_queue)))
    nodes: list[QuotaNode] = []
    yield
    for tree in list(state.trees):
        rows = yield from tree_rows(state, tree, columns, tallies)
        nodes += _filtered(rows, wanted) if wanted is not None else rows
    page = tuple(nodes[offset : offset + limit])
    return ClusterView(revision, now, len(nodes), offset, column_rows(columns), page)


def queue_node(state: State, counts: WorkloadCounts, name: str) -> QuotaNode | None:
    """Return one ClusterQueue; None where there is none."""
    found = state.by_queue.get(name)
    if found is None:
        return None
    tree = found.node.tree
    nominal = [cell.nominal_quota for cell in tree.cells]
    amounts = TreeAmounts(tree, list(tree.usage), tree.usage, nominal, lent_in(tree))
    tally = at_once(tallies_of(state, counts, [name]))[name]
    return _row(state, found.node, columns_of(state), tally, amounts)


@dataclass(frozen=True, slots=True)
class TreeAmounts:
    """A tree at one moment, by place: its usage; what all below a node hold, and own; what is lent."""

    tree: Tree
    usage: Usage
    reserved: Sequence[int]
    quota: Sequence[int]
    lent: Mapping[int, int]


def amounts_in(tree: Tree) -> TreeAmounts:
    """Copy what a tree holds, and sum it up from below."""
    usage = list(tree.usage)
    reserved = [0] * len(usage)
    quota = [cell.nominal_quota for cell in tree.cells]
    width = tree.width
    for node in reversed(tree.nodes):
        if node.is_queue:
            reserved[node.base : node.base + width] = usage[node.base : node.base + width]
        if node.parent is not None:
            for column in range(width):
                reserved[node.parent.base + column] += reserved[node.base + column]
                quota[node.parent.base + column] += quota[node.base + column]
    return TreeAmounts(tree, usage, reserved, quota, lent_in(tree))


def tree_rows(
    state: State, tree: Tree, columns: Mapping[FlavorResource, int], tallies: Mapping[str, QueueTally]
) -> Pass[list[QuotaNode]]:
    """Return, in steps, all nodes of a tree, a cohort before what is in it."""
    amounts = amounts_in(tree)
    yield
    below = _sums(tree, tallies)
    yield
    rows = []
    for number, node in enumerate(tree.nodes, 1):
        rows.append(_row(state, node, columns, below[node.base, node.is_queue], amounts))
        if number % STEP == 0:
            yield
    return rows


def tallies_of(state: State, counts: WorkloadCounts, names: Iterable[str]) -> Pass[dict[str, QueueTally]]:
    """Count the workloads of ClusterQueues, as their status does; `active` are those that are not parked."""
    tallies = {name: QueueTally() for name in names}
    yield
    for pause, ((local, holder), count) in every(list(counts.by_way.items()), FEW):
        if pause:
            yield
        local_queue = state.local_queues.get(local)
        tally = tallies.get(holder or (local_queue.cluster_queue if local_queue is not None else ""))
        if tally is not None:
            stopped = local_queue is not None and local_queue.stop_policy != StopPolicy.NONE
            tally.pending += count.pending_in(stopped=stopped)
            tally.reserving += count.reserving
            tally.admitted += count.admitted
            tally.used.update(count.used)
    for pause, (name, tally) in every(tallies.items(), FEW):
        queue = state.by_queue.get(name)
        if queue is not None and not queue.inactive:
            tally.active = sum(len(c.members) for c in queue.classes.values() if not c.parked)
        if pause:
            yield
    return tallies


def _sums(tree: Tree, tallies: Mapping[str, QueueTally]) -> dict[tuple[int, bool], QueueTally]:
    """Return the counts of every node: of a cohort those of all below."""
    found = {}
    for node in reversed(tree.nodes):
        if node.is_queue:
            found[node.base, True] = tallies.get(node.name) or QueueTally()
            continue
        total = QueueTally()
        for child in (*node.children, *node.queues):
            part = found[child.base, child.is_queue]
            total.pending += part.pending
            total.active += part.active
            total.reserving += part.reserving
            total.admitted += part.admitted
            total.used.update(part.used)
        found[node.base, False] = total
    return found


def _row(
    state: State, node: TreeNode, columns: Mapping[FlavorResource, int], tally: QueueTally, amounts: TreeAmounts
) -> QuotaNode:
    queue = node.definition if isinstance(node.definition, ClusterQueue) else None
    pending_queue = state.by_queue.get(node.name) if queue is not None else None
    return QuotaNode(
        node.name,
        "cohort" if queue is None else "queue",
        len(node.path) - 1,
        node.parent.name if node.parent is not None else "",
        tally.pending,
        max(0, tally.pending - tally.active),
        tally.reserving,
        tally.admitted,
        amounts.tree.failure or (pending_queue.inactive if pending_queue is not None else ""),
        str(queue.queueing_strategy) if queue is not None else "",
        tuple(_cells(state, node, columns, tally, amounts)),
    )


def _cells(
    state: State, node: TreeNode, columns: Mapping[FlavorResource, int], tally: QueueTally, amounts: TreeAmounts
) -> Iterator[QuotaCell]:
    tree, usage = amounts.tree, amounts.usage
    for column, name in enumerate(tree.names):
        cell = tree.cells[node.base + column]
        quota, reserved = amounts.quota[cell.at], amounts.reserved[cell.at]
        if quota or reserved:
            borrowed, free = max(0, usage[cell.at] - cell.subtree), _free(state, tree, cell.at, usage)
            lent = amounts.lent.get(cell.at, 0)
            used = tally.used[name]
            yield QuotaCell(columns[name], cell.nominal_quota, quota, reserved, used, borrowed, lent, free, cell.most)


def _free(state: State, tree: Tree, at: int, usage: Usage) -> int:
    assert state.rules is not None
    try:
        return max(0, tree.available(at, usage))
    except state.rules.failures:
        return 0


def lent_in(tree: Tree) -> dict[int, int]:
    """Return how much of their own quota cells lend now, by place.

    What is taken out of a cohort's pool beyond what its members brought in is divided among the cohort's own quota and
    what members have idle, in proportion: quota in a pool has no names.
    """
    lent: dict[int, int] = {}
    usage = tree.usage
    for node in tree.nodes:
        members = (*node.children, *node.queues)
        for column in range(tree.width if members else 0):
            pool = tree.cells[node.base + column]
            cells = [tree.cells[member.base + column] for member in members]
            taken = sum(max(0, usage[cell.at] - cell.subtree) for cell in cells)
            taken += lent.get(pool.at, 0) - max(0, usage[pool.at] - pool.subtree)
            idle = [max(0, min(c.subtree - c.guaranteed, c.subtree - usage[c.at])) for c in cells]
            whole = pool.nominal_quota + sum(idle)
            if taken > 0 and whole > 0:
                lent.update({c.at: taken * part // whole for c, part in zip(cells, idle, strict=True) if part})
    return lent


def _filtered(rows: Sequence[QuotaNode], wanted: Callable[[QuotaNode], bool]) -> list[QuotaNode]:
    """Return the nodes that are wanted, and the cohorts above them."""
    kept: list[QuotaNode] = []
    above = -1
    for row in reversed(rows):
        if row.depth == above or wanted(row):
            kept.append(row)
            above = row.depth - 1
    return kept[::-1]
