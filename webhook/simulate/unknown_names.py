"""Names in a trace that the queues do not have: a queue or a resource, without which a job can never start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from webhook.diagnostics import Diagnostic, Place
from webhook.queue.model import Snapshot
from webhook.simulate.simulation import with_local_queues
from webhook.simulate.trace import Arrival


def unknown_names(snapshot: Snapshot, arrivals: Iterable[Arrival], file: str) -> Iterator[Diagnostic]:
    """Tell queues (TRACE002) and resources (TRACE003) that the queues do not have, each with the number of its jobs."""
    given = list(arrivals)
    local_queues = {(q.namespace, q.name): q.cluster_queue for q in with_local_queues(snapshot, given).local_queues}
    covered = {
        q.name: {r for group in q.resource_groups for r in group.covered_resources} | {"pods"}
        for q in snapshot.cluster_queues
    }
    queues: Counter[str] = Counter()
    resources: Counter[tuple[str, str]] = Counter()
    for job in given:
        queue = local_queues.get((job.namespace, job.queue))
        if queue is None:
            queues[f"{job.namespace}/{job.queue}"] += 1
        elif queue in covered:
            resources.update((queue, name) for name, n in job.requests.items() if n and name not in covered[queue])
    known = ", ".join(sorted({f"{space}/{name}" for space, name in local_queues} | set(covered))) or "none"
    for name, count in sorted(queues.items()):
        hint = "correct the name (namespace is a column of its own), or add the queue to the files of -f"
        message = f"{_jobs(count)} queue {name}, which does not exist (queues: {known})"
        yield Diagnostic("TRACE002", Place(file), message, hint=hint)
    for (holder, name), count in sorted(resources.items()):
        message = f"{_jobs(count)} resource {name}, for which ClusterQueue {holder} has no quota"
        had = ", ".join(sorted(covered[holder] - {"pods"})) or "no resource"
        yield Diagnostic("TRACE003", Place(file), message, hint=f"it has quota for {had}")


def _jobs(count: int) -> str:
    return "1 job uses" if count == 1 else f"{count:,} jobs use"
