"""What happens in the year: the jobs of a trace, again and again until the year is over, and the queues they go to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from webhook.api.amounts import text, texts
from webhook.documents import Document
from webhook.offline.files import objects_of, read_files
from webhook.queue.model import ClusterQueue, Snapshot
from webhook.simulate.generate import generate
from webhook.simulate.trace import Arrival, read_trace

JSON = dict[str, Any]
DAY: Final = 86_400_000
KUEUE: Final = "kueue.x-k8s.io/v1beta2"
QUEUES: Final = 6
QUOTA: Final = 20
"""CPUs of a queue."""
BUSY: Final = 0.9
"""Of all quota, on average."""
CLASSES: Final = (("small", 0.7, 1, 1, 100), ("medium", 0.2, 4, 2, 50), ("large", 0.1, 8, 3, 100))
"""Share of the jobs, CPUs, run time in units, priority."""
PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"


@dataclass(frozen=True, slots=True)
class Load:
    """The objects that are there before, and the jobs in order of arrival; times in milliseconds."""

    objects: Sequence[JSON]
    arrivals: Sequence[Arrival]
    days: float

    @property
    def count(self) -> int:
        """How many jobs come."""
        return sum(1 for _ in self.jobs())

    def jobs(self) -> Iterator[Arrival]:
        """Give the jobs of the whole time: the trace from its start again, when it is over."""
        span = max(max((a.at for a in self.arrivals), default=0), DAY)
        end, turn = self.days * DAY, 0
        while turn * span < end:
            for arrival in self.arrivals:
                at = turn * span + arrival.at
                if at < end:
                    yield replace(arrival, at=at, name=f"{arrival.name}-{turn}") if turn else arrival
            turn += 1


def synthetic(jobs: int, days: float) -> Load:
    """Make so many jobs in six queues of two cohorts, which are busy and borrow, preempt and wait at times."""
    each, span = jobs / QUEUES, days * DAY
    unit = BUSY * QUOTA * span / (each * sum(share * cpus * runs for _, share, cpus, runs, _ in CLASSES))
    work = [
        {
            "class": name,
            "count": max(1, round(each * share)),
            "every": f"{round(span / max(1, round(each * share)))}ms",
            "run": f"{round(unit * runs)}ms",
            "priority": priority,
            "requests": {"cpu": cpus},
            "user": f"user-{name}",
        }
        for name, share, cpus, runs, priority in CLASSES
    ]
    preemption = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    quota = {"cpu": {"nominal": QUOTA, "borrowingLimit": 100}}
    queue = {"name": "queue", "count": QUEUES // 2, "quota": quota, "preemption": preemption, "workloads": work}
    made = generate(Document({"cohorts": [{"name": "cohort", "count": 2, "queues": [queue]}]}, "year"))
    return Load([*_objects_of(made.snapshot), *_classes(made.arrivals)], made.arrivals, days)


def from_files(trace: Path, queues: Sequence[Path], days: float) -> Load:
    """Read an exported trace, and the files of the queues it goes to. Raises SourceError."""
    arrivals = read_trace(trace.read_text(encoding="utf-8"), str(trace))
    objects = objects_of(read_files(queues).documents)
    named = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "Namespace"}
    spaces = sorted({arrival.namespace for arrival in arrivals} - named)
    made: list[JSON] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in spaces]
    return Load([*made, *objects, *_classes(arrivals)], arrivals, days)


def job(arrival: Arrival) -> JSON:
    """Give the suspended Job of an arrival; how long it runs is the kubelet's to know."""
    resources = {"requests": texts(arrival.requests)}
    container = {"name": "main", "image": "registry.example/train:1", "resources": resources}
    metadata: JSON = {"name": arrival.name, "namespace": arrival.namespace}
    metadata["labels"] = {"kueue.x-k8s.io/queue-name": arrival.queue, PRIORITY_LABEL: f"priority-{arrival.priority}"}
    metadata["annotations"] = {"sluice.dev/user": arrival.user} if arrival.user else {}
    if arrival.least is not None:
        metadata["annotations"]["kueue.x-k8s.io/job-min-parallelism"] = str(arrival.least)
    spec = {"suspend": True, "parallelism": arrival.count, "completions": arrival.count}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {**spec, "template": template}}


def _classes(arrivals: Sequence[Arrival]) -> Iterator[JSON]:
    for priority in sorted({arrival.priority for arrival in arrivals}):
        metadata = {"name": f"priority-{priority}"}
        yield {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": metadata, "value": priority}


def _objects_of(snapshot: Snapshot) -> Iterator[JSON]:
    for namespace in snapshot.namespaces:
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace.name}}
    for flavor in snapshot.flavors:
        yield {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": flavor.name}, "spec": {}}
    for queue in snapshot.cluster_queues:
        yield {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": queue.name}, "spec": _spec_of(queue)}
    for door in snapshot.local_queues:
        metadata = {"name": door.name, "namespace": door.namespace}
        spec = {"clusterQueue": door.cluster_queue}
        yield {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": spec}


def _spec_of(queue: ClusterQueue) -> JSON:
    groups = []
    for group in queue.resource_groups:
        flavors = []
        for flavor in group.flavors:
            rows = [
                {
                    "name": name,
                    "nominalQuota": text(name, quota.nominal_quota),
                    **({"borrowingLimit": text(name, quota.borrowing_limit)} if quota.borrowing_limit else {}),
                }
                for name, quota in flavor.resources.items()
            ]
            flavors.append({"name": flavor.name, "resources": rows})
        groups.append({"coveredResources": list(group.covered_resources), "flavors": flavors})
    preemption = {
        "withinClusterQueue": queue.preemption.within_cluster_queue,
        "reclaimWithinCohort": queue.preemption.reclaim_within_cohort,
    }
    return {
        "cohortName": queue.cohort_name,
        "namespaceSelector": {},
        "queueingStrategy": queue.queueing_strategy,
        "resourceGroups": groups,
        "preemption": preemption,
    }
