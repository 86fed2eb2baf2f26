"""Indexes of the view, and the parts of objects that it keeps.

Pods are indexed by their group or parent, Workloads by their owner or LocalQueue. An index value is a pair of a type
(an annotation, a label, a kind) and a name; for an owner it is the uid. Indexes are per namespace.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import Any, Final

import orjson

from webhook.cluster.api.kinds import NODE, WORKLOAD
from webhook.jobs.elastic import SLICE, annotation
from webhook.jobs.pod_groups import GROUP, group_of
from webhook.jobs.pod_parents import parent_of
from webhook.jobs.read_job import QUEUE
from webhook.kube.fields import at
from webhook.kube.gvk import POD
from webhook.store.informer import Index, Trim
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
    """Drop the images and conditions of a Node: they are most of its size, and change all the time."""
    metadata = {field: at(node, ("metadata", field)) for field in ("name", "uid", "resourceVersion")}
    return {**node, "metadata": metadata, "spec": {"taints": at(node, ("spec", "taints")) or []}, "status": {}}


ALIKE: Final = 4096
"""Size of the cache of equal parts of Workloads."""


@lru_cache(ALIKE)
def _once(text: bytes) -> Any:
    """Parse a JSON text; equal texts share one object."""
    return orjson.loads(text)


def _alike_once(workload: Object) -> Object:
    """Share equal pod sets and admissions between Workloads: they are most of a Workload's size."""
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
