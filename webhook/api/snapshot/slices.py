"""Elastic jobs: a Workload slice that replaces another requests only the difference, while the old one holds its quota.

Source: KEP 77. Running pods stay on their flavors, so new ones get the same. When the old slice has ended, the Workload
is read again as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from webhook.api.configuration.sections import QueueSettings
from webhook.api.snapshot.workload import assignments_of
from webhook.jobs.elastic import REPLACES
from webhook.queue.model import PodSet, PodSetAssignment, Workload


def replaced(obj: Mapping[str, Any]) -> str:
    """Return the `namespace/name` of the Workload that this one replaces, "" where it replaces none.

    One of another namespace is none of its job.
    """
    metadata = obj.get("metadata") or {}
    key = str((metadata.get("annotations") or {}).get(REPLACES) or "")
    return key if key.partition("/")[0] == (metadata.get("namespace") or "default") else ""


def counts(obj: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of pods that a Workload asks for, by pod set."""
    return {str(p.get("name")): int(p.get("count", 1)) for p in (obj.get("spec") or {}).get("podSets") or ()}


def beyond(new: Workload, old: Workload | None) -> Workload:
    """Return `new` with what it asks for, or holds, beyond `old`; as it is where `old` holds nothing."""
    if old is None or old.finished or old.admission is None:
        return new
    held = {assignment.name: assignment for assignment in old.admission.pod_set_assignments}
    out = replace(new, pod_sets=tuple(_asked(p, held.get(p.name)) for p in new.pod_sets))
    if new.admission is not None:
        rest = tuple(_held(a, held.get(a.name)) for a in new.admission.pod_set_assignments)
        out = replace(out, admission=replace(new.admission, pod_set_assignments=rest))
    return out


def whole(
    more: Iterable[PodSetAssignment], old: Mapping[str, Any], new: Mapping[str, Any], settings: QueueSettings
) -> tuple[PodSetAssignment, ...]:
    """Return the assignment of `new` (`more`) added to what it keeps of that of `old`, which it replaces."""
    held, asked = {assignment.name: assignment for assignment in assignments_of(old, settings)}, counts(new)
    return tuple(_together(each, held.get(each.name), asked.get(each.name, 0)) for each in more)


def _together(more: PodSetAssignment, old: PodSetAssignment | None, asked: int) -> PodSetAssignment:
    if old is None or not old.count:
        return more
    kept = min(old.count, asked)
    before, after = {r: n // old.count * kept for r, n in old.resource_usage.items()}, more.resource_usage
    usage = {r: before.get(r, 0) + after.get(r, 0) for r in {**before, **after}}
    return PodSetAssignment(more.name, {**old.flavors, **more.flavors}, usage, more.count + kept)


def _asked(pods: PodSet, old: PodSetAssignment | None) -> PodSet:
    if old is None:
        return pods
    return replace(pods, count=max(0, pods.count - old.count), min_count=None, flavors=old.flavors)


def _held(pods: PodSetAssignment, old: PodSetAssignment | None) -> PodSetAssignment:
    if old is None:
        return pods
    usage = {r: max(0, amount - old.resource_usage.get(r, 0)) for r, amount in pods.resource_usage.items()}
    return replace(pods, resource_usage=usage, count=max(0, pods.count - old.count))
