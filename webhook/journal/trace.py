"""The jobs of a journal that ran, as a trace needs them: when each arrived, and for how long it ran."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.journal.follow import JournalStep, WorkloadTransition
from webhook.queue.events import AdmissionUnwritten
from webhook.queue.model import Workload


@dataclass(slots=True)
class TracedRun:
    """A workload as it ran; times in milliseconds since the epoch.

    `run_time` is how long its last run took, from its admission, as a trace has it: a simulation starts a preempted job
    again from the beginning, so what it had run before is no part of it.
    """

    workload: Workload
    arrived: int
    since: int | None = None
    run_time: int = 0

    def start(self, at: int) -> None:
        """Begin a run, unless it runs already."""
        if self.since is None:
            self.since = at

    def stop(self, at: int) -> None:
        """End a run. If the clock was put back meanwhile, its time is unknown and counts as none."""
        if self.since is not None:
            self.run_time = max(0, at - self.since)
            self.since = None


class TracedRuns:
    """Follows the steps of a journal; keeps the workloads that ran and ended."""

    def __init__(self) -> None:
        self._going: dict[str, TracedRun] = {}
        self._ended: list[TracedRun] = []

    def ran(self) -> list[TracedRun]:
        """Return those that ran, by arrival."""
        return sorted((run for run in self._ended if run.run_time), key=lambda run: (run.arrived, run.workload.key))

    def take(self, step: JournalStep) -> None:
        """Take note of a step."""
        if step.begin is not None and step.anew:
            self._going = {workload.key: _traced(workload, step.at) for workload in step.begin.snapshot.workloads}
        for change in step.changes:
            if isinstance(change, WorkloadTransition):
                self._change(change, step.at)
        if (made := step.decided) is None:
            return
        for evicted in made.evicted:
            if (run := self._going.get(evicted.workload)) is not None:
                run.stop(made.now)
        for admitted in (*made.ready, *made.admitted):
            if admitted.admitted and (run := self._going.get(admitted.workload)) is not None:
                run.start(made.now)

    def _change(self, change: WorkloadTransition, at: int) -> None:
        before, after = change.before, change.after
        if after is None:
            if before is not None:
                self._end(before.key, at)
        elif before is None:
            self._going[after.key] = _traced(after, at)
        elif after.finished:
            self._end(after.key, at)
        elif (run := self._going.get(after.key)) is not None:
            if isinstance(change.cause, AdmissionUnwritten):
                run.since = None  # it did not run
            elif after.admission is None:
                run.stop(at)
            elif change.is_admission:
                run.start(at if before.admission is not None else after.admission.reserved_at or at)

    def _end(self, key: str, at: int) -> None:
        if (run := self._going.pop(key, None)) is not None:
            run.stop(at)
            self._ended.append(run)


def _traced(workload: Workload, at: int) -> TracedRun:
    """Return a workload as it comes, or as a journal begins; it has run since it got its quota if it is admitted."""
    held = workload.admission if workload.admitted and not workload.finished else None
    return TracedRun(workload, workload.created or at, held.reserved_at or at if held is not None else None)
