"""Which pods of a job still run, whatever its status says of them: while there are some, its quota is not given back.

A pod belongs to the job that controls it, or that is above its controller: a JobSet makes Jobs, and these the pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from webhook.cluster.jobs.start_stop import WORKLOAD_ANNOTATION
from webhook.jobs.elastic import SLICE, annotation
from webhook.jobs.owners import MAX_OWNERS, controller_of
from webhook.kube.fields import at
from webhook.store.objects import Object, key_of, uid_of

OwnerOf = Callable[[Object], Object | None]
"""Returns the object of an ownerReference, None where it is not in view."""
_ENDED: Final = frozenset({"Succeeded", "Failed"})
_OF_JOB: Final = "batch.kubernetes.io/controller-uid"


def owned_pods(pods: Iterable[Object], job_uid: str, workload: Object, owner_of: OwnerOf) -> int:
    """Count the pods that belong to the job with this uid and this Workload, and have not ended."""
    return sum(
        at(pod, ("status", "phase")) not in _ENDED
        and uid_of(pod) != job_uid
        and _belongs(pod, job_uid, workload, owner_of)
        for pod in pods
    )


def _belongs(pod: Object, job_uid: str, workload: Object, owner_of: OwnerOf) -> bool:
    """Follow the owners of a pod upwards. Where one is gone already, the pod's annotations say whose it was."""
    if (at(pod, ("metadata", "labels")) or {}).get(_OF_JOB) == job_uid:
        return True
    obj = pod
    for _ in range(MAX_OWNERS):
        if any(owner.get("uid") == job_uid for owner in _owners(obj)):
            return True
        reference = controller_of(obj)
        if reference is None:
            return False
        owner = owner_of(reference)
        if owner is None:
            return _is_marked(pod, workload)
        obj = owner
    return False


def _owners(obj: Object) -> list[Object]:
    rows = at(obj, ("metadata", "ownerReferences"))
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _is_marked(pod: Object, workload: Object) -> bool:
    """Return whether a pod says that it was started by this Workload, or by one of its chain."""
    chain = annotation(workload, SLICE)
    return annotation(pod, WORKLOAD_ANNOTATION) == key_of(workload)[1] or (
        bool(chain) and annotation(pod, SLICE) == chain
    )
