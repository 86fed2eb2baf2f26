"""Owners of an object: whether a job above it holds, or waits for, its quota, so that it needs none of its own.

Anybody can write an ownerReference. It counts if the owner exists, creates objects of this kind (`JobKind.makes`), has
not ended, and is itself held or admitted by a queue. For a kind that another controller integrates
(`externalFrameworks`) it counts if that controller has created a Workload for the owner.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, Protocol

from webhook.jobs.app_wrapper import wraps
from webhook.jobs.finish import finish_of
from webhook.jobs.job import GroupKind
from webhook.jobs.read_job import queue_of, row_of, suspended
from webhook.kube.condition_types import ADMITTED
from webhook.kube.gvk import POD, gvk_of, split_api_version

MAX_OWNERS: Final = 10
"""The most owners followed upwards, as in Kueue."""

Object = dict[str, Any]


class Owners(Protocol):
    """Looks up owners and their Workloads: in the local view, or among objects from files."""

    @property
    def external(self) -> Collection[GroupKind]:
        """Group and kind of the objects whose Workloads other controllers create."""

    def owner(self, reference: Object, namespace: str) -> Object | None:
        """Return the object with the uid of a reference, None if there is none.

        For an external kind: `stand_in` of the reference if its Workload exists.
        """

    def admitted(self, job: Object) -> bool:
        """Return whether the Workload of this object is admitted."""


def owned(obj: Object, namespace: str, owners: Owners, managed: Callable[[Object], object] = queue_of) -> bool:
    """Return whether an object is part of a job that is queued as a whole, so that it is neither held nor queued.

    If that job is held, its parts must be suspended too: the controller of a held job creates nothing that runs.
    `managed` returns whether a queue manages a job; by default those with a queue name.
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
    """Return the jobs above an object, the nearest first, and the reference to the first unknown owner.

    Pods are left out but followed: a Spark driver creates its executors.
    """
    jobs: list[Object] = []
    for _ in range(MAX_OWNERS):
        reference = controller_of(obj)
        if reference is None or not (is_external(reference, owners) or _may_make(reference, obj)):
            break
        owner = owners.owner(reference, namespace)
        if owner is None:
            return jobs, reference
        if is_external(owner, owners):
            jobs.append(owner)
            break
        if not _is(owner, reference, namespace) or not _makes(owner, obj) or finish_of(owner) is not None:
            break
        if gvk_of(owner) != POD:
            jobs.append(owner)
        obj = owner
    return jobs, None


def controller_of(obj: Object) -> Object | None:
    """Return the ownerReference of an object's controller, or None."""
    metadata = obj.get("metadata")
    references = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    for reference in references if isinstance(references, list) else ():
        if isinstance(reference, dict) and reference.get("controller") is True and reference.get("uid"):
            return reference
    return None


def controls(workload: Object, uid: str) -> bool:
    """Return whether this is the Workload of the object with this uid."""
    return bool(uid) and (controller_of(workload) or {}).get("uid") == uid


def admits(workload: Object, uid: str) -> bool:
    """Return whether this is the Workload of the object with this uid, and admitted."""
    status = workload.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    return controls(workload, uid) and any(
        c.get("type") == ADMITTED and c.get("status") == "True" for c in conditions or () if isinstance(c, dict)
    )


def is_external(obj: Object, owners: Owners) -> bool:
    """Return whether an object or reference is of a kind whose Workloads another controller creates."""
    if not owners.external:
        return False
    kind = gvk_of(obj)
    return (kind.group, kind.kind) in owners.external


def stand_in(reference: Object, namespace: str) -> Object:
    """Return an object of an external kind with the fields that a reference has."""
    metadata = {"name": reference.get("name"), "uid": reference.get("uid"), "namespace": namespace}
    return {"apiVersion": reference.get("apiVersion"), "kind": reference.get("kind"), "metadata": metadata}


def _may_make(reference: Object, obj: Object) -> bool:
    """Return whether the kind of a reference creates objects of this kind."""
    row, made = row_of(reference), gvk_of(obj)
    return row is not None and (row.wraps or (made.group, made.kind) in row.makes)


def _makes(owner: Object, obj: Object) -> bool:
    row = row_of(owner)
    return row is not None and (not row.wraps or wraps(owner, obj))


def _held(job: Object) -> bool:
    row = row_of(job)
    return row is not None and row.queued and suspended(job, row) is True


def _is(owner: Object, reference: Object, namespace: str) -> bool:
    """Return whether an owner is the one that the reference names, in the same namespace."""
    metadata = owner.get("metadata") or {}
    group, _ = split_api_version(str(reference.get("apiVersion") or ""))
    kind = gvk_of(owner)
    return (
        metadata.get("name") == reference.get("name")
        and (kind.group, kind.kind) == (group, reference.get("kind"))
        and metadata.get("namespace") in (None, "", namespace)
    )
