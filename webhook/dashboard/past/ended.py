"""Which Workloads ended lately, by the ClusterQueue whose quota they held."""

from __future__ import annotations

from bisect import insort
from typing import Final

from webhook.cluster.workloads.conditions import cluster_queue_of
from webhook.kube.condition_types import FINISHED
from webhook.kube.conditions import find, holds
from webhook.kube.times import milliseconds
from webhook.store.objects import Object, key_of

LATELY: Final = 50
"""Workloads of each queue that are remembered."""


class Ended:
    """The last to end of each queue, while their objects are there."""

    def __init__(self) -> None:
        self._by_queue: dict[str, list[tuple[int, str]]] = {}

    def heard(self, old: Object | None, new: Object | None) -> None:
        """Take note of a Workload that has ended, or of one that is gone."""
        if new is None:
            if old is not None and holds(old, FINISHED):
                self._forget(old)
        elif holds(new, FINISHED) and not (old is not None and holds(old, FINISHED)):
            ended = self._by_queue.setdefault(cluster_queue_of(new), [])
            insort(ended, _place(new))
            del ended[:-LATELY]

    def of(self, queue: str) -> list[str]:
        """Return those of a queue as `namespace/name`, the last to end first."""
        return [key for _, key in reversed(self._by_queue.get(queue, ()))]

    def _forget(self, gone: Object) -> None:
        ended, place = self._by_queue.get(cluster_queue_of(gone), []), _place(gone)
        if place in ended:
            ended.remove(place)


def _place(workload: Object) -> tuple[int, str]:
    return milliseconds((find(workload, FINISHED) or {}).get("lastTransitionTime")), "/".join(key_of(workload))
