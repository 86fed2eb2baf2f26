"""The memory of a state: what it knows of the past that is not in the objects.

It holds which classes are parked and why, how far each search for flavors came, which workloads wait for victims
(`Workload.first`), and decayed usage (in the histories of a snapshot). A state without it looks at more heads and
decides by the same rules; `docs/reference/queue-memory.md` says what changes each part and what its loss may change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webhook.queue.model import Snapshot
from webhook.queue.pending.queue import Entry, EquivalenceClass, FlavorProgress, HeadVerdict
from webhook.queue.rules import HeadOutcome
from webhook.queue.state import State


@dataclass(frozen=True, slots=True)
class Attempt:
    """The verdict on a workload when it was last looked at, and where its next search for flavors resumes."""

    verdict: HeadVerdict | None
    progress: FlavorProgress | None


@dataclass(frozen=True, slots=True)
class ParkedClass:
    """Why a class is or was parked, and what wakes it; the fields are those of `EquivalenceClass`."""

    verdict: HeadVerdict | None
    watch: tuple[tuple[int, int], ...]
    preempts: bool
    reclaims: bool
    barred: bool
    volatile: bool


@dataclass(frozen=True, slots=True)
class Memory:
    """A state's memory at a time (milliseconds). Classes are named by one of their workloads.

    `cycle` is the number of the last cycle, `generations` counts the changes of each queue, so that out-of-date search
    progress is recognized. `woken` are classes that were woken only because quota became available: if it is gone
    again, they are not looked at. `denied` are classes that an `admit` rule denied and whose first workload stays at
    the head. `unsettled` are the trees that changed since the last decision, each named by one of its queues.
    """

    now: int = 0
    cycle: int = 0
    generations: Mapping[str, int] = field(default_factory=dict)
    attempts: Mapping[str, Attempt] = field(default_factory=dict)
    parked: Mapping[str, ParkedClass] = field(default_factory=dict)
    woken: Mapping[str, ParkedClass] = field(default_factory=dict)
    denied: Mapping[str, HeadVerdict | None] = field(default_factory=dict)
    unsettled: frozenset[str] = frozenset()

    def unknown_to(self, snapshot: Snapshot) -> str:
        """Return what of it is about no ClusterQueue and no workload of a snapshot that could wait, "" if nothing."""
        queues = {queue.name for queue in snapshot.cluster_queues}
        waiting = {workload.key for workload in snapshot.workloads if workload.admission is None}
        named = sorted({*self.generations, *self.unsettled} - queues)
        keys = sorted({*self.attempts, *self.parked, *self.woken, *self.denied} - waiting)
        return f"ClusterQueue {named[0]}" if named else f"the pending workload {keys[0]}" if keys else ""


def memory_of(state: State) -> Memory:
    """Return the memory of a state."""
    assert state.rules is not None
    state.bind(state.rules)
    for pending_queue in state.changes.wake(state.rules, state.by_tree):
        state.ready[pending_queue.node.tree] = None
    entries = [e for pending_queue in state.by_queue.values() for e in pending_queue.waiting()]
    return Memory(
        state.changes.now,
        state.cycle,
        {name: pending_queue.generation for name, pending_queue in state.by_queue.items()},
        {e.key: Attempt(e.verdict, e.progress) for e in entries if e.verdict is not None or e.progress is not None},
        {
            equivalence.any().key: _parked(equivalence)
            for pending_queue in state.by_queue.values()
            for equivalence in pending_queue.parked
        },
        {equivalence.any().key: _parked(equivalence) for equivalence in state.changes.by_watch},
        {equivalence.any().key: equivalence.verdict for equivalence in state.changes.denied if not equivalence.parked},
        frozenset(state.by_tree[tree][0].queue.name for tree in state.ready if state.by_tree[tree]),
    )


def remember(state: State, memory: Memory) -> None:
    """Set the memory of a state that was just built from the same facts."""
    state.cycle = memory.cycle
    for name, generation in memory.generations.items():
        state.by_queue[name].generation = generation
    for key, attempt in memory.attempts.items():
        entry = state.entries[key]
        entry.verdict, entry.progress = attempt.verdict, attempt.progress
    state.changes.clear()
    for key, parked in memory.parked.items():
        _park(state, state.entries[key], parked)
    for key, woken in memory.woken.items():
        state.changes.by_watch.add(_recalled(state.entries[key], woken))
    for key, verdict in memory.denied.items():
        equivalence = state.entries[key].equivalence
        assert equivalence is not None
        equivalence.verdict = verdict
        state.note_waiting(equivalence)
    state.ready = {state.by_queue[name].node.tree: None for name in memory.unsettled}


def _parked(equivalence: EquivalenceClass) -> ParkedClass:
    return ParkedClass(
        equivalence.verdict,
        equivalence.watch,
        equivalence.preempts,
        equivalence.reclaims,
        equivalence.barred,
        equivalence.volatile,
    )


def _park(state: State, entry: Entry, parked: ParkedClass) -> None:
    if parked.verdict is not None and parked.verdict.outcome == HeadOutcome.RULE_FAILED:
        state.park_alone(entry, parked.verdict)
        return
    equivalence = _recalled(entry, parked)
    equivalence.pending_queue.park(equivalence)
    state.note_waiting(equivalence)


def _recalled(entry: Entry, parked: ParkedClass) -> EquivalenceClass:
    """Return the class of an entry as remembered."""
    equivalence = entry.equivalence
    assert equivalence is not None
    equivalence.verdict, equivalence.watch = parked.verdict, parked.watch
    equivalence.preempts, equivalence.reclaims = parked.preempts, parked.reclaims
    equivalence.barred, equivalence.volatile = parked.barred, parked.volatile
    return equivalence
