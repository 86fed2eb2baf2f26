"""Which changes of the view lead to a new round of decisions, and which to a reconciliation of jobs. Pure."""

from __future__ import annotations

from typing import Any, Final

from webhook.api.snapshot.queue_objects import check_is_active
from webhook.api.snapshot.workload import BOOST, GATE
from webhook.cluster.api.kinds import (
    ADMISSION_CHECK,
    BUILT_IN,
    CLUSTER_QUEUE,
    LIMIT_RANGE,
    PRIORITY_CLASS,
    QUEUE_KINDS,
    RUNTIME_CLASS,
    RUNTIMES,
    WORKLOAD,
    WORKLOAD_CLASS,
)
from webhook.kube.condition_types import EVICTED, FINISHED, QUOTA_RESERVED, REQUEUED
from webhook.kube.conditions import conditions_of
from webhook.kube.fields import at
from webhook.kube.gvk import NAMESPACE, GroupVersionKind
from webhook.store.objects import Object

_QUEUES: Final = frozenset((gvk.group, gvk.kind) for gvk in QUEUE_KINDS) - {(WORKLOAD.group, WORKLOAD.kind)}
_SHAPING: Final = frozenset((gvk.group, gvk.kind) for gvk in (LIMIT_RANGE, PRIORITY_CLASS, WORKLOAD_CLASS, NAMESPACE))
_DEFINING: Final = _QUEUES | _SHAPING | {(RUNTIME_CLASS.group, RUNTIME_CLASS.kind)}
_OF_JOBS: Final = _SHAPING | frozenset((gvk.group, gvk.kind) for gvk in RUNTIMES)

OF_THE_CORE: Final = frozenset((gvk.group, gvk.kind) for gvk in (*QUEUE_KINDS, *BUILT_IN))
"""The kinds that the core reads."""
_HEEDED: Final = (BOOST, GATE)
"""Annotations of a Workload that affect decisions."""
_STANDING: Final = frozenset({(QUOTA_RESERVED, "True"), (EVICTED, "True"), (FINISHED, "True"), (REQUEUED, "False")})
"""Types and states of conditions that say more than why a Workload waits."""
_CHECKS: Final = (("spec", "admissionChecks"), ("spec", "admissionChecksStrategy"))


def matters_to_core(gvk: GroupVersionKind, old: Object | None, new: Object | None) -> bool:
    """Return whether this change may lead to other decisions. Counts and messages that we write do not."""
    if (gvk.group, gvk.kind) == (WORKLOAD.group, WORKLOAD.kind):
        return bool(_workload(old) != _workload(new))
    if (gvk.group, gvk.kind) in _DEFINING:
        return bool(_definition(old) != _definition(new))
    return gvk.kind == "ResourceQuota" and (old or {}).get("status") != (new or {}).get("status")


def asks_the_same(old: Object | None, new: Object) -> bool:
    """Return whether an admission decided for `old` is right for `new`: reasons of waiting may differ, no more."""
    return old is new or _request(old) == _request(new)


def matters_to_jobs(gvk: GroupVersionKind, old: Object | None, new: Object | None) -> bool:
    """Return whether jobs depend on this change: defaults, priorities, opted-in namespaces, templates, checks."""
    if (gvk.group, gvk.kind) == (CLUSTER_QUEUE.group, CLUSTER_QUEUE.kind):
        return any(at(old or {}, path) != at(new or {}, path) for path in _CHECKS)
    return (gvk.group, gvk.kind) in _OF_JOBS and _definition(old) != _definition(new)


def _workload(obj: Object | None) -> Any:
    """Return the fields of a Workload that affect decisions."""
    if obj is None:
        return None
    annotations = at(obj, ("metadata", "annotations")) or {}
    return (
        obj.get("spec"),
        [annotations.get(name) for name in _HEEDED],
        [(c.get("type"), c.get("status")) for c in conditions_of(obj)],
        at(obj, ("status", "admission")),
        at(obj, ("status", "admissionChecks")),
        at(obj, ("status", "reclaimablePods")),
        at(obj, ("status", "requeueState")),
        at(obj, ("metadata", "deletionTimestamp")),
    )


def _request(obj: Object | None) -> Any:
    """Return what an admission depends on: fields that affect decisions, without reasons of waiting."""
    if obj is None:
        return None
    spec, annotations, conditions, *rest = _workload(obj)
    return at(obj, ("metadata", "uid")), spec, annotations, [each for each in conditions if each in _STANDING], rest


def _definition(obj: Object | None) -> Any:
    """Return an object without the fields that change by themselves: status, versions.

    Of the status of an AdmissionCheck, whether it is active counts: its queues are inactive until then.
    """
    if obj is None:
        return None
    metadata = obj.get("metadata") or {}
    kept = {name: metadata.get(name) for name in ("labels", "annotations", "deletionTimestamp", "uid")}
    if obj.get("kind") == ADMISSION_CHECK.kind:
        kept["active"] = check_is_active(obj)
    return kept, {name: value for name, value in obj.items() if name not in ("metadata", "status")}
