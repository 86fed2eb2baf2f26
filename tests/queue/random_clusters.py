"""Random clusters for the laws of the queue core: trees, flavors, quotas, limits, policies, workloads."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.queue.build import NS, group
from webhook.queue.model import (
    WEIGHT,
    BorrowWithinCohort,
    ClusterQueue,
    Cohort,
    Flavor,
    Fungibility,
    LocalQueue,
    Namespace,
    PodSet,
    Preemption,
    Quota,
    ResourceGroup,
    Snapshot,
    Taint,
    Toleration,
    Workload,
)

COHORTS = ("", "left", "right", "low")
QUEUES = ("a", "b", "c", "d")
LIMITS = st.one_of(st.none(), st.integers(0, 8))
POLICIES = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")


def quotas() -> st.SearchStrategy[Quota]:
    """Nominal quota and limits."""
    return st.builds(Quota, st.integers(0, 10), LIMITS, LIMITS)


@st.composite
def groups(draw: st.DrawFn) -> tuple[ResourceGroup, ...]:
    """One resource group with one or two flavors, over `gpu` and perhaps `cpu`."""
    resources = ["gpu", "cpu"] if draw(st.booleans()) else ["gpu"]
    flavors = ["one", "two"] if draw(st.booleans()) else ["one"]
    return (group(*((f, {r: draw(quotas()) for r in resources}) for f in flavors)),)


def preemptions() -> st.SearchStrategy[Preemption]:
    """Policies of preemption."""
    borrowing = st.builds(
        BorrowWithinCohort, st.sampled_from(("Never", "LowerPriority")), st.one_of(st.none(), st.integers(0, 2))
    )
    return st.builds(Preemption, st.sampled_from(POLICIES), st.sampled_from((*POLICIES, "Any")), borrowing)


@st.composite
def queues(draw: st.DrawFn, name: str, strategy: str) -> ClusterQueue:
    """A ClusterQueue somewhere in the tree."""
    return ClusterQueue(
        name,
        draw(st.sampled_from(COHORTS)),
        draw(groups()),
        queueing_strategy=strategy,
        preemption=draw(preemptions()),
        fungibility=Fungibility(
            draw(st.sampled_from(("MayStopSearch", "TryNextFlavor"))),
            draw(st.sampled_from(("MayStopSearch", "TryNextFlavor"))),
            draw(st.sampled_from(("", "PreemptionOverBorrowing"))),
        ),
        weight=draw(st.sampled_from((0, WEIGHT, 2 * WEIGHT))),
    )


@st.composite
def jobs(draw: st.DrawFn, index: int) -> Workload:
    """A pending workload: one or two pod sets, perhaps with a minimum, perhaps with a toleration."""
    tolerations = (Toleration("spot", "Exists"),) if draw(st.booleans()) else ()
    pod_sets = []
    for number in range(draw(st.integers(1, 2))):
        count = draw(st.integers(1, 3))
        requests = {"gpu": draw(st.integers(0, 4))}
        if draw(st.integers(0, 3)) == 0:
            requests["cpu"] = draw(st.integers(0, 4))
        least = draw(st.integers(1, count)) if number == 0 and draw(st.integers(0, 4)) == 0 else None
        pod_sets.append(PodSet(f"set-{number}", count, requests, least, tolerations=tolerations))
    created = draw(st.integers(0, 5))
    return Workload(
        NS,
        f"job-{index}",
        draw(st.sampled_from(QUEUES)),
        tuple(pod_sets),
        priority=draw(st.integers(0, 3)),
        created=created,
        queued_at=created,
        uid=f"uid-{index}",
    )


@st.composite
def definitions(draw: st.DrawFn, strategy: str = "BestEffortFIFO") -> Snapshot:
    """Queues, cohorts and flavors without workloads."""
    parents = {"left": "", "right": "", "low": draw(st.sampled_from(("left", "right", "")))}
    cohorts = tuple(
        Cohort(n, p, draw(groups()) if draw(st.booleans()) else (), draw(st.sampled_from((1000, 3000))))
        for n, p in parents.items()
    )
    taints = (Taint("spot", "", "NoSchedule"),) if draw(st.booleans()) else ()
    return Snapshot(
        flavors=(Flavor("one", node_taints=taints), Flavor("two")),
        cluster_queues=tuple(draw(queues(n, strategy)) for n in QUEUES),
        cohorts=cohorts,
        local_queues=tuple(LocalQueue(NS, n, n) for n in QUEUES),
        namespaces=(Namespace(NS),),
    )


def workloads(least: int = 1, most: int = 12) -> st.SearchStrategy[list[Workload]]:
    """Pending workloads, each of another name."""
    return st.integers(least, most).flatmap(lambda n: st.tuples(*(jobs(i) for i in range(n))).map(list))
