"""Why a workload waits, in numbers: its request, what is free, the holders that must end first, and its position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from webhook.queue.decisions import Holder, Pending, PendingPlace, Reason, Shortage
from webhook.queue.definitions import local_of
from webhook.queue.flavors.search import Lack
from webhook.queue.model import StopPolicy
from webhook.queue.pending.queue import Entry, HeadVerdict, PendingQueue, Status
from webhook.queue.quota.tree import MAX_QUOTA, Tree, TreeNode, Usage
from webhook.queue.rules import HeadOutcome
from webhook.queue.state import State

ALIKE = frozenset({HeadOutcome.NO_FIT, HeadOutcome.NO_CANDIDATES})
MAX_HOLDERS = 10
"""At most so many holders of quota are named: the first that must end."""


Held = tuple[Holder, TreeNode]
"""A holder, and its queue."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Results shared by many explanations: the holders of each column of a subtree, the soonest to end first; and the
    shortages of each verdict, whose numbers are those of one queue. Valid until the next decision.
    """

    held: dict[tuple[TreeNode, int], list[Held]] = field(default_factory=dict)
    shortages: dict[tuple[PendingQueue, HeadVerdict], tuple[Shortage, ...]] = field(default_factory=dict)


def describe(state: State, entry: Entry, gathered: Gathered, position: int = 0) -> Pending:
    """Explain one pending workload as it was last looked at; `position` is its place in its queue."""
    pending_queue, verdict = entry.pending_queue, entry.verdict
    name = pending_queue.queue.name if pending_queue is not None else ""
    if entry.status == Status.BACKOFF:
        return Pending(entry.key, name, PendingPlace.INADMISSIBLE, Reason.BACKOFF, "waiting for its back-off to end")
    if entry.failed:
        return Pending(entry.key, name, PendingPlace.INADMISSIBLE, Reason.RULE_FAILED, entry.why_not_queued)
    if pending_queue is None or entry.status != Status.WAITING:
        reason = Reason.SUSPENDED if _is_suspended(state, entry) else Reason.MISCONFIGURED
        return Pending(entry.key, name, PendingPlace.NONE, reason, entry.why_not_queued)
    if verdict is None:
        verdict = _from_class(entry)
    if verdict is None:
        return _not_considered(entry, pending_queue, position)
    if (shortages := gathered.shortages.get((pending_queue, verdict))) is None:
        lacks = verdict.assignment.lacks if verdict.assignment else ()
        shortages = tuple(_shortage(state, pending_queue, lack, gathered) for lack in lacks)
        gathered.shortages[pending_queue, verdict] = shortages
    start, unknown, job = start_of(state, shortages, position)
    place, told = _place(entry, verdict), (verdict.message, shortages)
    return Pending(entry.key, name, place, verdict.reason, *told, position, start, verdict.outcome.value, unknown, job)


def _place(entry: Entry, verdict: HeadVerdict) -> PendingPlace:
    """Return where an entry is now: a parked entry may have been woken since the last look at it."""
    parked = entry.equivalence is not None and entry.equivalence.parked
    return verdict.place if parked else PendingPlace.ACTIVE


def pending(state: State) -> Iterator[Pending]:
    """Explain all pending workloads with their positions, queue by queue in order, then those in no queue."""
    gathered = Gathered()
    for pending_queue in (pending_queue for tree in state.trees for pending_queue in state.by_tree[tree]):
        for position, entry in enumerate(sorted(pending_queue.waiting(), key=pending_queue.place_of()), 1):
            yield describe(state, entry, gathered, position)
    for _, entry in sorted(state.entries.items()):
        if entry.status == Status.BACKOFF or (entry.status == Status.OUT and _is_pending(entry)):
            yield describe(state, entry, gathered)
        elif entry.status == Status.HOLDING and (lost := _without_quota(entry)) is not None:
            yield lost


def _without_quota(entry: Entry) -> Pending | None:
    """Report a workload that holds quota which its queue does not have, as if it waited; None for all others."""
    if entry.pending_queue is None or not (lost := _lost(entry)):
        return None
    return Pending(entry.key, entry.pending_queue.queue.name, PendingPlace.NONE, Reason.MISCONFIGURED, lost)


def _lost(entry: Entry) -> str:
    """Return a message about quota that a workload holds and its queue does not have, "" if there is none."""
    assert entry.pending_queue is not None
    assert entry.admission is not None
    columns, name = entry.pending_queue.node.tree.columns, entry.pending_queue.queue.name
    for pod_set in entry.admission.pod_set_assignments:
        for resource, flavor in pod_set.flavors.items():
            if (flavor, resource) not in columns:
                return f"it holds {resource} of flavor {flavor}, for which ClusterQueue {name} has no quota"
    return ""


def in_order(state: State, queue: str) -> list[str] | None:
    """Return the keys of the workloads waiting in a ClusterQueue, in order; None if there is no such queue."""
    pending_queue = state.by_queue.get(queue)
    if pending_queue is None:
        return None
    return [entry.key for entry in sorted(pending_queue.waiting(), key=pending_queue.place_of())]


def position(state: State, entry: Entry) -> int:
    """Return an entry's position among all that wait in its queue, from 1; 0 if it waits in none."""
    if entry.pending_queue is None or entry.status != Status.WAITING:
        return 0
    return 1 + entry.pending_queue.before(entry.pending_queue.place_of()(entry))


def _is_pending(entry: Entry) -> bool:
    """Return whether an entry in no queue is reported as pending, as one is that holds quota of a missing queue."""
    return not entry.workload.finished


def _is_suspended(state: State, entry: Entry) -> bool:
    """Return whether the workload or its LocalQueue is stopped."""
    workload = entry.workload
    local = state.local_queues.get(local_of(workload))
    stopped = local is not None and local.stop_policy in (StopPolicy.HOLD, StopPolicy.DRAIN)
    return not workload.active or stopped


def _from_class(entry: Entry) -> HeadVerdict | None:
    equivalence = entry.equivalence
    if (
        equivalence is None
        or not equivalence.parked
        or equivalence.verdict is None
        or equivalence.verdict.outcome not in ALIKE
    ):
        return None
    return equivalence.verdict if equivalence.verdict.place == PendingPlace.INADMISSIBLE else None


def _not_considered(entry: Entry, pending_queue: PendingQueue, position: int) -> Pending:
    reason, message = Reason.NOT_CONSIDERED, "not yet at the head of its queue"
    head = pending_queue.head()
    if pending_queue.inactive:
        reason, message = Reason.SUSPENDED, pending_queue.inactive_message()
    elif head is not None and head.verdict is not None and head.verdict.stuck:
        reason, message = (
            Reason.BEHIND_HEAD,
            "blocked by the head of its queue, which does not fit (the queue is strict)",
        )
    unknown = jobs_ahead(position - 1) if position > 1 else ""
    name = pending_queue.queue.name
    return Pending(entry.key, name, PendingPlace.ACTIVE, reason, message, (), position, start_unknown=unknown)


def explain(state: State, key: str, gathered: Gathered | None = None) -> Pending | None:
    """Explain one workload with its position, as `pending` does; None if there is nothing to explain."""
    entry = state.entries.get(key)
    if entry is None or (entry.status == Status.OUT and not _is_pending(entry)):
        return None
    if entry.status == Status.HOLDING:
        return _without_quota(entry)
    return describe(state, entry, gathered or Gathered(), position(state, entry))


def start_of(state: State, shortages: tuple[Shortage, ...], position: int) -> tuple[int | None, str, str]:
    """Estimate the start of a head. Return it, else the reason why it is unknown and the workload it depends on.

    For workloads behind others use `forecast`, which costs more than an explanation may.
    """
    if position != 1:
        return None, jobs_ahead(position - 1) if position else "", ""
    start = _start(shortages)
    if start is not None:
        return max(start, state.changes.now), "", ""
    lacking = (s for s in shortages if s.free < s.asked)
    holder = next((h for s in lacking for h in s.holders if h.ends is None), None)
    return (None, "", "") if holder is None else (None, no_run_time(holder.workload), holder.workload)


def no_run_time(job: str) -> str:
    """Return the message for a job whose end would have to be known."""
    return f"{job} has no run time"


def jobs_ahead(count: int) -> str:
    """Return the message for jobs that come first."""
    return "1 job is ahead" if count == 1 else f"{count:,} jobs are ahead"


def _start(shortages: tuple[Shortage, ...]) -> int | None:
    """Estimate when enough holders have ended: per flavor the latest end over its resources, of these the earliest."""
    by_flavor: dict[str, list[int | None]] = {}
    for shortage in shortages:
        if shortage.free < shortage.asked:
            ends = [h.ends for h in shortage.holders]
            last = max((e for e in ends if e is not None), default=None)
            known = shortage.enough and None not in ends
            by_flavor.setdefault(shortage.flavor, []).append(last if known else None)
    soonest = [max(t for t in times if t is not None) for times in by_flavor.values() if times and None not in times]
    return min(soonest, default=None)


def _shortage(state: State, pending_queue: PendingQueue, lack: Lack, gathered: Gathered) -> Shortage:
    tree, node = pending_queue.node.tree, pending_queue.node
    column = tree.columns.get((lack.flavor, lack.resource)) if lack.column >= 0 else None
    if column is None:  # the flavor cannot be used, or is gone since the workload was looked at
        return Shortage(lack.pod_set, lack.flavor, lack.resource, 0, 0, 0, 0, note=lack.note)
    cell, lack = tree.cells[node.base + column], replace(lack, column=column)
    free = _free(state, tree, cell.at, tree.usage, lack)
    holders, enough = _holders(state, node, lack, free, gathered) if lack.asked <= lack.most else ((), False)
    return Shortage(
        lack.pod_set,
        lack.flavor,
        lack.resource,
        lack.asked,
        free,
        lack.most,
        cell.nominal_quota,
        max(0, tree.usage[cell.at] - cell.subtree),
        "",
        holders,
        lack.beside,
        enough,
    )


def _free(state: State, tree: Tree, at: int, usage: Usage, lack: Lack) -> int:
    """Return the amount that is free in a usage; if a rule fails, the amount at the last look at the workload."""
    assert state.rules is not None
    try:
        return tree.available(at, usage)
    except state.rules.failures:
        return lack.free


def _holders(
    state: State, node: TreeNode, lack: Lack, free: int, gathered: Gathered
) -> tuple[tuple[Holder, ...], bool]:
    """Return the workloads that must end so that the request fits, the soonest first, and whether these are enough.

    A workload whose end frees nothing for the node is left out, and so are all others of its queue: what they hold is
    not lent, or the node may not borrow it.
    """
    tree, column = node.tree, lack.column
    usage, found, useless = list(tree.usage), list[Holder](), set[TreeNode]()
    for holder, where in _ranked(state, node, lack, free, gathered):
        if free >= lack.asked or len(found) == MAX_HOLDERS:
            break
        if where in useless:
            continue
        tree.remove(where, ((column, holder.amount),), usage)
        freed = _free(state, tree, node.base + column, usage, lack)
        if freed > free:
            found.append(holder)
            free = freed
        else:
            useless.add(where)
    return tuple(found), free >= lack.asked


def _ranked(state: State, node: TreeNode, lack: Lack, free: int, gathered: Gathered) -> Sequence[Held]:
    """Return who holds quota that may be of use to a node, the soonest to end first; unknown ends come last."""
    tree, column = node.tree, lack.column
    within = _limiting(state, node, column, free)
    if (within, column) not in gathered.held:
        lending = (q for q in state.by_tree[tree] if within in q.node.path and _lends(q.node, column))
        gathered.held[within, column] = sorted((held for q in lending for held in _held(q, column)), key=_soonest)
    ranked = gathered.held[within, column]
    if _lends(node, column):
        return ranked
    return sorted([*_held(state.by_queue[node.name], column), *ranked], key=_soonest)


def _limiting(state: State, node: TreeNode, column: int, free: int) -> TreeNode:
    """Return the node that limits what a queue has free: what ends outside of its subtree frees nothing."""
    tree, rules = node.tree, state.rules
    assert rules is not None
    for at, below in enumerate(node.path[:-1]):
        left = MAX_QUOTA
        try:
            for cell in (tree.cells[each.base + column] for each in reversed(node.path[: at + 1])):
                left = rules.available(cell, tree.usage[cell.at], left)
        except rules.failures:
            break
        if left == free:
            return below
    return node.path[-1]


def _lends(node: TreeNode, column: int) -> bool:
    """Return whether a queue uses more than it keeps for itself, so that others have less."""
    at = node.base + column
    return node.tree.usage[at] > node.tree.cells[at].guaranteed


def _held(pending_queue: PendingQueue, column: int) -> Iterator[Held]:
    for entry in pending_queue.holders.values():
        if (holder := _holder(entry, pending_queue, column)).amount > 0:
            yield holder, pending_queue.node


def _soonest(held: Held) -> tuple[bool, int, str]:
    holder, _ = held
    return holder.ends is None, holder.ends or 0, holder.workload


def _holder(entry: Entry, pending_queue: PendingQueue, column: int) -> Holder:
    run, admission = entry.workload.run_time, entry.admission
    ends = None if run is None or admission is None else admission.reserved_at + run
    return Holder(entry.key, pending_queue.queue.name, sum(a for c, a in entry.amounts if c == column), ends)
