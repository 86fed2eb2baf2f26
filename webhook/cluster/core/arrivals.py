"""The order in which Workloads of the same second came: by the version at which each was first seen."""

from __future__ import annotations

from webhook.api.snapshot.workload import ARRIVAL
from webhook.store.objects import Object, key_of, uid_of, version_of


class Arrivals:
    """Keeps the first known version of each Workload, by uid."""

    __slots__ = ("_versions",)

    def __init__(self) -> None:
        self._versions: dict[str, str] = {}

    def heard(self, workload: Object, *, gone: bool) -> None:
        """Note a Workload at its first change, and forget it when it is gone."""
        if gone:
            self._versions.pop(uid_of(workload), None)
        else:
            self._versions.setdefault(uid_of(workload), version_of(workload))

    def in_order(self, obj: Object) -> Object:
        """Return a Workload with what orders it (`in_order_of_arrival`); any other object as it is."""
        return in_order_of_arrival(obj, self._versions.get(str((obj.get("metadata") or {}).get("uid")), ""))


def in_order_of_arrival(obj: Object, heard: str = "") -> Object:
    """Return a Workload with the creation time of its job, and a uid that orders those of the same second.

    The uid breaks ties in the queue order. Without a recorded job, it begins with `heard`, the version at which the
    Workload was first seen, and has its name instead of the random uid, so that no random number decides.
    """
    metadata = obj.get("metadata") or {}
    if obj.get("kind") != "Workload":
        return obj
    created, _, version = str((metadata.get("annotations") or {}).get(ARRIVAL) or "").partition(" ")
    if not version:
        name = "/".join(key_of(obj))
        uid = f"{heard:0>20} {name}" if heard else name
        arrival = {ARRIVAL: f"{metadata.get('creationTimestamp') or ''} {heard}"} if heard else {}
        annotations = {**(metadata.get("annotations") or {}), **arrival}
        return {**obj, "metadata": {**metadata, "annotations": annotations, "uid": uid}}
    uid = f"{version:0>20} {metadata.get('uid') or ''}"
    return {**obj, "metadata": {**metadata, "creationTimestamp": created, "uid": uid}}
