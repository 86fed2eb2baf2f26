"""Which objects of the queue can be let go: those that are being deleted, and that nobody uses any more. Pure.

The policy `in-use` gives queues and flavors the finalizer when they are created, and the leader gives it to checks, as
Kueue's webhooks and controllers do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from webhook.cluster.api.finalizers import is_marked
from webhook.cluster.queues.status import QueueCount
from webhook.jobs.describe import at
from webhook.store.objects import Object, key_of


def unheld(queues: Iterable[Object], counts: Mapping[str, QueueCount]) -> list[Object]:
    """Give the ClusterQueues that are being deleted, and whose quota nobody holds; one not counted yet is not given."""
    found = ((queue, counts.get(key_of(queue)[1])) for queue in _leaving(queues))
    return [queue for queue, count in found if count is not None and not count.reserving]


def unnamed(objects: Iterable[Object], users: Iterable[Object]) -> list[Object]:
    """Give the flavors, checks and topologies that are being deleted, and that none of these objects names."""
    if not (going := list(_leaving(objects))):
        return []
    named = {pair for user in users for pair in _names(user)}
    return [obj for obj in going if (obj["kind"], key_of(obj)[1]) not in named]


def unmarked(objects: Iterable[Object]) -> list[Object]:
    """Give the checks and topologies that have no finalizer of ours yet."""
    return [obj for obj in objects if not obj["metadata"].get("deletionTimestamp") and not is_marked(obj)]


def _leaving(objects: Iterable[Object]) -> Iterator[Object]:
    for obj in objects:
        if obj["metadata"].get("deletionTimestamp") and is_marked(obj):
            yield obj


def _names(user: Object) -> Iterator[tuple[str, str]]:
    """Give kind and name of what a ClusterQueue or a flavor names."""
    if topology := at(user, ("spec", "topologyName")):
        yield "Topology", str(topology)
    for group in at(user, ("spec", "resourceGroups")) or ():
        for flavor in group.get("flavors") or ():
            yield "ResourceFlavor", str(flavor.get("name"))
    for check in at(user, ("spec", "admissionChecksStrategy", "admissionChecks")) or ():
        yield "AdmissionCheck", str(check.get("name"))
