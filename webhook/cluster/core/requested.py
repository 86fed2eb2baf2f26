"""What pending Workloads request, added up by LocalQueue, for the metrics."""

from __future__ import annotations

from collections import Counter

from webhook.queue.definitions import local_of
from webhook.queue.model import Workload, is_admissible
from webhook.queue.quota.usage_by_owner import requests_of

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
    if not is_admissible(workload):
        return
    local = local_of(workload)
    amounts = requested.setdefault(local, Counter())
    for resource, amount in requests_of(workload).items():
        amounts[resource] += sign * amount
    if sign < 0 and not any(amounts.values()):
        del requested[local]
