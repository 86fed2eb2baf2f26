"""When a pending workload starts: its cohort tree is run forward on a copy, over the run times that are known.

Work without a run time never ends here, and nothing new arrives, so an estimate is late rather than early. Bounded by
the workloads that are copied and the heads that are looked at, never by the clock: the same facts give the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import Final

from webhook.queue.decisions import Admitted, Pending, Reason
from webhook.queue.explain import explain, jobs_ahead, no_run_time
from webhook.queue.model import Snapshot, Workload
from webhook.queue.pending.queue import Entry, PendingQueue, Status
from webhook.queue.quota.accounting import local_of
from webhook.queue.report import SILENT, Reporter
from webhook.queue.rules import Rules
from webhook.queue.state import State
from webhook.queue.virtual_time import VirtualTime, Witness
from webhook.queue.workload_facts import facts_of


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much a forecast may cost: `jobs` that are copied, and `heads` that are looked at."""

    jobs: int = 2_000
    heads: int = 10_000


ON_DEMAND: Final = Bounds()
"""Where somebody asks about one job and waits for the answer."""
LATER: Final = 20
"""So many that wait behind it have a part in a forecast: they may fit where it does not yet."""
BEHIND_ANOTHER: Final = frozenset({Reason.NOT_CONSIDERED, Reason.BEHIND_HEAD})


@dataclass(frozen=True, slots=True)
class Start:
    """When a workload starts (milliseconds), or why that is not known: `unknown` in words, `job` is named in them."""

    at: int | None
    unknown: str = ""
    job: str = ""


def with_start(
    state: State, told: Pending, now: int, bounds: Bounds = ON_DEMAND, reporter: Reporter = SILENT
) -> Pending:
    """Give an explanation with the estimated start, for work at whatever place of its queue; the state stays as it is.

    `reporter` hears of the heads on the way; what it raises ends it.
    """
    if not told.position:
        return told
    found = forecast(state, state.entries[told.workload].workload, now, bounds, reporter)
    return replace(told, start=found.at, start_unknown=found.unknown, start_job=found.job)


def forecast(
    state: State, workload: Workload, now: int, bounds: Bounds = ON_DEMAND, reporter: Reporter = SILENT
) -> Start:
    """Estimate when a workload starts that waits, or would wait if it came now; the state stays as it is."""
    rules, local = state.rules, state.local_queues.get(local_of(workload))
    queue = state.by_queue.get(local.cluster_queue) if local is not None else None
    if rules is None or queue is None:
        return Start(None, "it is in no queue")
    queues = concerned(state, queue)
    held = [entry for one in queues for entry in one.holders.values()]
    each = max(0, bounds.jobs - len(held)) // len(queues)
    ahead = _ahead(state, queue, workload)
    if ahead >= each:
        return Start(None, jobs_ahead(ahead) if ahead else f"more than {bounds.jobs:,} jobs run in its cohort")
    work = {entry.key: entry for one in queues for entry in _front(one, min(each, ahead + LATER))}
    work |= {entry.key: entry for entry in held}
    facts = facts_at(state, queues, (entry for entry in work.values() if entry.key != workload.key))
    facts = replace(facts, workloads=(*facts.workloads, _calm(workload)))
    return _Forward(facts, rules, (workload.key,), bounds.heads, reporter).run(now)[workload.key]


def facts_at(state: State, queues: Iterable[PendingQueue], work: Iterable[Entry]) -> Snapshot:
    """Give the definitions of some queues, with some of what runs and waits in them: what `starts` goes on from."""
    defined = state.accounting.kept(state.defined(tuple(_calm(facts_of(entry)) for entry in work)))
    names = {one.queue.name for one in queues}
    return replace(defined, cluster_queues=tuple(q for q in defined.cluster_queues if q.name in names))


def starts(facts: Snapshot, rules: Rules, keys: Iterable[str], now: int, heads: int) -> dict[str, Start]:
    """Estimate when each of some workloads starts, all of which wait in these facts; `heads` are looked at, at most."""
    return _Forward(facts, rules, keys, heads, SILENT).run(now)


def concerned(state: State, queue: PendingQueue) -> list[PendingQueue]:
    """Give the queues that have a part in it: those of the tree, or all where rules look at the usage of all."""
    assert state.rules is not None
    everywhere = any(name.startswith("facts") for names in state.rules.reads.values() for name in names)
    return list(state.by_queue.values()) if everywhere else list(state.by_tree[queue.node.tree])


def _ahead(state: State, queue: PendingQueue, workload: Workload) -> int:
    """Count who waits before a workload in its queue; all where it does not wait there yet."""
    entry = state.entries.get(workload.key)
    if entry is None or entry.pending_queue is not queue or entry.status != Status.WAITING:
        return sum(len(equivalence.members) for equivalence in queue.classes.values())
    return queue.before(queue.place_of()(entry))


def _front(queue: PendingQueue, most: int) -> list[Entry]:
    return nsmallest(most, queue.waiting(), key=queue.place_of())


def _calm(workload: Workload) -> Workload:
    """Give a workload whose pods are ready as soon as it starts: how long that takes nothing says."""
    if workload.pods_ready and not workload.unready_since:
        return workload
    return replace(workload, pods_ready=True, unready_since=0)


class _Forward(Witness):
    """One run forward, until some workloads have started."""

    def __init__(self, facts: Snapshot, rules: Rules, keys: Iterable[str], heads: int, reporter: Reporter) -> None:
        self.waiting, self.at = set(keys), dict[str, int]()
        self.time = VirtualTime(State.from_snapshot(facts), rules, self, reporter, heads)

    def admitted(self, decision: Admitted, now: int) -> None:
        if decision.workload in self.waiting:
            self.waiting.discard(decision.workload)
            self.at[decision.workload] = now

    def run(self, now: int) -> dict[str, Start]:
        self._begin(now)
        self.time.settle(now)
        first = {key: told.position for key in self.waiting if (told := explain(self.time.state, key)) is not None}
        while self.waiting and self.time.go_on():
            pass
        found = {key: Start(at) for key, at in self.at.items()}
        return found | {key: self._unknown(key, first.get(key, 0)) for key in self.waiting}

    def _unknown(self, key: str, position: int) -> Start:
        told = explain(self.time.state, key)
        if self.time.left <= 0 or told is None:
            return Start(None, jobs_ahead(max(1, position - 1)))
        return _blocked(self.time.state, told)

    def _begin(self, now: int) -> None:
        """Let what runs end in its time; what is being evicted has stopped."""
        time = self.time
        time.state.bind(time.rules, now)
        for entry in list(time.state.entries.values()):
            run_time, admission = entry.workload.run_time, entry.admission
            if admission is None or entry.victim is None:
                continue
            if entry.victim.evicted:
                time.evict(entry.key)
            elif run_time is not None:
                time.run(entry.key, max(now, admission.reserved_at + run_time))


def _blocked(state: State, told: Pending) -> Start:
    """Say why a workload does not start when all known ends are over: whose is not known, or what the rules say."""
    if told.reason in BEHIND_ANOTHER and told.position > 1:
        head = state.by_queue[told.cluster_queue].head()
        told = (explain(state, head.key) if head is not None else None) or told
    holder = next((h for s in told.shortages for h in s.holders if h.ends is None), None)
    if holder is not None:
        return Start(None, no_run_time(holder.workload), holder.workload)
    return Start(None, told.message or told.reason.value)
