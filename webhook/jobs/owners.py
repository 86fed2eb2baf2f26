"""Whose an object is: whether a job above it holds, or was given, its quota, so that it needs none of its own.

An ownerReference is a field that anybody writes. It counts where the object that it names is there, makes objects of
this kind (`Kind.makes`), has not ended, and is itself held or admitted by a queue. Of a kind that another controller
integrates (`externalFrameworks`) the Workload stands for the object: what that controller made for it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, Protocol

from webhook.jobs.app_wrapper import wraps
from webhook.jobs.describe import queue_of, row_of, suspended
from webhook.jobs.finish import finish_of
from webhook.jobs.job import GroupKind
from webhook.kube.gvk import POD, gvk_of, split_api_version

DEPTH: Final = 10
"""How far the chain of owners is followed, as in Kueue."""
ADMITTED: Final = "Admitted"

Object = dict[str, Any]


class Owners(Protocol):
    """Where owners and their Workloads are looked up: the local view, or the objects of files."""

    @property
    def external(self) -> Collection[GroupKind]:
        """Group and kind of the objects whose Workloads other controllers make."""

    def owner(self, reference: Object, namespace: str) -> Object | None:
        """Give the object with the UID of a reference, None where there is none.

        Of an external kind: `stand_in` of the reference where its Workload is there.
        """

    def admitted(self, job: Object) -> bool:
        """Say whether the Workload of this object is admitted."""


def owned(obj: Object, namespace: str, owners: Owners, managed: Callable[[Object], object] = queue_of) -> bool:
    """Say whether an object is part of a job that a queue looks at as a whole, and so is neither held nor queued.

    Below a job that is held itself only what is suspended, too: a held job's controller makes nothing that runs.
    `managed` says which jobs the queues look at: those that name one, where nothing else is said.
    """
    if controller_of(obj) is None:
        return False
    above, _ = ancestors(obj, namespace, owners)
    counted = [job for job in above if is_external(job, owners) or managed(job)]
    row = row_of(obj)
    still = row is not None and row.suspend_path is not None and suspended(obj, row) is True
    if still and any(is_external(job, owners) or _held(job) for job in counted):
        return True
    return any(map(owners.admitted, counted))


def ancestors(obj: Object, namespace: str, owners: Owners) -> tuple[list[Object], Object | None]:
    """Give the jobs above an object, the nearest first, and the reference that leads on to one that is not known.

    A Pod is no such job, but leads on to one: a Spark driver makes its executors.
    """
    found: list[Object] = []
    for _ in range(DEPTH):
        reference = controller_of(obj)
        if reference is None or not (is_external(reference, owners) or _may_make(reference, obj)):
            break
        owner = owners.owner(reference, namespace)
        if owner is None:
            return found, reference
        if is_external(owner, owners):
            found.append(owner)
            break
        if not _is(owner, reference, namespace) or not _makes(owner, obj) or finish_of(owner) is not None:
            break
        if gvk_of(owner) != POD:
            found.append(owner)
        obj = owner
    return found, None


def controller_of(obj: Object) -> Object | None:
    """Give the ownerReference of an object's controller, or None."""
    metadata = obj.get("metadata")
    references = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    for reference in references if isinstance(references, list) else ():
        if isinstance(reference, dict) and reference.get("controller") is True and reference.get("uid"):
            return reference
    return None


def controls(workload: Object, uid: str) -> bool:
    """Say whether this is the Workload of the object with this UID."""
    return bool(uid) and (controller_of(workload) or {}).get("uid") == uid


def admits(workload: Object, uid: str) -> bool:
    """Say whether this is the Workload of the object with this UID, and admitted."""
    status = workload.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    return controls(workload, uid) and any(
        c.get("type") == ADMITTED and c.get("status") == "True" for c in conditions or () if isinstance(c, dict)
    )


def is_external(obj: Object, owners: Owners) -> bool:
    """Say whether an object, or what a reference names, is of a kind whose Workloads another controller makes."""
    if not owners.external:
        return False
    kind = gvk_of(obj)
    return (kind.group, kind.kind) in owners.external


def stand_in(reference: Object, namespace: str) -> Object:
    """Give what stands for an object of an external kind: as much of it as a reference says."""
    metadata = {"name": reference.get("name"), "uid": reference.get("uid"), "namespace": namespace}
    return {"apiVersion": reference.get("apiVersion"), "kind": reference.get("kind"), "metadata": metadata}


def _may_make(reference: Object, obj: Object) -> bool:
    """Say whether the kind that a reference names makes objects of this kind."""
    row, made = row_of(reference), gvk_of(obj)
    return row is not None and (row.wraps or (made.group, made.kind) in row.makes)


def _makes(owner: Object, obj: Object) -> bool:
    row = row_of(owner)
    return row is not None and (not row.wraps or wraps(owner, obj))


def _held(job: Object) -> bool:
    row = row_of(job)
    return row is not None and row.queued and suspended(job, row) is True


def _is(owner: Object, reference: Object, namespace: str) -> bool:
    """Say whether the object found is the one the reference names, in the same namespace."""
    metadata = owner.get("metadata") or {}
    group, _ = split_api_version(str(reference.get("apiVersion") or ""))
    kind = gvk_of(owner)
    return (
        metadata.get("name") == reference.get("name")
        and (kind.group, kind.kind) == (group, reference.get("kind"))
        and metadata.get("namespace") in (None, "", namespace)
    )
