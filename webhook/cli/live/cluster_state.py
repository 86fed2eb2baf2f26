"""The objects of a cluster that the queue core decides from, as far as the user may read them. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from webhook.cli.live.session import listed
from webhook.cluster.api.kinds import (
    BUILT_IN,
    CLUSTER_QUEUE,
    COHORT,
    FLAVOR,
    LABELS,
    LOCAL_QUEUE,
    MANAGED,
    QUEUE_KINDS,
    WORKLOAD,
)
from webhook.kube.gvk import NAMESPACE, GroupVersionKind
from webhook.store.errors import Refused
from webhook.store.objects import ALL, Object, ObjectStore

OF_THE_CORE: Final = (*QUEUE_KINDS, *BUILT_IN)
"""Every kind that the core reads."""
WITH_JOBS: Final = (*OF_THE_CORE, *MANAGED)
"""Jobs as well: one whose Workload is not made yet waits too."""
NEEDED: Final = frozenset(gvk.kind for gvk in (WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE, FLAVOR, COHORT))
"""Kinds without which nothing can be decided."""
FORBIDDEN: Final = 403


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The objects that could be read, and the kinds that the user may not list."""

    objects: tuple[Object, ...]
    forbidden: tuple[str, ...] = ()

    @property
    def lacks(self) -> tuple[str, ...]:
        """The kinds that may not be listed, and without which nothing can be decided."""
        return tuple(kind for kind in self.forbidden if kind in NEEDED)

    def notes(self) -> list[str]:
        """Return a sentence on what could not be read and what was assumed instead."""
        if not self.forbidden:
            return []
        assumed = "; every namespace counts as selected" if NAMESPACE.kind in self.forbidden else ""
        return [f"you may not list {', '.join(self.forbidden)}: decided without them{assumed}"]


async def cluster_state(store: ObjectStore, kinds: Iterable[GroupVersionKind]) -> ClusterState:
    """Read the objects of some kinds. Kinds that the cluster does not serve are left out. Raises StoreError."""
    objects: list[Object] = []
    forbidden: list[str] = []
    for gvk in kinds:
        try:
            objects += await listed(store, gvk, labels=LABELS.get((gvk.group, gvk.kind), ALL))
        except Refused as error:
            if error.status != FORBIDDEN:
                raise
            forbidden.append(gvk.kind)
    if NAMESPACE.kind in forbidden:
        objects = [_selecting_all(obj) if obj["kind"] == CLUSTER_QUEUE.kind else obj for obj in objects]
    return ClusterState(tuple(objects), tuple(dict.fromkeys(forbidden)))


def _selecting_all(queue: Object) -> Object:
    """Return a ClusterQueue that selects every namespace, unless it selects none: no labels are known to choose by."""
    if queue["spec"].get("namespaceSelector") is None:
        return queue
    return {**queue, "spec": {**queue["spec"], "namespaceSelector": {}}}
