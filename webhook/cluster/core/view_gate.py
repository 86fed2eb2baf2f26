"""The queue gate of a replica: judges jobs by its own view and core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webhook.admission.queue_gate import DecidingCore, QueueGate
from webhook.api.configuration.sections import QueueSettings
from webhook.cluster.api.kinds import LIMIT_RANGE, LOCAL_QUEUE, PRIORITY_CLASS, WORKLOAD_CLASS
from webhook.cluster.api.view import View


def view_gate(
    view: View,
    core: DecidingCore,
    clock_ms: Callable[[], int],
    settings: QueueSettings | None = None,
    *,
    refuses: bool = True,
) -> QueueGate:
    """Return a gate over the queues in the view and the state of the core.

    `settings` are those by which the core counts requests; without `refuses` a job that can never fit is only warned
    of.
    """
    return QueueGate(ViewObjects(view), core, clock_ms, settings, refuses=refuses)


class ViewObjects:
    """The objects of a view that determine the position of a job."""

    def __init__(self, view: View) -> None:
        self._view = view

    def local_queue(self, name: str, namespace: str) -> dict[str, Any] | None:
        """Return a LocalQueue, or None."""
        return self._view.informer(LOCAL_QUEUE).get(name, namespace)

    def local_queues(self, namespace: str) -> list[dict[str, Any]]:
        """Return the LocalQueues of a namespace."""
        return self._view.informer(LOCAL_QUEUE).all(namespace)

    def limit_ranges(self, namespace: str) -> list[dict[str, Any]]:
        """Return the LimitRanges of a namespace."""
        return self._view.informer(LIMIT_RANGE).all(namespace)

    def priority_classes(self) -> list[dict[str, Any]]:
        """Return the priority classes: WorkloadPriorityClasses before PriorityClasses."""
        return self._view.all(WORKLOAD_CLASS, PRIORITY_CLASS)
