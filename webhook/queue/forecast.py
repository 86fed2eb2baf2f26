"""Estimated start of a pending workload: a copy of its cohort tree is run forward in virtual time.

Workloads without a run time never end and nothing new arrives, so an estimate is late rather than early. Its cost is
bounded by workloads copied and heads looked at, not by the clock: the same facts give the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from webhook.queue.decisions import Admitted, Pending, Reason
from webhook.queue.definitions import local_of
from webhook.queue.explain import explain, jobs_ahead, no_run_time
from webhook.queue.model import LONGEST_RUN, Snapshot, Workload
from webhook.queue.pending.queue import Entry, PendingQueue, Status
from webhook.queue.report import SILENT, Reporter
from webhook.queue.rules import Rules
from webhook.queue.state import State
from webhook.queue.virtual_time import VirtualTime, Witness
from webhook.queue.workload_facts import facts_of


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a forecast: the number of `jobs` copied and of `heads` looked at."""

    jobs: int = 2_000
    heads: int = 10_000


ON_DEMAND: Final = Bounds()
"""For a request about one job that waits for the answer."""
JOBS_BEHIND: Final = 20
"""How many workloads behind it are part of a forecast: they may fit where it does not fit yet."""
TOO_FAR: Final = "it is more than 100 years ahead"
BEHIND_ANOTHER: Final = frozenset({Reason.NOT_CONSIDERED, Reason.BEHIND_HEAD})


@dataclass(frozen=True, slots=True)
class Start:
    """When a workload starts (milliseconds), or why that is unknown: a message and the `job` that it names.

    `blocked` is the explanation after all known ends, where that says why.
    """

    at: int | None
    unknown: str = ""
    job: str = ""
    blocked: Pending | None = None


def with_start(
    state: State, pending: Pending, now: int, bounds: Bounds = ON_DEMAND, reporter: Reporter = SILENT
) -> Pending:
    """Return an explanation with the estimated start, for any position in the queue. The state is not changed.

    `reporter` is called for each head on the way; an exception from it ends the forecast.
    """
    if not pending.position:
        return pending
    start = forecast(state, state.entries[pending.workload].workload, now, bounds, reporter)
    return replace(
        pending,
        start=start.at,
        start_unknown=start.unknown,
        start_job=start.job,
        start_blocked=start.blocked,
    )


def forecast(
    state: State, workload: Workload, now: int, bounds: Bounds = ON_DEMAND, reporter: Reporter = SILENT
) -> Start:
    """Estimate when a workload starts that waits, or that would wait if it arrived now. The state is not changed."""
    rules, local = state.rules, state.local_queues.get(local_of(workload))
    queue = state.by_queue.get(local.cluster_queue) if local is not None else None
    if rules is None or queue is None:
        return Start(None, "it is in no queue")
    queues = concerned(state, queue)
    held = [entry for each in queues for entry in each.holders.values()]
    most = max(0, bounds.jobs - len(held)) // len(queues)
    ahead = _ahead(state, queue, workload)
    if ahead >= most:
        return Start(None, jobs_ahead(ahead) if ahead else f"more than {bounds.jobs:,} jobs run in its cohort")
    work = {entry.key: entry for each in queues for entry in each.first(each.heads(), min(most, ahead + JOBS_BEHIND))}
    work |= {entry.key: entry for entry in held}
    facts = facts_at(state, queues, (entry for entry in work.values() if entry.key != workload.key))
    facts = replace(facts, workloads=(*facts.workloads, workload))
    return _Forward(facts, rules, (workload.key,), bounds.heads, reporter).run(now)[workload.key]


def facts_at(state: State, queues: Iterable[PendingQueue], work: Iterable[Entry]) -> Snapshot:
    """Return a snapshot of some queues, with some of the running and waiting workloads."""
    defined = state.accounting.kept(state.defined(tuple(map(facts_of, work))))
    names = {queue.queue.name for queue in queues}
    return replace(defined, cluster_queues=tuple(q for q in defined.cluster_queues if q.name in names))


def starts(facts: Snapshot, rules: Rules, keys: Iterable[str], now: int, heads: int) -> dict[str, Start]:
    """Estimate when each of some waiting workloads of a snapshot starts; at most `heads` heads are looked at."""
    return _Forward(facts, rules, keys, heads, SILENT).run(now)


def concerned(state: State, queue: PendingQueue) -> list[PendingQueue]:
    """Return the queues to copy: those of the tree, or all if rules read usage over all queues."""
    assert state.rules is not None
    everywhere = any(name.startswith("facts") for names in state.rules.reads.values() for name in names)
    return list(state.by_queue.values()) if everywhere else list(state.by_tree[queue.node.tree])


def _ahead(state: State, queue: PendingQueue, workload: Workload) -> int:
    """Return how many wait before a workload in its queue; all of them if it is not in the queue yet."""
    entry = state.entries.get(workload.key)
    if entry is None or entry.pending_queue is not queue or entry.status != Status.WAITING:
        return sum(len(equivalence.members) for equivalence in queue.classes.values())
    return queue.before(queue.place_of()(entry))


def _calm(workload: Workload) -> Workload:
    """Return a workload whose pods are ready as soon as it starts: how long they take is unknown."""
    if workload.pods_ready and not workload.unready_since:
        return workload
    return replace(workload, pods_ready=True, unready_since=0)


class _Forward(Witness):
    """One run forward, until some workloads have started."""

    def __init__(self, facts: Snapshot, rules: Rules, keys: Iterable[str], heads: int, reporter: Reporter) -> None:
        self.waiting, self.at = set(keys), dict[str, int]()
        facts = replace(facts, workloads=tuple(map(_calm, facts.workloads)))
        self.time = VirtualTime(State.from_snapshot(facts), rules, self, reporter, heads)
        self._until = 0

    def admitted(self, decision: Admitted, now: int) -> None:
        if decision.workload in self.waiting:
            self.waiting.discard(decision.workload)
            self.at[decision.workload] = now

    def run(self, now: int) -> dict[str, Start]:
        self._begin(now)
        self.time.settle(now)
        positions = {key: p.position for key in self.waiting if (p := explain(self.time.state, key)) is not None}
        while self.waiting and self.time.now <= self._until and self.time.go_on():
            pass
        starts = {key: Start(at) for key, at in self.at.items()}
        return starts | {key: self._unknown(key, positions.get(key, 0)) for key in self.waiting}

    def _unknown(self, key: str, position: int) -> Start:
        if self.time.now > self._until:
            return Start(None, TOO_FAR)
        pending = explain(self.time.state, key)
        if self.time.left <= 0 or pending is None:
            return Start(None, jobs_ahead(max(1, position - 1)))
        return _blocked(self.time.state, pending)

    def _begin(self, now: int) -> None:
        """Schedule the end of running workloads; those being evicted have already stopped."""
        time, self._until = self.time, now + LONGEST_RUN
        time.now = now
        time.state.bind(time.rules, now)
        for entry in list(time.state.entries.values()):
            run_time, admission = entry.workload.run_time, entry.admission
            if admission is None or entry.victim is None:
                continue
            if entry.victim.evicted:
                time.evict(entry.key, entry.workload.evicted_reason)
            elif run_time is not None:
                time.run(entry.key, max(now, admission.reserved_at + run_time))


def _blocked(state: State, pending: Pending) -> Start:
    """Return why a workload has not started after all known ends: a holder without run time, or the rules' reason."""
    if pending.reason in BEHIND_ANOTHER and pending.position > 1:
        head = state.by_queue[pending.cluster_queue].head()
        pending = (explain(state, head.key) if head is not None else None) or pending
    holder = next((h for s in pending.shortages for h in s.holders if h.ends is None), None)
    if holder is not None:
        return Start(None, no_run_time(holder.workload), holder.workload)
    return Start(None, blocked=pending)
