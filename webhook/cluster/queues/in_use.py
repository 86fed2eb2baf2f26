"""Finds the objects whose finalizer can be removed: they are being deleted, and no longer in use. Pure.

The policy `in-use` adds the finalizer to queues and flavors on creation; the leader adds it to checks and topologies,
as Kueue's webhooks and controllers do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from webhook.cluster.api.finalizers import is_marked
from webhook.cluster.queues.status import QueueCount
from webhook.kube.fields import at
from webhook.store.objects import Object, key_of


def unheld(queues: Iterable[Object], counts: Mapping[str, QueueCount]) -> list[Object]:
    """Return the ClusterQueues that are being deleted and have no reserving Workload; omits those not yet counted."""
    counted = ((queue, counts.get(key_of(queue)[1])) for queue in _leaving(queues))
    return [queue for queue, count in counted if count is not None and not count.reserving]


def unnamed(objects: Iterable[Object], users: Iterable[Object]) -> list[Object]:
    """Return the flavors, checks and topologies that are being deleted and that no `users` object refers to."""
    if not (going := list(_leaving(objects))):
        return []
    named = {pair for user in users for pair in _names(user)}
    return [obj for obj in going if (obj["kind"], key_of(obj)[1]) not in named]


def unmarked(objects: Iterable[Object]) -> list[Object]:
    """Return the checks and topologies without our finalizer."""
    return [obj for obj in objects if not obj["metadata"].get("deletionTimestamp") and not is_marked(obj)]


def _leaving(objects: Iterable[Object]) -> Iterator[Object]:
    for obj in objects:
        if obj["metadata"].get("deletionTimestamp") and is_marked(obj):
            yield obj


def _names(user: Object) -> Iterator[tuple[str, str]]:
    """Yield kind and name of the objects that a ClusterQueue or a flavor refers to."""
    if topology := at(user, ("spec", "topologyName")):
        yield "Topology", str(topology)
    for group in at(user, ("spec", "resourceGroups")) or ():
        for flavor in group.get("flavors") or ():
            yield "ResourceFlavor", str(flavor.get("name"))
    for check in at(user, ("spec", "admissionChecksStrategy", "admissionChecks")) or ():
        yield "AdmissionCheck", str(check.get("name"))
