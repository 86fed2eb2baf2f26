"""Counts of pending, reserving and admitted Workloads and their usage, by queue, kept up to date by events. Pure.

The cost of a change is that of the changed Workload; reading the counts depends on the number of queues only.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from webhook.api.configuration.sections import QueueSettings
from webhook.api.snapshot.reader import MALFORMED
from webhook.api.snapshot.workload import assignments_of, is_on_hold
from webhook.cluster.workloads.conditions import EVALUATION, NO_RESERVATION, cluster_queue_of
from webhook.cluster.workloads.pending_status import gate_of, is_active
from webhook.kube.condition_types import ADMITTED, FINISHED, QUOTA_RESERVED, WAITING_FOR_REPLACEMENT_PODS
from webhook.kube.conditions import find, holds
from webhook.kube.fields import at
from webhook.store.objects import Object, key_of

FlavorResource = tuple[str, str]
Way = tuple[str, str]
"""The LocalQueue (`namespace/name`) of Workloads, and the ClusterQueue of their admission, "" while pending."""


Waits = tuple[str, str]
"""Why a Workload is not admitted: the reasons of its conditions `Admitted` and `QuotaReserved`."""


@dataclass(slots=True)
class WorkloadCount:
    """Counts of the Workloads of one `Way`, and their usage in the core's integers.

    `unadmitted` counts those not admitted, by reason: also those that are in no queue, and so not pending.
    """

    pending: int = 0
    reserving: int = 0
    admitted: int = 0
    finished: int = 0
    unadmitted: Counter[Waits] = field(default_factory=Counter)
    reserved: Counter[FlavorResource] = field(default_factory=Counter)
    used: Counter[FlavorResource] = field(default_factory=Counter)

    def pending_in(self, *, stopped: bool) -> int:
        """Return how many are pending: none before a LocalQueue that is stopped, since they are in no queue."""
        return 0 if stopped else self.pending


class WorkloadCounts:
    """Counts of all Workloads; `inadmissible` is the number of parked ones by LocalQueue."""

    def __init__(self, settings: QueueSettings | None = None) -> None:
        self._settings = settings or QueueSettings()
        self.by_way: dict[Way, WorkloadCount] = {}
        self.inadmissible: Counter[str] = Counter()
        self._local_of: dict[str, str] = {}
        self._parked: set[str] = set()

    @property
    def any_pending(self) -> bool:
        """Whether any Workload is pending."""
        return bool(self._local_of)

    def heard(self, old: Object | None, new: Object | None) -> None:
        """Record a change of a Workload; None means that it did not exist, or is deleted."""
        for workload, sign in ((old, -1), (new, 1)):
            if workload is not None:
                self._count(workload, sign)

    def parked(self, key: str, is_parked: bool) -> None:
        """Record whether the Workload `namespace/name` is parked: inadmissible until something changes."""
        if is_parked != (key in self._parked):
            (self._parked.add if is_parked else self._parked.remove)(key)
            if (local := self._local_of.get(key)) is not None:
                self._park(local, 1 if is_parked else -1)

    def _park(self, local: str, sign: int) -> None:
        self.inadmissible[local] += sign
        if not self.inadmissible[local]:
            del self.inadmissible[local]

    def _wait(self, key: str, local: str, sign: int) -> None:
        if sign > 0:
            self._local_of[key] = local
        else:
            self._local_of.pop(key, None)
        if key in self._parked:
            self._park(local, sign)

    def _count(self, workload: Object, sign: int) -> None:
        namespace, name = key_of(workload)
        local = f"{namespace}/{at(workload, ('spec', 'queueName')) or ''}"
        way = local, cluster_queue_of(workload)
        count = self.by_way.setdefault(way, WorkloadCount())
        if holds(workload, FINISHED):
            count.finished += sign
        elif holds(workload, QUOTA_RESERVED):
            _hold(count, workload, sign, self._settings)
        elif is_queued(workload):
            count.pending += sign
            self._wait(f"{namespace}/{name}", local, sign)
        if (why := unadmitted(workload)) is not None:
            count.unadmitted[why] += sign
            if not count.unadmitted[why]:
                del count.unadmitted[why]
        if not (count.pending or count.reserving or count.finished or count.unadmitted):
            del self.by_way[way]


def is_queued(workload: Object) -> bool:
    """Return whether a Workload without quota is in a queue; only these count as pending (Kueue's `IsAdmissible`)."""
    is_held = gate_of(workload) or is_on_hold(workload) or holds(workload, WAITING_FOR_REPLACEMENT_PODS)
    return is_active(workload) and not is_held


def unadmitted(workload: Object) -> Waits | None:
    """Return the reasons why a Workload is not admitted; None if it is admitted, finished or being deleted."""
    if holds(workload, ADMITTED) or holds(workload, FINISHED) or at(workload, ("metadata", "deletionTimestamp")):
        return None
    admitted, reserved = find(workload, ADMITTED), find(workload, QUOTA_RESERVED)
    reason = NO_RESERVATION[0] if admitted is None else str(admitted.get("reason"))
    if reserved is None:
        return reason, EVALUATION
    return reason, "" if reserved.get("status") == "True" else str(reserved.get("reason"))


def _hold(count: WorkloadCount, workload: Object, sign: int, settings: QueueSettings) -> None:
    runs = holds(workload, ADMITTED)
    count.reserving += sign
    count.admitted += sign * runs
    for cell, number in _usage(workload, settings):
        count.reserved[cell] += sign * number
        if runs:
            count.used[cell] += sign * number


def _usage(workload: Object, settings: QueueSettings) -> list[tuple[FlavorResource, int]]:
    """Return the usage of a Workload's admission; nothing if it is malformed."""
    try:
        return [
            ((pods.flavors.get(resource) or "", resource), amount)
            for pods in assignments_of(workload, settings)
            for resource, amount in pods.resource_usage.items()
        ]
    except MALFORMED:
        return []
