"""Names in a trace that the queues do not have or do not take: without that queue or resource a job never starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

from webhook.diagnostics import Diagnostic, Place
from webhook.queue.definitions import Definitions
from webhook.queue.model import Snapshot
from webhook.queue.pending.namespace_selector import takes
from webhook.simulate.simulation import with_local_queues
from webhook.simulate.trace import Arrival


def unknown_names(snapshot: Snapshot, arrivals: Iterable[Arrival], file: str) -> Iterator[Diagnostic]:
    """Tell queues (TRACE002), resources (TRACE003) and namespaces (TRACE005) that never let a job start.

    Each with the number of its jobs.
    """
    given, core = list(arrivals), Definitions()
    core.define(with_local_queues(snapshot, given))
    local_queues = {(q.namespace, q.name): q.cluster_queue for q in core.local_queues.values()}
    covered = {
        q.name: {r for group in q.resource_groups for r in group.covered_resources} | {"pods"}
        for q in snapshot.cluster_queues
    }
    queues: Counter[str] = Counter()
    resources: Counter[tuple[str, str]] = Counter()
    spaces: Counter[tuple[str, str]] = Counter()
    for job in given:
        queue = local_queues.get((job.namespace, job.queue))
        if queue is None:
            queues[f"{job.namespace}/{job.queue}"] += 1
        elif queue in covered:
            resources.update((queue, name) for name, n in job.requests.items() if n and name not in covered[queue])
            spaces[queue, job.namespace] += not takes(core.cluster_queues[queue], job.namespace, core)
    known = ", ".join(sorted({f"{space}/{name}" for space, name in local_queues} | set(covered))) or "none"
    for name, count in sorted(queues.items()):
        hint = "correct the name (namespace is a column of its own), or add the queue to the files of -f"
        message = f"{_jobs(count, 'use')} queue {name}, which does not exist (queues: {known})"
        yield Diagnostic("TRACE002", Place(file), message, hint=hint)
    for (holder, name), count in sorted(resources.items()):
        message = f"{_jobs(count, 'use')} resource {name}, for which ClusterQueue {holder} has no quota"
        had = ", ".join(sorted(covered[holder] - {"pods"})) or "no resource"
        yield Diagnostic("TRACE003", Place(file), message, hint=f"it has quota for {had}")
    for (holder, name), count in sorted((+spaces).items()):
        message = f"{_jobs(count, 'are')} in namespace {name}, which ClusterQueue {holder} does not select"
        hint = "add the column namespace, or the Namespace with its labels to -f"
        yield Diagnostic("TRACE005", Place(file), message, hint=hint)


def _jobs(count: int, verb: Literal["use", "are"]) -> str:
    return f"1 job {'uses' if verb == 'use' else 'is'}" if count == 1 else f"{count:,} jobs {verb}"
