"""Reads Volcano's Queue and PodGroup into the queue core's definitions: one flavor, a cohort per parent queue.

`guarantee` is never lent, `deserved` is the nominal quota, `capability` limits borrowing; weights, and fields that only
rules read, become annotations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from webhook.api.amounts import amount
from webhook.api.compatibility import unsupported
from webhook.api.snapshot.queue_objects import labelled
from webhook.api.snapshot.workload import Surroundings
from webhook.kube.times import milliseconds
from webhook.queue.events import Definition
from webhook.queue.model import (
    WEIGHT,
    Admission,
    ClusterQueue,
    Cohort,
    Flavor,
    FlavorQuotas,
    LocalQueue,
    PodSet,
    PodSetAssignment,
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
LET_IN: Final = ("Inqueue", "Running", "Unknown")
"""Phases of a PodGroup whose pods may be there."""


def definitions(
    queues: Iterable[Object], pod_groups: Iterable[Object], nodes: Iterable[Object]
) -> list[tuple[type[Definition], Definition]]:
    """Return the queues, their cohorts, the flavor they share, and a LocalQueue in each namespace that uses one.

    What all nodes can allocate, where there are nodes, is the root's. What a queue deserves is shared out among its
    children, by weight where they do not say so themselves; what they leave is the parent's own.
    """
    queues = [q for q in queues if q["metadata"]["name"] != ROOT]
    children: dict[str, list[Object]] = {}
    for queue in queues:
        children.setdefault(str((queue.get("spec") or {}).get("parent") or ROOT), []).append(queue)
    deserved = _deserved(children, _total(nodes))
    found: list[tuple[type[Definition], Definition]] = [(Flavor, Flavor(FLAVOR))]
    for queue in queues:
        name, spec = queue["metadata"]["name"], queue.get("spec") or {}
        parent = str(spec.get("parent") or ROOT)
        below = _sum(deserved.get(child["metadata"]["name"], {}) for child in children.get(name, ()))
        groups = _groups(spec, deserved.get(name, {}), below)
        if name in children:
            found.append((Cohort, Cohort(name, parent, groups, _weight(spec), **labelled(queue))))
        else:
            found.append((ClusterQueue, _queue(queue, parent, groups)))
    below = _sum(deserved[q["metadata"]["name"]] for q in children.get(ROOT, ()))
    found.append((Cohort, Cohort(ROOT, resource_groups=_groups({}, deserved[ROOT], below if deserved[ROOT] else {}))))
    for group in pod_groups:
        namespace, name = _namespace(group), _queue_name(group)
        found.append((LocalQueue, LocalQueue(namespace, name, name)))
    return found


def workload(group: Object, around: Surroundings) -> Workload:
    """Read a PodGroup: a gang of `minMember` pods that asks for `minResources` in all.

    One that Volcano let in (its phase is Inqueue, Running or Unknown) holds as much of its queue.
    """
    metadata, spec = group["metadata"], group.get("spec") or {}
    count = int(spec.get("minMember") or 1)
    total = _amounts(spec.get("minResources"))
    requests = {r: -(-n // count) for r, n in total.items()} if count else {}
    created = milliseconds(metadata.get("creationTimestamp"))
    class_name = str(spec.get("priorityClassName") or "")
    phase = (group.get("status") or {}).get("phase")
    pods = PodSet("main", count, requests)
    return Workload(
        namespace=_namespace(group),
        name=metadata["name"],
        queue_name=_queue_name(group),
        pod_sets=(pods,),
        priority=around.classes.get((CLASS_KIND, class_name), 0),
        created=created,
        queued_at=created,
        uid=str(metadata.get("uid") or ""),
        priority_class=class_name,
        finished=phase == "Completed",
        admission=_admission(group, pods, created) if phase in LET_IN else None,
        admitted=phase in LET_IN,
        problem=unsupported.reason("PodGroup", group),
        **labelled(group),
    )


def _admission(group: Object, pods: PodSet, created: int) -> Admission:
    usage = {resource: each * pods.count for resource, each in pods.requests.items()}
    assignment = PodSetAssignment(pods.name, dict.fromkeys(usage, FLAVOR), usage, pods.count)
    rows = (group.get("status") or {}).get("conditions") or ()
    times = [milliseconds(row.get("lastTransitionTime")) for row in rows if row.get("type") == "Scheduled"]
    return Admission(_queue_name(group), (assignment,), max(times, default=created))


def _queue(obj: Object, parent: str, groups: tuple[ResourceGroup, ...]) -> ClusterQueue:
    spec = obj.get("spec") or {}
    reclaim = "Any" if spec.get("reclaimable", True) else "Never"
    return ClusterQueue(
        name=obj["metadata"]["name"],
        cohort_name=parent,
        resource_groups=groups,
        preemption=Preemption("LowerPriority", reclaim),
        weight=_weight(spec),
        problem=unsupported.reason("Queue", obj),
        stop_policy="Hold" if (obj.get("status") or {}).get("state") == "Closed" else "None",
        **labelled(obj),
    )


def _groups(spec: Object, deserved: Amounts, below: Amounts) -> tuple[ResourceGroup, ...]:
    """Return the quota of a queue: what it deserves, but for what its children do already (`below`)."""
    capability = _amounts(spec.get("capability"))
    guarantee = _amounts((spec.get("guarantee") or {}).get("resource"))
    names = sorted({*capability, *guarantee, *deserved})
    quotas = {}
    for name in names:
        whole = max(deserved.get(name, 0), guarantee.get(name, 0), below.get(name, 0))
        borrowing = capability[name] - whole if name in capability else None
        lending = whole - guarantee[name] if name in guarantee else None
        own = whole - below.get(name, 0)
        quotas[name] = Quota(own, None if borrowing is None else max(0, borrowing), lending)
    return (ResourceGroup(tuple(names), (FlavorQuotas(FLAVOR, quotas),)),) if names else ()


def _deserved(children: Mapping[str, list[Object]], total: Amounts) -> dict[str, dict[str, int]]:
    """Share out what each queue deserves, from the root down; what stands on a circle of parents gets nothing."""
    out: dict[str, dict[str, int]] = {ROOT: dict(total)}
    waiting = [ROOT]
    while waiting:
        parent = waiting.pop()
        queues = [q for q in children.get(parent, ()) if q["metadata"]["name"] not in out]
        shared = {q["metadata"]["name"]: dict(_amounts((q.get("spec") or {}).get("deserved"))) for q in queues}
        for resource, amount_ in out[parent].items():
            open_ = [q for q in queues if resource not in shared[q["metadata"]["name"]]]
            left = amount_ - sum(d.get(resource, 0) for d in shared.values())
            _fill(open_, resource, max(0, left), shared)
        out.update(shared)
        waiting += shared
    return out


def _sum(parts: Iterable[Amounts]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for resource, number in part.items():
            total[resource] = total.get(resource, 0) + number
    return total


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
    return _sum(_amounts((node.get("status") or {}).get("allocatable")) for node in nodes)


def _amounts(value: Mapping[str, Any] | None) -> dict[str, int]:
    return {resource: amount(resource, q) for resource, q in (value or {}).items()}


def _weight(spec: Object) -> int:
    return max(1, int(spec.get("weight") or 1)) * WEIGHT


def _namespace(group: Object) -> str:
    return str(group["metadata"].get("namespace") or "default")


def _queue_name(group: Object) -> str:
    return str((group.get("spec") or {}).get("queue") or "default")
