"""The pending workloads of a queue in order: the items of `visibility.kueue.x-k8s.io` (KEP 168-2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

from webhook.cluster.api.kinds import LOCAL_QUEUE, WORKLOAD
from webhook.cluster.api.view import View
from webhook.kube.fields import at

Items = list[dict[str, Any]]


class PendingOrder(Protocol):
    """A core that knows the order of pending workloads."""

    def in_order(self, queue: str) -> list[str] | None:
        """Return the keys of the workloads pending in a ClusterQueue, in order; None if there is no such queue."""


class PendingWorkloads:
    """Lists pending workloads from this replica's own view and core, whether it leads or not."""

    def __init__(self, view: View, order: PendingOrder) -> None:
        self._view, self._order = view, order

    def of_cluster_queue(self, name: str, limit: int, offset: int) -> Items | None:
        """Return the pending workloads of a ClusterQueue; None if it does not exist."""
        order = self._order.in_order(name)
        return None if order is None else list(islice(self._items(order), offset, offset + limit))

    def of_local_queue(self, namespace: str, name: str, limit: int, offset: int) -> Items | None:
        """Return the pending workloads of a LocalQueue; None if it, or its ClusterQueue, does not exist."""
        queue = self._view.informer(LOCAL_QUEUE).get(name, namespace)
        order = self._order.in_order(str(at(queue, ("spec", "clusterQueue")))) if queue is not None else None
        if order is None:
            return None
        mine = (
            item
            for item in self._items(order)
            if (item["metadata"]["namespace"], item["localQueueName"]) == (namespace, name)
        )
        return list(islice(mine, offset, offset + limit))

    def _items(self, order: list[str]) -> Iterator[dict[str, Any]]:
        before: Counter[tuple[str, str]] = Counter()
        for position, key in enumerate(order):
            namespace, _, name = key.partition("/")
            workload = self._view.informer(WORKLOAD).get(name, namespace)
            if workload is None:
                continue
            local = namespace, str(at(workload, ("spec", "queueName")) or "")
            metadata = {"name": name, "namespace": namespace}
            metadata |= {k: v for k in ("creationTimestamp", "ownerReferences") if (v := workload["metadata"].get(k))}
            yield {
                "metadata": metadata,
                "priority": at(workload, ("spec", "priority")) or 0,
                "localQueueName": local[1],
                "positionInClusterQueue": position,
                "positionInLocalQueue": before[local],
            }
            before[local] += 1
