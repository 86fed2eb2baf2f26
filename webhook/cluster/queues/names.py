"""What metrics need to know of queues: the cohorts above a ClusterQueue, and which LocalQueues have metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from webhook.api.configuration.sections import QueueSettings
from webhook.cluster.api.kinds import LOCAL_QUEUE
from webhook.cluster.api.view import View
from webhook.cluster.workloads.events import cohorts_above
from webhook.kube.fields import at
from webhook.kube.selectors import compile_selector


class QueueNames:
    """Reads queues from the view. Without a view no cohort is known, and every LocalQueue has metrics."""

    def __init__(self, view: View | None = None, settings: QueueSettings | None = None) -> None:
        self._view = view
        local = (settings or QueueSettings()).metrics.local_queues
        self._on = (settings or QueueSettings()).enabled("LocalQueueMetrics", default=True) and local.enable
        self._selects = compile_selector(local.selector) if local.selector is not None else None

    def shows(self, name: str, namespace: str) -> bool:
        """Return whether a LocalQueue exists, and the settings select it for metrics."""
        if self._view is None:
            return self._on
        queue = self._view.informer(LOCAL_QUEUE).get(name, namespace)
        return queue is not None and self.selects(queue)

    def selects(self, local: Mapping[str, Any]) -> bool:
        """Return whether the settings select this LocalQueue for metrics."""
        labels = at(local, ("metadata", "labels")) or {}
        return self._on and (self._selects is None or self._selects(labels))

    def cohorts(self, queue: str) -> Iterator[str]:
        """Yield the cohorts above a ClusterQueue, the nearest first."""
        return cohorts_above(self._view, queue) if self._view is not None else iter(())
