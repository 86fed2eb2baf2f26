"""The jobs that ran, run again: under the quota and rules of today, and under others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from webhook.dashboard.model.simulation import SeriesPoint, SimulatedSeries
from webhook.queue.model import ClusterQueue, FlavorQuotas, Quota, ResourceGroup, Snapshot
from webhook.queue.rules import Rules
from webhook.simulate.simulation import SimulationResult, simulate
from webhook.simulate.summary import capacity, summarise
from webhook.simulate.trace import Arrival

T = TypeVar("T")
POINTS: Final = 400
"""Points of a series: more cannot be seen."""


@dataclass(frozen=True, slots=True)
class OtherQuota:
    """Another nominal quota of a queue, in the core's numbers. `flavor` is empty where the queue has one of it."""

    queue: str
    resource: str
    quota: int
    flavor: str = ""


class UnknownQuota(ValueError):
    """A queue has no such quota; `field` is what of the question is wrong."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def with_quota(snapshot: Snapshot, other: OtherQuota) -> Snapshot:
    """Return the definitions with another quota. Raises UnknownQuota where the queue has none of this kind."""
    queues = {queue.name: queue for queue in snapshot.cluster_queues}
    queue = queues.get(other.queue)
    if queue is None:
        raise UnknownQuota("queue", f'ClusterQueue "{other.queue}" does not exist')
    flavors = [f.name for group in queue.resource_groups for f in group.flavors if other.resource in f.resources]
    if not flavors:
        raise UnknownQuota("resource", f"ClusterQueue {other.queue} has no quota of {other.resource}")
    if other.flavor and other.flavor not in flavors:
        raise UnknownQuota(
            "flavor", f"ClusterQueue {other.queue} has no quota of {other.resource} of flavor {other.flavor}"
        )
    if not other.flavor and len(flavors) > 1:
        raise UnknownQuota("flavor", f"choose one of the flavors {', '.join(flavors)}")
    queues[other.queue] = _replaced(queue, replace(other, flavor=other.flavor or flavors[0]))
    return replace(snapshot, cluster_queues=tuple(queues.values()))


def _replaced(queue: ClusterQueue, other: OtherQuota) -> ClusterQueue:
    def quotas(flavor: FlavorQuotas) -> FlavorQuotas:
        if flavor.name != other.flavor or other.resource not in flavor.resources:
            return flavor
        quota: Quota = replace(flavor.resources[other.resource], nominal_quota=other.quota)
        return replace(flavor, resources={**flavor.resources, other.resource: quota})

    def group(one: ResourceGroup) -> ResourceGroup:
        return replace(one, flavors=tuple(map(quotas, one.flavors)))

    return replace(queue, resource_groups=tuple(map(group, queue.resource_groups)))


def run(
    name: str, snapshot: Snapshot, rules: Rules, arrivals: Sequence[Arrival], queue: str, tell: Callable[[int], None]
) -> SimulatedSeries:
    """Run the jobs through queues and rules; points are of `queue`, or of all for the empty name.

    Times of the result count from the first arrival. `tell` hears how many have finished.
    """
    begun = min((arrival.at for arrival in arrivals), default=0)
    from_start = (replace(arrival, at=arrival.at - begun) for arrival in arrivals)
    outcome = simulate(snapshot, from_start, rules, name, tell, begun=begun)
    told = summarise(outcome, by=("queue",))
    total = told.total
    return SimulatedSeries(
        name,
        total.jobs,
        total.finished,
        told.never_started,
        round(total.wait_mean),
        total.wait_median,
        total.wait_p90,
        total.wait_max,
        total.preemptions,
        total.lost,
        outcome.end,
        round(told.fairness, 4),
        {resource: round(share, 4) for resource, share in told.utilisation.items()},
        {row.queue: round(row.wait_mean) for row in told.rows},
        _points(outcome, queue),
    )


def _points(outcome: SimulationResult, queue: str) -> tuple[SeriesPoint, ...]:
    points = []
    for sample in thinned(outcome.samples, POINTS):
        used: dict[str, int] = {}
        for (name, resource), number in sample.usage.items():
            if queue in ("", name):
                used[resource] = used.get(resource, 0) + number
        waiting = sum(number for name, number in sample.pending.items() if queue in ("", name))
        points.append(SeriesPoint(sample.at, used, waiting))
    return tuple(points)


def thinned(points: Sequence[T], most: int) -> list[T]:
    """Return as many points as can be seen; the last one stays."""
    step = -(-len(points) // most) or 1
    return [*points[:-1:step], *points[-1:]]


def nominal(snapshot: Snapshot, queue: str) -> dict[str, int]:
    """Return the nominal quota of a queue, or of all for the empty name, by resource."""
    if not queue:
        return capacity(snapshot)
    found = [one for one in snapshot.cluster_queues if one.name == queue]
    return capacity(Snapshot(cluster_queues=tuple(found)))
