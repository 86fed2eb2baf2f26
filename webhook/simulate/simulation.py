"""Runs a trace against queues and rules in virtual time: the queue core decides, and admitted jobs run for their time.

Deterministic: the clock goes from event to event, and events of one time are taken in a fixed order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from webhook.queue.decisions import Admitted
from webhook.queue.model import ClusterQueue, LocalQueue, Namespace, PodSet, Snapshot, Workload
from webhook.queue.rules import Rules
from webhook.queue.state import State
from webhook.queue.virtual_time import VirtualTime, Witness
from webhook.simulate.trace import Arrival

Progress = Callable[[int], None]


@dataclass(slots=True)
class SimulatedJob:
    """What became of one arrival: times in milliseconds, -1 where it did not come to that.

    `started` is the first admission, `waited` the sum of its waits, `lost` the time that preemptions threw away.
    """

    arrival: Arrival
    cluster_queue: str
    started: int = -1
    finished: int = -1
    waited: int = 0
    preempted: int = 0
    lost: int = 0
    waits_since: int = 0
    runs_since: int = -1
    usage: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UsageSample:
    """How things stood from `at` on: use by (ClusterQueue, resource), and how many wait in each; no zeros."""

    at: int
    usage: Mapping[tuple[str, str], int]
    pending: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """A simulation's end: every job, and how use changed over time. `end` is when the last job finished."""

    name: str
    jobs: tuple[SimulatedJob, ...]
    samples: tuple[UsageSample, ...]
    end: int
    decisions: int
    snapshot: Snapshot


def simulate(
    snapshot: Snapshot,
    arrivals: Iterable[Arrival],
    rules: Rules,
    name: str = "",
    progress: Progress | None = None,
    *,
    begun: int = 0,
) -> SimulationResult:
    """Run a trace to its end: until all work finished, or nothing that waits can ever start.

    Evicted work starts again from the beginning. `progress` is told the number of finished jobs. `begun` is what the
    clock says at the trace's time 0, for rules that look at it (milliseconds since the epoch); results count from 0.
    """
    return _Simulation(snapshot, sorted(arrivals, key=lambda a: a.at), rules, progress, begun).run(name)


class _Simulation(Witness):
    def __init__(
        self, snapshot: Snapshot, arrivals: list[Arrival], rules: Rules, progress: Progress | None, begun: int
    ) -> None:
        self.snapshot = with_local_queues(snapshot, arrivals)
        self.time = VirtualTime(State.from_snapshot(self.snapshot), rules, self)
        self.progress, self.begun = progress, begun
        self.jobs: dict[str, SimulatedJob] = {}
        local_queues = {(q.namespace, q.name): q.cluster_queue for q in self.snapshot.local_queues}
        for arrival in _named_apart(arrivals):
            key = f"{arrival.namespace}/{arrival.name}"
            self.jobs[key] = SimulatedJob(arrival, local_queues.get((arrival.namespace, arrival.queue), ""))
            self.time.arrive(begun + arrival.at, key, partial(self.made, arrival))
        self.pods: dict[object, tuple[PodSet, ...]] = {}
        """Equal pod sets are one object, which the core then need not compare."""
        self.usage: dict[tuple[str, str], int] = {}
        self.waiting: dict[str, int] = defaultdict(int)
        self.samples: list[UsageSample] = []
        self.done = 0

    def run(self, name: str) -> SimulationResult:
        while self.time.go_on():
            pass
        end = max((j.finished for j in self.jobs.values() if j.finished >= 0), default=0)
        return SimulationResult(
            name, tuple(self.jobs.values()), tuple(self.samples), end, self.time.calls, self.snapshot
        )

    def made(self, arrival: Arrival) -> Workload:
        shape = arrival.count, arrival.least, tuple(arrival.requests.items())
        pods = self.pods.setdefault(shape, pod_sets_of(arrival))
        return workload_of(replace(arrival, at=self.begun + arrival.at), pods)

    def arrived(self, key: str, now: int) -> None:
        job = self.jobs[key]
        job.waits_since = now - self.begun
        self.waiting[job.cluster_queue] += 1

    def admitted(self, decision: Admitted, now: int) -> None:
        now -= self.begun
        job = self.jobs[decision.workload]
        usage: dict[str, int] = defaultdict(int)
        for pods in decision.pod_sets:
            for resource, n in pods.resource_usage.items():
                usage[resource] += n
        job.usage = usage
        job.started = now if job.started < 0 else job.started
        job.waited += now - job.waits_since
        job.runs_since = now
        self.waiting[job.cluster_queue] -= 1
        self.hold(job, 1)

    def evicted(self, key: str, now: int) -> None:
        now -= self.begun
        job = self.jobs[key]
        self.hold(job, -1)
        job.preempted += 1
        job.lost += now - job.runs_since
        job.waits_since = now
        self.waiting[job.cluster_queue] += 1

    def finished(self, key: str, now: int) -> None:
        job = self.jobs[key]
        job.finished = now - self.begun
        self.hold(job, -1)
        self.done += 1
        if self.progress:
            self.progress(self.done)

    def settled(self, now: int, *, moved: bool) -> None:
        if moved:
            waiting = {name: number for name, number in self.waiting.items() if number}
            self.samples.append(UsageSample(now - self.begun, dict(self.usage), waiting))

    def hold(self, job: SimulatedJob, sign: int) -> None:
        for resource, n in job.usage.items():
            place = job.cluster_queue, resource
            held = self.usage.get(place, 0) + sign * n
            if held:
                self.usage[place] = held
            else:
                self.usage.pop(place, None)  # each sample copies what is here, so that only what is held may be


def _named_apart(arrivals: Sequence[Arrival]) -> Iterator[Arrival]:
    """Yield the arrivals, each after the first of a name under a name that no other has."""
    known, given = {(a.namespace, a.name) for a in arrivals}, set[tuple[str, str]]()
    for number, arrival in enumerate(arrivals):
        space, name = arrival.namespace, arrival.name
        while (space, name) in (given if name == arrival.name else known):
            name = f"{name}-{number}"
        given.add((space, name))
        known.add((space, name))
        yield arrival if name == arrival.name else replace(arrival, name=name)


def pod_sets_of(arrival: Arrival) -> tuple[PodSet, ...]:
    """Return the pods of an arrival."""
    return (PodSet("main", arrival.count, arrival.requests, arrival.least),)


def workload_of(arrival: Arrival, pod_sets: tuple[PodSet, ...]) -> Workload:
    """Return an arrival as the core's workload; its UID is its name, its time that of its arrival."""
    return Workload(
        arrival.namespace,
        arrival.name,
        arrival.queue,
        pod_sets,
        priority=arrival.priority,
        created=arrival.at,
        uid=f"{arrival.namespace}/{arrival.name}",
        queued_at=arrival.at,
        user=arrival.user,
        run_time=arrival.run,
        priority_class=arrival.group,
    )


def with_local_queues(snapshot: Snapshot, arrivals: Iterable[Arrival]) -> Snapshot:
    """Add what a trace takes for granted: its namespaces, and a LocalQueue where it names a ClusterQueue itself."""
    local_queues = {(q.namespace, q.name) for q in snapshot.local_queues}
    known = {n.name for n in snapshot.namespaces}
    queues: dict[str, ClusterQueue] = {q.name: q for q in snapshot.cluster_queues}
    wanted = sorted({(a.namespace, a.queue) for a in arrivals})
    new = [LocalQueue(ns, name, name) for ns, name in wanted if (ns, name) not in local_queues and name in queues]
    spaces = sorted({ns for ns, _ in wanted} - known)
    return replace(
        snapshot,
        local_queues=(*snapshot.local_queues, *new),
        namespaces=(*snapshot.namespaces, *(Namespace(ns) for ns in spaces)),
    )
