"""What the view keeps of an object, and by what else than its name it finds it.

Pods are found by their group or parent, Workloads by their owner or LocalQueue. A value is a pair of what it is (an
annotation, a label, a kind) and a name; an owner's is its uid. All are within a namespace.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import Any, Final

import orjson

from webhook.cluster.api.kinds import NODE, WORKLOAD
from webhook.jobs.describe import QUEUE, at
from webhook.jobs.elastic import SLICE, annotation
from webhook.jobs.pod_groups import GROUP, group_of
from webhook.jobs.pod_parents import parent_of
from webhook.kube.gvk import POD
from webhook.store.mirror import Index, Trim
from webhook.store.objects import Object


def _of_pod(pod: Object) -> Iterator[Hashable]:
    if group := group_of(pod):
        yield GROUP, group
    if chain := annotation(pod, SLICE):
        yield SLICE, chain
    if (parent := parent_of(pod)) is not None:
        yield parent


def _of_workload(workload: Object) -> Iterator[Hashable]:
    for owner in at(workload, ("metadata", "ownerReferences")) or ():
        if isinstance(owner, dict) and owner.get("uid"):
            yield str(owner["uid"])
    if chain := annotation(workload, SLICE):
        yield SLICE, chain
    if queue := at(workload, ("spec", "queueName")):
        yield QUEUE, str(queue)


def _taints_only(node: Object) -> Object:
    """Leave out what a Node tells of its images and its health: the larger part, and what changes all the time."""
    metadata = {field: at(node, ("metadata", field)) for field in ("name", "uid", "resourceVersion")}
    return {**node, "metadata": metadata, "spec": {"taints": at(node, ("spec", "taints")) or []}, "status": {}}


ALIKE: Final = 4096
"""Different parts of Workloads that are remembered, to be kept once each."""


@lru_cache(ALIKE)
def _once(text: bytes) -> Any:
    """Give the value of a JSON text, the same object for the same text."""
    return orjson.loads(text)


def _alike_once(workload: Object) -> Object:
    """Keep pod sets and admissions once that many Workloads have alike: they are most of what a Workload is."""
    kept, spec, status = dict(workload), workload.get("spec"), workload.get("status")
    if isinstance(spec, dict) and "podSets" in spec:
        kept["spec"] = {**spec, "podSets": _once(orjson.dumps(spec["podSets"]))}
    if isinstance(status, dict) and "admission" in status:
        kept["status"] = {**status, "admission": _once(orjson.dumps(status["admission"]))}
    return kept


INDEXES: Final[dict[tuple[str, str], Index]] = {
    (POD.group, POD.kind): _of_pod,
    (WORKLOAD.group, WORKLOAD.kind): _of_workload,
}
TRIMS: Final[dict[tuple[str, str], Trim]] = {
    (NODE.group, NODE.kind): _taints_only,
    (WORKLOAD.group, WORKLOAD.kind): _alike_once,
}
