"""Compares the starts and preemptions of another queue controller (Kueue) with what Sluice would have decided. Pure.

Its input are the records of a journal in mode `external`, whose core decides and never writes. Before each start by the
other queue, Sluice decides about the same state, so one difference does not cause the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from webhook.journal.heading import Decider
from webhook.journal.journal import Journal
from webhook.journal.records import Begin, Decided, Record, decided
from webhook.journal.writer import JournalWriter
from webhook.kube.condition_types import PREEMPTED
from webhook.queue.decisions import Admitted, Decisions
from webhook.queue.events import Event, WorkloadChanged, WorkloadGone
from webhook.queue.model import Workload, is_admissible
from webhook.queue.rules import Rules
from webhook.queue.state import State

TOLERANCE: Final = 5_000
"""Decisions that differ by less (milliseconds) count as equal, whichever was earlier.

The rounds of two queues do not begin together, and a decision of the other is seen when it was written, not when it was
made.
"""


class ComparedKind(StrEnum):
    """What is compared."""

    START = "start"
    PREEMPTION = "preemption"


class Agreement(StrEnum):
    """How Sluice compares: `better` if it would have started the job earlier, `worse` if it would not start it now."""

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


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A start that Sluice would have made in each round from `since` to `last`, in milliseconds."""

    since: int
    last: int
    made: Admitted


class StartComparison:
    """Follows records; keeps what waits, and since when Sluice would have started or preempted each workload."""

    def __init__(self) -> None:
        self._waiting: set[str] = set()
        self._preempted: set[str] = set()
        self._victims: dict[str, int] = {}
        """When Sluice would last have preempted a workload, until the tolerance has passed."""
        self._wanted: dict[str, _Wanted] = {}
        """The starts that Sluice would have made, until the tolerance has passed; `last` is `_at` if it still would.

        Those of the last round but one are kept as well, until all parts of this round are known.
        """
        self._at = self._before = 0
        """The times of the last round and of the one before it."""

    def wanted(self) -> list[Compared]:
        """Return the workloads that Sluice would have started some time ago and that still wait."""
        late = [key for key, wanted in self._wanted.items() if key in self._waiting and self._is_late(wanted)]
        return [self._start(key, self._wanted[key], "still waits") for key in late]

    def record(self, record: Record) -> Compared | None:
        """Process a record of a journal. Return the comparison that it completes."""
        match record:
            case Begin():
                self.begin(record.snapshot.workloads)
            case Decided():
                self.decided(record)
            case _:
                return self.event(record)
        return None

    def begin(self, workloads: Iterable[Workload]) -> None:
        """Restart from these facts: a new file begins, or another replica writes."""
        self._waiting = set()
        self._preempted = set()
        for workload in workloads:
            self._note(workload)

    def decided(self, made: Decided) -> None:
        """Note what Sluice would do now; all parts of a round have the same time."""
        now, oldest = made.now, made.now - TOLERANCE
        if now != self._at:
            self._before = self._at
        kept = min(oldest, self._before)  # a later part of this round may say that it still would
        asked = {}
        for admitted in made.admitted:
            before = self._wanted.get(admitted.workload)
            since = before.since if before is not None and before.last >= self._before else now
            asked[admitted.workload] = _Wanted(since, now, admitted)
        self._wanted = {key: wanted for key, wanted in self._wanted.items() if wanted.last >= kept} | asked
        self._victims = {key: at for key, at in self._victims.items() if at >= oldest}
        self._victims |= {p.workload: now for p in made.preempted}
        self._at = now

    def event(self, event: Event) -> Compared | None:
        """Note an event. Return the comparison if it is a start, a preemption, or a deletion before the start."""
        match event:
            case WorkloadChanged(workload):
                compared = self._changed(workload)
                self._note(workload)
                return compared
            case WorkloadGone(key):
                waited, wanted = key in self._waiting, self._wanted.pop(key, None)
                self._waiting.discard(key)
                self._preempted.discard(key)
                if waited and wanted is not None and self._is_late(wanted):
                    return self._start(key, wanted, "deleted before it started")
        return None

    def _note(self, workload: Workload) -> None:
        """Remember whether a workload waits or holds quota."""
        key = workload.key
        waits = is_admissible(workload)
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
            wanted = self._wanted.get(key)
            if wanted is None or wanted.last < self._at - TOLERANCE:
                return Compared(
                    self._at, ComparedKind.START, key, held.cluster_queue, Agreement.WORSE, 0, "would have waited"
                )
            return self._start(key, wanted, _difference(wanted.made, workload))
        if workload.evicted and workload.evicted_reason == PREEMPTED and key not in self._preempted:
            same = key in self._victims
            detail = "" if same else "would not have been preempted"
            outcome = Agreement.EQUAL if same else Agreement.WORSE
            return Compared(self._at, ComparedKind.PREEMPTION, key, held.cluster_queue, outcome, 0, detail)
        return None

    def _is_late(self, wanted: _Wanted) -> bool:
        """Whether Sluice would start it now, and would have done so before the tolerance."""
        return wanted.last == self._at and self._at - wanted.since > TOLERANCE

    def _start(self, key: str, wanted: _Wanted, detail: str) -> Compared:
        late, queue = self._is_late(wanted), wanted.made.cluster_queue
        outcome, earlier = (Agreement.BETTER, self._at - wanted.since) if late else (Agreement.EQUAL, 0)
        return Compared(self._at, ComparedKind.START, key, queue, outcome, earlier, detail)


def _difference(made: Admitted, workload: Workload) -> str:
    """Return how the placement of a job by the other queue differs from that of Sluice."""
    assert workload.admission is not None
    theirs = {pods.name: dict(pods.flavors) for pods in workload.admission.pod_set_assignments}
    ours = {pods.name: dict(pods.flavors) for pods in made.pod_sets}
    if ours == theirs:
        return ""
    flavors = sorted({flavor for pods in ours.values() for flavor in pods.values()})
    return f"would have been assigned {', '.join(flavors)}"


class ComparingJournal(Journal):
    """A journal of a core that only watches; `report` is called with each comparison."""

    def __init__(
        self, writer: JournalWriter, decider: Callable[[], Decider], budget: int, report: Callable[[Compared], None]
    ) -> None:
        super().__init__(writer, decider, budget)
        self._comparison, self._report, self._begun = StartComparison(), report, False

    def round(self, state: State, in_force: Rules, now: int) -> None:
        """Begin where the facts were not known yet."""
        super().round(state, in_force, now)
        if not self._begun:
            self._begun = True
            self._comparison.begin(state.snapshot().workloads)

    def event(self, event: Event) -> None:
        """Note a change, and compare."""
        super().event(event)
        if (compared := self._comparison.event(event)) is not None:
            self._report(compared)

    def decided(self, now: int, made: Decisions) -> None:
        """Note what would be decided."""
        super().decided(now, made)
        self._comparison.decided(decided(now, made))
