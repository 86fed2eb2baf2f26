"""The queue gate: judges a new job by the queue core, for `serve` and the offline tools alike.

It reads memory only and records nothing, so a dry run has no side effect. A job that can never fit is refused with the
numbers, or only warned of; a job that has to wait is allowed with a warning: why the core would not consider it now, or
its position; a job that can start is allowed without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from webhook.admission.gate import GateAnswer
from webhook.admission.position import position_of
from webhook.api.configuration.sections import QueueSettings
from webhook.api.job_to_workload import priority_of, workload_of
from webhook.api.shortage_sentence import sentence_of
from webhook.api.snapshot.reader import Reader
from webhook.jobs.job import Job
from webhook.kube.fields import at
from webhook.kube.quantity import QuantityError
from webhook.queue.cycle.nominate import refuse
from webhook.queue.flavors.request_plan import make_plan
from webhook.queue.forecast import Bounds, forecast
from webhook.queue.model import Workload
from webhook.queue.pending.impossible import impossible
from webhook.queue.pending.queue import PendingQueue
from webhook.queue.rules import Rules
from webhook.queue.state import State

Object = dict[str, Any]
NO_NAME: Final = "new"
LAST: Final = "~"
"""A uid that sorts after all others: among jobs of the same time the new one is last."""
IN_A_REVIEW: Final = Bounds(jobs=40, heads=100)
"""Limits of the forecast, about two milliseconds; with more jobs the warning has no expected start."""


class QueueObjects(Protocol):
    """The objects that determine the position of a job, besides the state of the core."""

    def local_queue(self, name: str, namespace: str) -> Object | None:
        """Return a LocalQueue, or None."""

    def local_queues(self, namespace: str) -> Iterable[Object]:
        """Return the LocalQueues of a namespace."""

    def limit_ranges(self, namespace: str) -> list[Object]:
        """Return the LimitRanges of a namespace."""

    def priority_classes(self) -> list[Object]:
        """Return the priority classes: WorkloadPriorityClasses before PriorityClasses."""


class DecidingCore(Protocol):
    """A queue core as the gate reads it: its state, and the rules in force."""

    @property
    def state(self) -> State:
        """The state as of the last round; read-only."""

    @property
    def rules(self) -> Rules:
        """The rules in force."""


class QueueGate:
    """Judges jobs by LocalQueues and the state of a core."""

    def __init__(
        self,
        objects: QueueObjects,
        core: DecidingCore,
        clock_ms: Callable[[], int],
        settings: QueueSettings | None = None,
        *,
        refuses: bool = True,
    ) -> None:
        """Take the settings by which the core counts requests; with `refuses`, jobs that can never fit are denied."""
        self._refuses = refuses
        self._objects, self._core, self._clock_ms = objects, core, clock_ms
        self._settings = settings or QueueSettings()

    def ask(self, job: Job, obj: dict[str, Any], namespace: str, dry_run: bool) -> GateAnswer:
        """Return whether the job can ever fit its queue, with warnings about its position."""
        name = f"{namespace}/{job.queue}"
        local = self._objects.local_queue(job.queue or "", namespace)
        if local is None:
            return _let_in(
                f"queue {name}: the LocalQueue does not exist{self._others(namespace)}; the job waits for it"
            )
        if (at(local, ("spec", "stopPolicy")) or "None") != "None":
            return _let_in(f"queue {name} is stopped; the job waits until it is resumed")
        target = str(at(local, ("spec", "clusterQueue")) or "")
        if not target:
            return _let_in(f"queue {name}: the LocalQueue names no ClusterQueue; the job waits for it")
        pending_queue = self._core.state.by_queue.get(target)
        if pending_queue is None:
            return _let_in(f"queue {name}: ClusterQueue {target} does not exist; the job waits for it")
        try:
            workload = self._workload(job, obj, namespace)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            told = error if isinstance(error, QuantityError) else "a field of its pod template has the wrong type"
            return GateAnswer(False, "Invalid", f"queue {name}: cannot make a pod of this job: {told}")
        if workload is None:
            return GateAnswer(allowed=True)
        try:
            return self._judge(name, workload, pending_queue)
        except self._core.rules.failures as error:
            return _let_in(f"queue {name}: {self._core.rules.failed(error)}")

    def _judge(self, name: str, workload: Workload, pending_queue: PendingQueue) -> GateAnswer:
        """Answer by what the core says of a workload. Raises what a rule raises that fails."""
        state, rules, now = self._core.state, self._core.rules, self._clock_ms()
        plan = make_plan(workload.pod_sets, pending_queue.node, state.flavors, rules)
        if (shortages := impossible(pending_queue, workload, plan, rules)) is not None:
            way_out = "request less, or use another queue" + self._others(workload.namespace, but=workload.queue_name)
            text = f"queue {name}: this job can never be admitted: {sentence_of(shortages)} ({way_out})"
            return GateAnswer(False, "Forbidden", text) if self._refuses else _let_in(text)
        if (refusal := refuse(state, workload, pending_queue, now)) is not None:
            return _let_in(f"queue {name}: {refusal.message}")
        place = position_of(state, pending_queue, workload, plan, rules, now)
        row = place.tightest
        if row is None or (place.fits and place.position == 1):
            return GateAnswer(allowed=True)
        return _let_in(f"queue {name}: position {place.position}, {row.text()}{self._start(workload)}")

    def _start(self, workload: Workload) -> str:
        """Return a text with the expected start of a pending job; "" if it is unknown or too expensive to compute."""
        try:
            start = forecast(self._core.state, workload, self._clock_ms(), IN_A_REVIEW).at
        except self._core.rules.failures:
            return ""
        return "" if start is None else f"; expected start {datetime.fromtimestamp(start / 1000, UTC):%Y-%m-%dT%H:%MZ}"

    def _workload(self, job: Job, obj: dict[str, Any], namespace: str) -> Workload | None:
        """Read the job as the core would if it were created now; None without pods.

        Raises AttributeError, KeyError, TypeError or ValueError for a malformed job.
        """
        if not job.pod_sets:
            return None
        metadata = {**(obj.get("metadata") or {}), "namespace": namespace}
        metadata["name"] = metadata.get("name") or metadata.get("generateName") or NO_NAME
        classes, ranges = self._objects.priority_classes(), self._objects.limit_ranges(namespace)
        labels = self._settings.copied_labels
        made = workload_of({**obj, "metadata": metadata}, job, priority_of(job, classes), ranges, labels)
        (workload,) = Reader([made, *ranges, *classes], settings=self._settings).snapshot().workloads
        return replace(workload, queued_at=self._clock_ms(), uid=LAST)

    def _others(self, namespace: str, but: str = "") -> str:
        names = sorted(queue["metadata"]["name"] for queue in self._objects.local_queues(namespace))
        names = [name for name in names if name != but]
        return f"; this namespace has {', '.join(names)}" if names else ""


def _let_in(warning: str) -> GateAnswer:
    return GateAnswer(True, warnings=(warning,))
