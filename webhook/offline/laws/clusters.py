"""Random small clusters for the laws of queue rules, as Kubernetes objects; the same seed gives the same cluster.

Objects, not the core's own types, so that a cluster in which a law is broken is a file that `sluice plan` reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final

from webhook.kube.condition_types import ADMITTED, QUOTA_RESERVED
from webhook.queue.model import Snapshot

Object = dict[str, Any]
API: Final = "kueue.x-k8s.io/v1beta2"
GPU: Final = "nvidia.com/gpu"
NAMESPACE: Final = "team"
NOW: Final = 1_767_614_400_000
"""Milliseconds: 2026-01-05T12:00:00Z, a Monday."""
BORN: Final = "2026-01-05T0{hour}:00:00Z"
STARTED: Final = "2026-01-05T11:00:00Z"
COHORTS: Final = ("left", "right", "low")
QUEUES: Final = ("a", "b", "c", "d")
_POLICIES: Final = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")


def random_cluster(random: Random, *, flavors: int = 2, strict: bool = True, whole: bool = False) -> list[Object]:
    """Return a cluster: cohorts, up to four queues, and pending Workloads.

    `flavors` bounds the flavors of a queue, `strict` allows StrictFIFO queues, `whole` no Workload that may be smaller.
    """
    names = [f"flavor-{at + 1}" for at in range(random.randint(1, flavors))]
    queues = QUEUES[: random.randint(1, len(QUEUES))]
    objects = [named("Namespace", NAMESPACE, api="v1"), *(named("ResourceFlavor", n, spec={}) for n in names)]
    objects += _cohorts(random, names)
    for name in queues:
        objects.append(_queue(random, name, names, strict=strict))
        objects.append(named("LocalQueue", name, NAMESPACE, spec={"clusterQueue": name}))
    return [*objects, *(_workload(random, at, queues, whole=whole) for at in range(random.randint(2, 12)))]


def lone_queue(random: Random) -> list[Object]:
    """Return a queue without a cohort that is full of small Workloads, and a big one that waits."""
    size = random.randint(8, 16)
    quota = [{"name": "flavor-1", "resources": [{"name": GPU, "nominalQuota": str(size)}]}]
    spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": [GPU], "flavors": quota}]}
    objects = [named("Namespace", NAMESPACE, api="v1"), named("ResourceFlavor", "flavor-1", spec={})]
    objects += [named("ClusterQueue", "a", spec=spec), named("LocalQueue", "a", NAMESPACE, spec={"clusterQueue": "a"})]
    for at in range(size):
        small = workload(f"small-{at:02}", "a", [pod_set("main", 1, 1)], hour=1)
        objects.append(running(small, "a", [{"name": "main", "count": 1, **_assigned("flavor-1", 1)}]))
    return [*objects, workload("big", "a", [pod_set("main", 1, random.randint(8, size))], hour=2)]


def named(kind: str, name: str, namespace: str = "", api: str = API, **fields: Any) -> Object:
    """Return an object of a kind."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def workload(name: str, queue: str, pod_sets: list[Object], priority: int = 0, hour: int = 0) -> Object:
    """Return a Workload that waits since an hour of the morning."""
    made = named("Workload", name, NAMESPACE)
    made["metadata"] |= {"uid": name, "creationTimestamp": BORN.format(hour=hour)}
    made["spec"] = {"queueName": queue, "priority": priority, "podSets": pod_sets}
    return made


def pod_set(name: str, count: int, gpus: int, least: int | None = None) -> Object:
    """Return a pod set whose pods ask for so many GPUs; `least` is the number it may start with."""
    container = {"name": "main", "resources": {"requests": {GPU: str(gpus)}}}
    made: Object = {"name": name, "count": count, "template": {"spec": {"containers": [container]}}}
    return made if least is None else {**made, "minCount": least}


def running(waiting: Object, queue: str, assignments: list[Object]) -> Object:
    """Return a Workload as one that is admitted to a queue."""
    admission = {"clusterQueue": queue, "podSetAssignments": assignments}
    conditions = [
        {"type": type_, "status": "True", "reason": type_, "message": "", "lastTransitionTime": STARTED}
        for type_ in (QUOTA_RESERVED, ADMITTED)
    ]
    return {**waiting, "status": {"admission": admission, "conditions": conditions}}


def at_present(objects: Sequence[Object], now: Snapshot) -> list[Object]:
    """Return objects as a state of them stands: who holds quota has its admission, who is gone is left out."""
    standing = {w.key: w for w in now.workloads}
    made: list[Object] = []
    for obj in objects:
        if obj["kind"] != "Workload":
            made.append(obj)
        elif (found := standing.get(f"{NAMESPACE}/{obj['metadata']['name']}")) is not None:
            bare = {key: value for key, value in obj.items() if key != "status"}
            held = found.admission
            assigned = [
                {"name": p.name, "count": p.count, "flavors": dict(p.flavors),
                 "resourceUsage": {r: str(amount) for r, amount in p.resource_usage.items()}}
                for p in (held.pod_set_assignments if held else ())
            ]  # fmt: skip
            made.append(running(bare, held.cluster_queue, assigned) if held else bare)
    return made


def _assigned(flavor: str, gpus: int) -> Object:
    return {"flavors": {GPU: flavor}, "resourceUsage": {GPU: str(gpus)}}


def _cohorts(random: Random, flavors: Sequence[str]) -> list[Object]:
    made = []
    for name in COHORTS:
        spec: Object = {"resourceGroups": _groups(random, flavors, limits=False)} if random.random() < 0.3 else {}
        if name == "low" and random.random() < 0.5:
            spec["parentName"] = "left"
        made.append(named("Cohort", name, spec=spec))
    return made


def _queue(random: Random, name: str, flavors: Sequence[str], *, strict: bool) -> Object:
    cohort = random.choice(("", *COHORTS))
    reclaim = random.choice((*_POLICIES, "Any"))
    preemption: Object = {"withinClusterQueue": random.choice(_POLICIES), "reclaimWithinCohort": reclaim}
    if reclaim != "Never" and random.random() < 0.3:
        preemption["borrowWithinCohort"] = {"policy": "LowerPriority", "maxPriorityThreshold": random.randint(0, 2)}
    spec: Object = {
        "namespaceSelector": {},
        "resourceGroups": _groups(random, flavors, limits=bool(cohort)),
        "preemption": preemption,
        "fairSharing": {"weight": str(random.choice((1, 1, 2)))},
        "flavorFungibility": {
            "whenCanBorrow": random.choice(("MayStopSearch", "TryNextFlavor")),
            "whenCanPreempt": random.choice(("MayStopSearch", "TryNextFlavor")),
        },
    }
    if cohort:
        spec["cohortName"] = cohort
    if strict and random.random() < 0.3:
        spec["queueingStrategy"] = "StrictFIFO"
    return named("ClusterQueue", name, spec=spec)


def _groups(random: Random, flavors: Sequence[str], *, limits: bool) -> list[Object]:
    used = flavors[: random.randint(1, len(flavors))]
    rows = [{"name": flavor, "resources": [_quota(random, limits=limits)]} for flavor in used]
    return [{"coveredResources": [GPU], "flavors": rows}]


def _quota(random: Random, *, limits: bool) -> Object:
    nominal = random.randint(0, 12)
    quota: Object = {"name": GPU, "nominalQuota": str(nominal)}
    if limits and random.random() < 0.4:
        quota["borrowingLimit"] = str(random.randint(0, 8))
    if limits and random.random() < 0.3:
        quota["lendingLimit"] = str(random.randint(0, nominal))
    return quota


def _workload(random: Random, at: int, queues: Sequence[str], *, whole: bool) -> Object:
    sets = []
    for number in range(random.choice((1, 1, 2))):
        count = random.randint(1, 3)
        least = random.randint(1, count) if not whole and number == 0 and random.random() < 0.2 else None
        sets.append(pod_set(f"set-{number}", count, random.randint(1, 4), least))
    made = workload(f"job-{at:02}", random.choice(queues), sets, random.randint(0, 3), random.randint(0, 5))
    if random.random() < 0.3:  # longer than a law is tried for, so that nobody is evicted for it
        made["spec"]["maximumExecutionTimeSeconds"] = 3600 * random.randint(2, 30)
    return made
