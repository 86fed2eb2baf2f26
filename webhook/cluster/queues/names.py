"""What metrics have to know of queues: which cohorts a ClusterQueue is in, and which LocalQueues are shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from webhook.api.configuration.sections import QueueSettings
from webhook.cluster.api.kinds import LOCAL_QUEUE
from webhook.cluster.api.view import View
from webhook.cluster.workloads.events import cohorts_above
from webhook.jobs.describe import at
from webhook.kube.selectors import compile_selector


class QueueNames:
    """Answers from the view; without one nothing is known, and every LocalQueue is shown."""

    def __init__(self, view: View | None = None, settings: QueueSettings | None = None) -> None:
        self._view = view
        local = (settings or QueueSettings()).metrics.local_queues
        self._on = (settings or QueueSettings()).enabled("LocalQueueMetrics", default=True) and local.enable
        self._selects = compile_selector(local.selector) if local.selector is not None else None

    def shows(self, name: str, namespace: str) -> bool:
        """Say whether a LocalQueue is there, and the settings ask for its metrics."""
        if self._view is None:
            return self._on
        found = self._view.mirror(LOCAL_QUEUE).get(name, namespace)
        return found is not None and self.selects(found)

    def selects(self, local: Mapping[str, Any]) -> bool:
        """Say the same of a LocalQueue that is there."""
        labels = at(local, ("metadata", "labels")) or {}
        return self._on and (self._selects is None or self._selects(labels))

    def cohorts(self, queue: str) -> Iterator[str]:
        """Name the cohorts above a ClusterQueue, the nearest first."""
        return cohorts_above(self._view, queue) if self._view is not None else iter(())
