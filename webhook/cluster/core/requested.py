"""What pending Workloads request, added up by LocalQueue, for the metrics."""

from __future__ import annotations

from collections import Counter

from webhook.queue.model import Workload

Requested = dict[str, Counter[str]]
"""Amounts by LocalQueue (`namespace/name`) and resource; only queues with a Workload that requests something."""


def add(requested: Requested, workload: Workload) -> None:
    """Add the requests of a Workload, if it is pending in a queue."""
    _count(requested, workload, 1)


def subtract(requested: Requested, workload: Workload) -> None:
    """Subtract the requests of a Workload that was added as it is."""
    _count(requested, workload, -1)


def _count(requested: Requested, workload: Workload, sign: int) -> None:
    """As in Kueue, only what waits in a queue counts."""
    if not workload.admissible:
        return
    local = f"{workload.namespace}/{workload.queue_name}"
    amounts = requested.setdefault(local, Counter())
    for pods in workload.pod_sets:
        for resource, amount in pods.requests.items():
            amounts[resource] += sign * pods.count * amount
    if sign < 0 and not any(amounts.values()):
        del requested[local]
