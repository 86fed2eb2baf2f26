"""What somebody else's queue did, held against what ours would have done: each start and each preemption. Pure.

Fed with the records of a journal whose core decides and never writes (mode `external`). Before each start of the other
queue ours decides about the very state it started from, so one difference does not make the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from webhook.journal.journal import Decider, Journal
from webhook.journal.records import Begin, Decided, Record, decided
from webhook.journal.writer import JournalWriter
from webhook.queue.decisions import Admitted, Decisions
from webhook.queue.events import Event, WorkloadChanged, WorkloadGone
from webhook.queue.model import Workload
from webhook.queue.rules import Rules
from webhook.queue.state import State

TOLERANCE: Final = 5_000
"""Milliseconds by which two queues may differ that decide the same: their rounds do not begin together."""
PREEMPTED: Final = "Preempted"
"""The reason of an eviction for another workload."""


class ComparedKind(StrEnum):
    """What is compared."""

    START = "start"
    PREEMPTION = "preemption"


class Agreement(StrEnum):
    """How ours does beside the other queue: `better` would have started a job earlier, `worse` not now."""

    EQUAL = "equal"
    BETTER = "better"
    WORSE = "worse"


@dataclass(frozen=True, slots=True)
class Compared:
    """One start or preemption by the other queue; `at` and `earlier` in milliseconds, `detail` says what differs."""

    at: int
    what: ComparedKind
    workload: str
    queue: str
    outcome: Agreement
    earlier: int = 0
    detail: str = ""


class StartComparison:
    """Follows records; remembers who waits, and who would have been started or preempted since when."""

    def __init__(self, tolerance: int = TOLERANCE) -> None:
        self._tolerance = tolerance
        self._waiting: set[str] = set()
        self._preempted: set[str] = set()
        self._victims: set[str] = set()
        self._wanted: dict[str, tuple[int, Admitted]] = {}
        self._at = 0

    def wanted(self) -> list[Compared]:
        """Return those that ours would have started for a while, and that still wait."""
        rows = ((key, since, made) for key, (since, made) in self._wanted.items() if key in self._waiting)
        late = ((key, made, self._at - since) for key, since, made in rows if self._at - since > self._tolerance)
        return [self._start(key, made, late_by, "still waits") for key, made, late_by in late]

    def record(self, record: Record) -> Compared | None:
        """Take a record of a journal; give what it decides between the two queues."""
        match record:
            case Begin():
                self.begin(record.snapshot.workloads)
            case Decided():
                self.decided(record)
            case _:
                return self.heard(record)
        return None

    def begin(self, workloads: Iterable[Workload]) -> None:
        """Start from these facts: another file begins, or another replica writes."""
        self._waiting = set()
        self._preempted = set()
        for workload in workloads:
            self._note(workload)

    def decided(self, made: Decided) -> None:
        """Take what ours would do now; parts of one round have one time."""
        kept = self._wanted if made.now == self._at else {}
        self._victims = {p.workload for p in made.preempted} | (self._victims if made.now == self._at else set())
        asked = {a.workload: (self._wanted.get(a.workload, (made.now, a))[0], a) for a in made.admitted}
        self._wanted, self._at = {**kept, **asked}, made.now

    def heard(self, event: Event) -> Compared | None:
        """Take a change of the facts."""
        match event:
            case WorkloadChanged(workload):
                found = self._changed(workload)
                self._note(workload)
                return found
            case WorkloadGone(key):
                waited, (since, made) = key in self._waiting, self._wanted.pop(key, (self._at, None))
                self._waiting.discard(key)
                self._preempted.discard(key)
                if waited and made is not None and self._at - since > self._tolerance:
                    return self._start(key, made, self._at - since, "deleted before it started")
        return None

    def _note(self, workload: Workload) -> None:
        """Remember where a workload stands."""
        key = workload.key
        waits = workload.admission is None and workload.active and not workload.finished
        (self._waiting.add if waits else self._waiting.discard)(key)
        preempted = workload.evicted and workload.evicted_reason == PREEMPTED
        (self._preempted.add if preempted else self._preempted.discard)(key)
        if not waits:
            self._wanted.pop(key, None)

    def _changed(self, workload: Workload) -> Compared | None:
        key, held = workload.key, workload.admission
        if held is None:
            return None
        if key in self._waiting:
            since, made = self._wanted.get(key, (self._at, None))
            if made is None:
                return Compared(
                    self._at, ComparedKind.START, key, held.cluster_queue, Agreement.WORSE, 0, "would have waited"
                )
            return self._start(key, made, self._at - since, _difference(made, workload))
        if workload.evicted and workload.evicted_reason == PREEMPTED and key not in self._preempted:
            same = key in self._victims
            detail = "" if same else "would not have been preempted"
            outcome = Agreement.EQUAL if same else Agreement.WORSE
            return Compared(self._at, ComparedKind.PREEMPTION, key, held.cluster_queue, outcome, 0, detail)
        return None

    def _start(self, key: str, made: Admitted, earlier: int, detail: str) -> Compared:
        late = earlier > self._tolerance
        outcome = Agreement.BETTER if late else Agreement.EQUAL
        return Compared(self._at, ComparedKind.START, key, made.cluster_queue, outcome, earlier if late else 0, detail)


def _difference(made: Admitted, workload: Workload) -> str:
    """Say where the other queue put a job that ours would have put elsewhere."""
    assert workload.admission is not None
    theirs = {pods.name: dict(pods.flavors) for pods in workload.admission.pod_set_assignments}
    ours = {pods.name: dict(pods.flavors) for pods in made.pod_sets}
    if ours == theirs:
        return ""
    flavors = sorted({flavor for pods in ours.values() for flavor in pods.values()})
    return f"would have been assigned {', '.join(flavors)}"


class ComparingJournal(Journal):
    """A journal of a core that only watches; `told` hears of each comparison."""

    def __init__(
        self, writer: JournalWriter, decider: Callable[[], Decider], budget: int, told: Callable[[Compared], None]
    ) -> None:
        super().__init__(writer, decider, budget)
        self._comparison, self._told, self._begun = StartComparison(), told, False

    def round(self, state: State, in_force: Rules, now: int) -> None:
        """Begin where the facts were not known yet."""
        super().round(state, in_force, now)
        if not self._begun:
            self._begun = True
            self._comparison.begin(state.snapshot().workloads)

    def event(self, event: Event) -> None:
        """Note a change, and compare."""
        super().event(event)
        if (found := self._comparison.heard(event)) is not None:
            self._told(found)

    def decided(self, now: int, made: Decisions) -> None:
        """Note what would be decided."""
        super().decided(now, made)
        self._comparison.decided(decided(now, made))
