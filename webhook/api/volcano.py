"""Volcano's Queue and PodGroup as the queue core's definitions: one flavor, a cohort per parent queue.

`guarantee` is never lent, `deserved` is the nominal quota, `capability` bounds what is borrowed; weights, and what
only rules look at, stay readable as annotations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from webhook.api.amounts import amount
from webhook.api.snapshot_quota import labelled, milliseconds
from webhook.api.snapshot_workload import Surroundings
from webhook.queue.events import Definition
from webhook.queue.model import (
    ClusterQueue,
    Cohort,
    Flavor,
    FlavorQuotas,
    LocalQueue,
    PodSet,
    Preemption,
    Quota,
    ResourceGroup,
    Workload,
)

Object = Mapping[str, Any]
Amounts = Mapping[str, int]
FLAVOR: Final = "default"
ROOT: Final = "root"
CLASS_KIND: Final = "PriorityClass"


def definitions(
    queues: Iterable[Object], pod_groups: Iterable[Object], nodes: Iterable[Object]
) -> list[tuple[type[Definition], Definition]]:
    """Give the queues, their cohorts, the flavor they share, and a LocalQueue in each namespace that uses one.

    What all nodes can allocate, where there are nodes, is the root's; what a queue deserves is shared out by weight
    where it does not say so itself.
    """
    queues = [q for q in queues if q["metadata"]["name"] != ROOT]
    parents = {str((q.get("spec") or {}).get("parent") or ROOT) for q in queues}
    total = _total(nodes)
    deserved = _deserved(queues, total)
    found: list[tuple[type[Definition], Definition]] = [(Flavor, Flavor(FLAVOR))]
    for queue in queues:
        name, spec = queue["metadata"]["name"], queue.get("spec") or {}
        parent = str(spec.get("parent") or ROOT)
        groups = _groups(spec, deserved[name])
        if name in parents:
            found.append((Cohort, Cohort(name, parent, groups, _weight(spec), **labelled(queue))))
        else:
            found.append((ClusterQueue, _queue(queue, parent, groups)))
    found.append((Cohort, Cohort(ROOT)))
    for group in pod_groups:
        namespace, name = _namespace(group), _queue_name(group)
        found.append((LocalQueue, LocalQueue(namespace, name, name)))
    return found


def workload(group: Object, around: Surroundings) -> Workload:
    """Read a PodGroup: a gang of `minMember` pods that asks for `minResources` in all."""
    metadata, spec = group["metadata"], group.get("spec") or {}
    count = int(spec.get("minMember") or 1)
    total = _amounts(spec.get("minResources"))
    requests = {r: -(-n // count) for r, n in total.items()} if count else {}
    created = milliseconds(metadata.get("creationTimestamp"))
    class_name = str(spec.get("priorityClassName") or "")
    return Workload(
        namespace=_namespace(group),
        name=metadata["name"],
        queue=_queue_name(group),
        pod_sets=(PodSet("main", count, requests),),
        priority=around.classes.get((CLASS_KIND, class_name), 0),
        created=created,
        queued_at=created,
        uid=str(metadata.get("uid") or ""),
        priority_class=class_name,
        finished=(group.get("status") or {}).get("phase") == "Completed",
        **labelled(group),
    )


def _queue(obj: Object, parent: str, groups: tuple[ResourceGroup, ...]) -> ClusterQueue:
    spec = obj.get("spec") or {}
    reclaim = "Any" if spec.get("reclaimable", True) else "Never"
    return ClusterQueue(
        name=obj["metadata"]["name"],
        cohort=parent,
        groups=groups,
        preemption=Preemption("LowerPriority", reclaim),
        weight=_weight(spec),
        stop_policy="Hold" if (obj.get("status") or {}).get("state") == "Closed" else "None",
        **labelled(obj),
    )


def _groups(spec: Object, deserved: Amounts) -> tuple[ResourceGroup, ...]:
    capability = _amounts(spec.get("capability"))
    guarantee = _amounts((spec.get("guarantee") or {}).get("resource"))
    names = sorted({*capability, *guarantee, *deserved})
    quotas = {}
    for name in names:
        nominal = max(deserved.get(name, 0), guarantee.get(name, 0))
        borrowing = capability[name] - nominal if name in capability else None
        lending = nominal - guarantee[name] if name in guarantee else None
        quotas[name] = Quota(nominal, None if borrowing is None else max(0, borrowing), lending)
    return (ResourceGroup(tuple(names), (FlavorQuotas(FLAVOR, quotas),)),) if names else ()


def _deserved(queues: Iterable[Object], total: Amounts) -> dict[str, Amounts]:
    """Share out what the queues of one parent deserve: by weight, within capability, until nothing is left."""
    queues = list(queues)
    out: dict[str, dict[str, int]] = {
        q["metadata"]["name"]: dict(_amounts((q.get("spec") or {}).get("deserved"))) for q in queues
    }
    for resource, amount_ in total.items():
        open_ = [q for q in queues if resource not in out[q["metadata"]["name"]]]
        left = amount_ - sum(d.get(resource, 0) for d in out.values())
        _fill(open_, resource, max(0, left), out)
    return {name: dict(amounts) for name, amounts in out.items()}


def _fill(queues: list[Object], resource: str, left: int, out: dict[str, dict[str, int]]) -> None:
    while queues and left > 0:
        weights = sum(_weight(q.get("spec") or {}) for q in queues)
        full = []
        for queue in queues:
            spec = queue.get("spec") or {}
            most = _amounts(spec.get("capability")).get(resource)
            if most is not None and most * weights <= left * _weight(spec):
                full.append((queue, most))
        if not full:
            for queue in queues:
                out[queue["metadata"]["name"]][resource] = left * _weight(queue.get("spec") or {}) // weights
            return
        for queue, most in full:
            out[queue["metadata"]["name"]][resource] = most
            left -= most
            queues = [q for q in queues if q is not queue]


def _total(nodes: Iterable[Object]) -> dict[str, int]:
    total: dict[str, int] = {}
    for node in nodes:
        for resource, value in _amounts((node.get("status") or {}).get("allocatable")).items():
            total[resource] = total.get(resource, 0) + value
    return total


def _amounts(value: Mapping[str, Any] | None) -> dict[str, int]:
    return {resource: amount(resource, q) for resource, q in (value or {}).items()}


def _weight(spec: Object) -> int:
    return int(spec.get("weight") or 1) * 1000


def _namespace(group: Object) -> str:
    return str(group["metadata"].get("namespace") or "default")


def _queue_name(group: Object) -> str:
    return str((group.get("spec") or {}).get("queue") or "default")
