"""Counts that follow events are those of a fresh count, whatever happened before."""

from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.cluster.queues.counts import WorkloadCounts
from webhook.cluster.queues.queue_conditions import Known
from webhook.cluster.queues.status import status_of, tally

NAMES = ("a", "b", "c")


@st.composite
def workloads(draw):
    """One of a few Workloads, at any point of its life, in one of two queues, perhaps held by another ClusterQueue."""
    name = draw(st.sampled_from(NAMES))
    point = draw(st.sampled_from(((), ("QuotaReserved",), ("QuotaReserved", "Admitted"), ("Finished",))))
    obj = {"metadata": {"namespace": "n", "name": name}, "spec": {"queueName": draw(st.sampled_from(("x", "y")))}}
    status = {"conditions": [{"type": type_, "status": "True"} for type_ in point]}
    if "QuotaReserved" in point:
        usage = {"cpu": draw(st.sampled_from(("1", "250m"))), "memory": "1Gi"}
        pods = {"name": "main", "flavors": {"cpu": "f", "memory": "g"}, "resourceUsage": usage}
        status["admission"] = {"clusterQueue": draw(st.sampled_from(("p", "q"))), "podSetAssignments": [pods]}
    return {**obj, "status": status}


@settings(deadline=None)
@given(st.lists(st.one_of(workloads(), st.sampled_from(NAMES)), max_size=30))
def test_counts_after_events_are_those_of_a_fresh_count(steps):
    """Arrivals, changes and ends (a name stands for its end), in any order; nothing is left of what is gone."""
    living, there = WorkloadCounts(), {}
    for step in steps:
        name = step if isinstance(step, str) else step["metadata"]["name"]
        new = None if isinstance(step, str) else step
        if there.get(name) is not None or new is not None:
            living.heard(there.get(name), new)
        there[name] = new
    fresh = WorkloadCounts()
    for workload in there.values():
        if workload is not None:
            fresh.heard(None, workload)
    assert living.by_way == fresh.by_way
    assert living.local_of == fresh.local_of


def test_a_local_queue_without_its_cluster_queue_counts_nothing():
    """Neither Workloads nor usage; and it says why."""
    counts = WorkloadCounts()
    counts.heard(None, {"metadata": {"name": "w", "namespace": "n"}, "spec": {"queueName": "q"}})
    door = {"metadata": {"name": "q", "namespace": "n"}, "spec": {"clusterQueue": "gone"}}
    found = tally([], [door], Known.of([], [], {}), counts, []).local_queues["n/q"]
    assert (found.pending, found.activity.reason) == (0, "ClusterQueueDoesNotExist")
    assert "flavorsUsage" not in status_of(door, found, "2026-01-01T00:00:00Z", None, local=True)
