"""What files of a plan name but do not have, and what is assumed of it: classes of priority, admission checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from webhook.api.snapshot.queue_objects import checks_strategy
from webhook.jobs.read_job import read_job
from webhook.offline.plan.objects import Cluster

NO_PRIORITY: Final = "its jobs are ordered without it"
_OF_KUBERNETES: Final = ("system-cluster-critical", "system-node-critical")
"""The PriorityClasses that every cluster has."""


def missing(objects: Iterable[dict[str, Any]], cluster: Cluster) -> Iterator[str]:
    """Yield a note for each object that a queue, or a job that makes a Workload, names and that is not there."""
    given = list(objects)
    there = {(obj.get("kind"), (obj.get("metadata") or {}).get("name")) for obj in given}
    made = set(cluster.jobs.values())
    found: list[tuple[str, str | None, str]] = []
    for obj in given:
        if obj.get("kind") == "ClusterQueue":
            checks = checks_strategy(obj.get("spec") or {}).admission_checks
            found += [("AdmissionCheck", check.name, "its queues are inactive") for check in checks]
            continue
        job = read_job(obj)
        metadata = obj.get("metadata") or {}
        if job is not None and f"{obj['kind']} {metadata.get('namespace')}/{metadata.get('name')}" in made:
            found.append(("WorkloadPriorityClass", job.priority_class, NO_PRIORITY))
            found.append(("PriorityClass", job.pod_priority_class, NO_PRIORITY))
    for kind, name, assumed in dict.fromkeys(found):
        if name and name not in _OF_KUBERNETES and (kind, name) not in there:
            yield f'no {kind} "{name}" among the objects: {assumed}'
