"""Short ways to write snapshots for the tests of the queue core."""

from __future__ import annotations

from webhook.queue.decisions import Decisions
from webhook.queue.events import WorkloadEvicted
from webhook.queue.memory import memory_of, remember
from webhook.queue.model import (
    Admission,
    ClusterQueue,
    Cohort,
    Flavor,
    FlavorQuotas,
    LocalQueue,
    Namespace,
    PodSet,
    PodSetAssignment,
    Quota,
    ResourceGroup,
    Snapshot,
    Workload,
)
from webhook.queue.state import State

NS = "team"
FLAVOR = "default"


def group(*flavors: tuple[str, dict[str, Quota | int]]) -> ResourceGroup:
    """A resource group: flavors with their quotas by resource; an int is a nominal quota."""
    quotas = tuple(
        FlavorQuotas(name, {r: q if isinstance(q, Quota) else Quota(q) for r, q in amounts.items()})
        for name, amounts in flavors
    )
    return ResourceGroup(tuple(quotas[0].resources), quotas)


def queue(name: str, nominal: Quota | int = 10, cohort: str = "", **kwargs: object) -> ClusterQueue:
    """A ClusterQueue with one flavor and one resource, `gpu`, unless `resource_groups` are given."""
    kwargs.setdefault("resource_groups", (group((FLAVOR, {"gpu": nominal})),))
    return ClusterQueue(name, cohort, **kwargs)  # type: ignore[arg-type]


def job(name: str, line: str, gpus: int = 1, **kwargs: object) -> Workload:
    """A workload of one pod that asks for `gpus`, waiting in the LocalQueue `line`."""
    kwargs.setdefault("pod_sets", (PodSet("main", 1, {"gpu": gpus}),))
    kwargs.setdefault("uid", f"uid-{name}")
    return Workload(NS, name, line, **kwargs)  # type: ignore[arg-type]


def running(name: str, line: str, gpus: int = 1, since: int = 0, **kwargs: object) -> Workload:
    """A workload that holds `gpus` of the flavor `default` in the ClusterQueue `line`."""
    assignment = PodSetAssignment("main", {"gpu": FLAVOR}, {"gpu": gpus}, 1)
    admission = Admission(line, (assignment,), since)
    return job(name, line, gpus, admission=admission, admitted=True, **kwargs)


def snapshot(
    queues: list[ClusterQueue],
    workloads: list[Workload] | None = None,
    cohorts: list[Cohort] | None = None,
    flavors: list[Flavor] | None = None,
) -> Snapshot:
    """A snapshot where each ClusterQueue has a LocalQueue of its name."""
    named = {f.name for q in queues for g in q.resource_groups for f in g.flavors}
    return Snapshot(
        flavors=tuple(flavors) if flavors is not None else tuple(Flavor(n) for n in sorted(named)),
        cluster_queues=tuple(queues),
        cohorts=tuple(cohorts or ()),
        local_queues=tuple(LocalQueue(NS, q.name, q.name) for q in queues),
        namespaces=(Namespace(NS),),
        workloads=tuple(workloads or ()),
    )


def state(
    queues: list[ClusterQueue],
    workloads: list[Workload] | None = None,
    cohorts: list[Cohort] | None = None,
    flavors: list[Flavor] | None = None,
) -> State:
    """A state of such a snapshot."""
    return State.from_snapshot(snapshot(queues, workloads, cohorts, flavors))


def names(decisions: Decisions) -> list[str]:
    """The names of what was admitted."""
    return [a.workload.partition("/")[2] for a in decisions.admitted]


def give_back(of: State, decisions: Decisions) -> None:
    """Let the preempted give their quota back at once, as a cluster would after a while."""
    for victim in decisions.preempted:
        of.apply(WorkloadEvicted(victim.workload, of.entries[victim.workload].workload.queued_at))


def copy_of(state: State) -> State:
    """An independent copy of a state with the same facts and memory."""
    if state.rules is None:
        return State.from_snapshot(state.snapshot())
    memory = memory_of(state)
    copied = State.from_snapshot(state.snapshot())
    copied.bind(state.rules, memory.now)
    remember(copied, memory)
    return copied
