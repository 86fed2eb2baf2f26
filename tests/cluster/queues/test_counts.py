"""Counts that follow events are those of a fresh count, whatever happened before."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from webhook.api.configuration.sections import QueueSettings
from webhook.cluster.core.protocol import QueueFacts
from webhook.cluster.pace import at_once
from webhook.cluster.queues.conditions import Known
from webhook.cluster.queues.counts import WorkloadCounts
from webhook.cluster.queues.round_metrics import QueueMetrics
from webhook.cluster.queues.status import status_of, tally
from webhook.cluster.workloads.conditions import counted, evicted
from webhook.kube.conditions import find
from webhook.queue.decisions import Admitted, PreemptionReason
from webhook.store.objects import merge

NAMES = ("a", "b", "c")
NOW_MS = 1_767_225_660_000


@st.composite
def workloads(draw):
    """One of a few Workloads, at any point of its life, in one of two queues, perhaps held by another ClusterQueue."""
    name = draw(st.sampled_from(NAMES))
    point = draw(st.sampled_from(((), ("QuotaReserved",), ("QuotaReserved", "Admitted"), ("Finished",))))
    spec = {"queueName": draw(st.sampled_from(("x", "y"))), "active": draw(st.booleans())}
    obj = {"metadata": {"namespace": "n", "name": name}, "spec": spec}
    status = {"conditions": [{"type": type_, "status": "True"} for type_ in point]}
    if "QuotaReserved" in point:
        usage = {"cpu": draw(st.sampled_from(("1", "250m"))), "memory": "1Gi"}
        pods = {"name": "main", "flavors": {"cpu": "f", "memory": "g"}, "resourceUsage": usage}
        status["admission"] = {"clusterQueue": draw(st.sampled_from(("p", "q"))), "podSetAssignments": [pods]}
    return {**obj, "status": status}


@settings(deadline=None)
@given(st.lists(st.one_of(workloads(), st.sampled_from(NAMES), st.tuples(st.sampled_from(NAMES), st.booleans()))))
def test_counts_after_events_are_those_of_a_fresh_count(steps):
    """Arrivals, changes, ends (a name stands for its end), explanations that say who is parked, in any order."""
    living, there, parked = WorkloadCounts(), {}, {}
    for step in steps:
        if isinstance(step, tuple):
            living.parked(f"n/{step[0]}", step[1])
            parked[f"n/{step[0]}"] = step[1]
            continue
        name = step if isinstance(step, str) else step["metadata"]["name"]
        new = None if isinstance(step, str) else step
        if there.get(name) is not None or new is not None:
            living.heard(there.get(name), new)
        there[name] = new
    fresh = WorkloadCounts()
    for workload in there.values():
        if workload is not None:
            fresh.heard(None, workload)
    for key, is_parked in parked.items():
        fresh.parked(key, is_parked)
    assert living.by_way == fresh.by_way
    assert living.inadmissible == fresh.inadmissible
    assert all(0 < number <= 3 for number in living.inadmissible.values())
    assert living.any_pending == any(count.pending for count in living.by_way.values())


@pytest.mark.parametrize(("gates", "used"), [({}, 1000), ({"ReclaimablePods": False}, 4000)])
def test_usage_counts_pods_that_are_done_where_the_gate_is_off(gates, used):
    """As the core counts them: the status of a queue says what it decides with."""
    pods = {"name": "main", "count": 4, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "4"}}
    status = {
        "admission": {"clusterQueue": "p", "podSetAssignments": [pods]},
        "conditions": [{"type": type_, "status": "True"} for type_ in ("QuotaReserved", "Admitted")],
        "reclaimablePods": [{"name": "main", "count": 3}],
    }
    spec = {"queueName": "a", "podSets": [{"name": "main", "count": 4}]}
    counts = WorkloadCounts(QueueSettings(feature_gates=gates))
    counts.heard(None, {"metadata": {"namespace": "n", "name": "w"}, "spec": spec, "status": status})
    assert counts.by_way["n/a", "p"].used == {("f", "cpu"): used}


OUT_OF_QUEUE = {
    "inactive": {"spec": {"active": False}},
    "gated": {"metadata": {"annotations": {"kueue.x-k8s.io/admission-gated-by": "example.com/gate"}}},
    "on hold": {"status": {"conditions": [{"type": "QuotaReserved", "status": "False", "reason": "OnHold"}]}},
    "lacks pods": {"status": {"conditions": [{"type": "WaitingForReplacementPods", "status": "True"}]}},
}


@pytest.mark.parametrize("why", OUT_OF_QUEUE)
def test_what_is_in_no_queue_is_not_pending(why):
    """As in Kueue, it is in neither status nor `pending_workloads`; as not admitted it counts."""
    waits = {"metadata": {"namespace": "n", "name": "w"}, "spec": {"queueName": "x"}, "status": {}}
    out, counts = merge(waits, OUT_OF_QUEUE[why]), WorkloadCounts()
    counts.heard(None, waits)
    counts.parked("n/w", True)
    assert (counts.by_way["n/x", ""].pending, counts.inadmissible) == (1, {"n/x": 1})
    counts.heard(waits, out)
    assert (counts.by_way["n/x", ""].pending, counts.inadmissible, counts.any_pending) == (0, {}, False)
    assert sum(counts.by_way["n/x", ""].unadmitted.values()) == 1
    counts.heard(out, waits)
    assert (counts.by_way["n/x", ""].pending, counts.inadmissible) == (1, {"n/x": 1})
    counts.heard(waits, None)
    assert counts.by_way == {}


def test_a_local_queue_without_its_cluster_queue_counts_nothing():
    """Neither Workloads nor usage; and it says why."""
    counts = WorkloadCounts()
    counts.heard(None, {"metadata": {"name": "w", "namespace": "n"}, "spec": {"queueName": "q"}})
    door = {"metadata": {"name": "q", "namespace": "n"}, "spec": {"clusterQueue": "gone"}}
    found = at_once(tally([], [door], Known.of([], [], {}), counts)).local_queues["n/q"]
    assert (found.pending, found.activity.reason) == (0, "ClusterQueueDoesNotExist")
    assert "flavorsUsage" not in status_of(door, found, "2026-01-01T00:00:00Z", None, local=True)


GROUPS = [
    {
        "coveredResources": ["memory", "cpu"],
        "flavors": [
            {
                "name": "f",
                "resources": [{"name": "memory", "nominalQuota": "1Gi"}, {"name": "cpu", "nominalQuota": "2"}],
            }
        ],
    }
]


def holder(name, flavor, cpu):
    """A Workload that is admitted by the queues `q` and `cq`."""
    pods = {"name": "main", "flavors": {"cpu": flavor}, "resourceUsage": {"cpu": cpu}}
    status = {
        "admission": {"clusterQueue": "cq", "podSetAssignments": [pods]},
        "conditions": [{"type": type_, "status": "True"} for type_ in ("QuotaReserved", "Admitted")],
    }
    return {"metadata": {"name": name, "namespace": "n"}, "spec": {"queueName": "q"}, "status": status}


def counted_in(queue_spec, door_spec, *workloads, asked=None):
    """The counts of the ClusterQueue `cq` and the LocalQueue `q`, with both objects."""
    counts = WorkloadCounts()
    for workload in workloads:
        counts.heard(None, workload)
        counts.parked(f"n/{workload['metadata']['name']}", True)
    queue = {"metadata": {"name": "cq"}, "spec": {"resourceGroups": GROUPS, **queue_spec}}
    door = {"metadata": {"name": "q", "namespace": "n"}, "spec": {"clusterQueue": "cq", **door_spec}}
    facts = QueueFacts(asked={"n/q": asked or {}})
    found = at_once(tally([queue], [door], Known(frozenset({"f"}), {}, {}), counts, facts))
    return queue, door, found


@pytest.mark.parametrize(("cohort", "borrowed"), [({}, "0"), ({"cohortName": "all"}, "1")])
def test_usage_is_that_of_the_current_flavors(cohort, borrowed):
    """As in Kueue: without a cohort nothing is borrowed, and a flavor that was taken away is not listed."""
    workloads = holder("a", "f", "3"), holder("b", "of-before", "4")
    queue, door, found = counted_in(cohort, {}, *workloads)
    cpu, memory = {"name": "cpu", "total": "3"}, {"name": "memory", "total": "0"}
    shown = status_of(queue, found.cluster_queues["cq"], "2026-01-01T00:00:00Z", None, local=False)
    of_door = status_of(door, found.local_queues["n/q"], "2026-01-01T00:00:00Z", None, local=True)
    for name in ("flavorsReservation", "flavorsUsage"):
        of_queue = [{**cpu, "borrowed": borrowed}, {**memory, "borrowed": "0"}]
        assert shown[name] == [{"name": "f", "resources": of_queue}]
        assert of_door[name] == [{"name": "f", "resources": [cpu, memory]}]
    registry = CollectorRegistry()
    QueueMetrics(registry).update(found)
    for flavor, total in (("f", 3), ("of-before", None)):
        labels = {"cohort": cohort.get("cohortName", ""), "cluster_queue": "cq", "flavor": flavor, "resource": "cpu"}
        labels["replica_role"] = "standalone"
        assert registry.get_sample_value("kueue_cluster_queue_resource_reservation", labels) == total
        assert registry.get_sample_value("kueue_cluster_queue_resource_usage", labels) == total


@pytest.mark.parametrize(("policy", "pending"), [("None", 1), ("Hold", 0), ("HoldAndDrain", 0)])
def test_what_waits_before_a_stopped_local_queue_is_not_pending(policy, pending):
    """Kueue takes it out of its queues: it counts in neither of the two, nor in what pending Workloads request."""
    waits = {"metadata": {"name": "w", "namespace": "n"}, "spec": {"queueName": "q"}, "status": {}}
    _, _, found = counted_in({}, {"stopPolicy": policy}, waits, holder("a", "f", "3"), asked={"cpu": 1000})
    for count in (found.cluster_queues["cq"], found.local_queues["n/q"]):
        assert (count.pending, count.inadmissible, count.reserving) == (pending, pending, 1)
    assert found.cluster_queues["cq"].asked["cpu"] == 1000 * pending


def test_gauges_show_the_queues_that_are_there():
    """Quota with its limits, and LocalQueues with who waits in vain; a queue that is gone is shown no more."""
    quota = {"name": "cpu", "nominalQuota": "2", "borrowingLimit": "1500m"}
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [quota]}]}]
    queue = {"metadata": {"name": "cq"}, "spec": {"resourceGroups": groups, "cohortName": "all"}}
    door = {"metadata": {"name": "q", "namespace": "n"}, "spec": {"clusterQueue": "cq"}}
    waits = WorkloadCounts()
    waits.heard(None, {"metadata": {"name": "w", "namespace": "n"}, "spec": {"queueName": "q"}})
    registry = CollectorRegistry()
    report = QueueMetrics(registry)
    report.update(at_once(tally([queue], [door], Known.of([], [], {}), waits)))
    cell = {"cohort": "all", "cluster_queue": "cq", "flavor": "f", "resource": "cpu", "replica_role": "standalone"}
    assert registry.get_sample_value("kueue_cluster_queue_nominal_quota", cell) == 2
    assert registry.get_sample_value("kueue_cluster_queue_borrowing_limit", cell) == 1.5
    assert registry.get_sample_value("kueue_cluster_queue_lending_limit", cell) == math.inf
    local = {"name": "q", "namespace": "n", "replica_role": "standalone"}
    pending = {**local, "status": "inadmissible"}
    assert registry.get_sample_value("kueue_local_queue_pending_workloads", pending) == 1, "the flavor is missing"
    assert registry.get_sample_value("kueue_local_queue_status", {**local, "active": "False"}) == 1
    report.update(at_once(tally([], [], Known.of([], [], {}), WorkloadCounts())))
    assert registry.get_sample_value("kueue_local_queue_pending_workloads", pending) is None


def shown(registry):
    """The series that have a value, with their labels."""
    return {
        (sample.name, *sorted(sample.labels.items()))
        for metric in registry.collect()
        for sample in metric.samples
        if "queue" in "".join(sample.labels) and not sample.name.endswith("_created")
    }


def test_a_cluster_queue_that_is_gone_has_no_series():
    """Neither gauges nor totals, and one of the same name begins at zero; those of others stay."""
    spec = {"resourceGroups": [{"flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "2"}]}]}]}
    both = [{"metadata": {"name": name}, "spec": spec} for name in ("gone", "stays")]
    registry = CollectorRegistry()
    report = QueueMetrics(registry)
    workload = {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}}
    known = Known.of([], [], {})
    report.update(at_once(tally(both, [], known, WorkloadCounts())))
    for name in ("gone", "stays"):
        report.workloads.admitted(workload, Admitted("n/w", name, ()), NOW_MS)
        report.workloads.evicted({**workload, "status": {"admission": {"clusterQueue": name}}}, "Preempted", NOW_MS)
        report.workloads.preempted(name, PreemptionReason.IN_CLUSTER_QUEUE)
    before = shown(registry)
    assert {("cluster_queue", "gone"), ("preempting_cluster_queue", "gone")} <= {pair for row in before for pair in row}
    report.update(at_once(tally(both[1:], [], known, WorkloadCounts())))
    assert shown(registry) == {row for row in before if not any("gone" in pair for pair in row)}
    report.workloads.admitted(workload, Admitted("n/w", "gone", ()), NOW_MS)
    labels = {"cluster_queue": "gone", "priority_class": "", "replica_role": "standalone"}
    assert registry.get_sample_value("kueue_admitted_workloads_total", labels) == 1


def test_totals_are_right_after_deletes():
    """A Workload that is deleted while it waits or runs is counted no more, in its ClusterQueue and its LocalQueue."""
    queue = {"metadata": {"name": "cq"}, "spec": {"resourceGroups": []}}
    door = {"metadata": {"name": "q", "namespace": "n"}, "spec": {"clusterQueue": "cq"}}
    names, known = ("a", "b", "c"), Known.of([], [], {})
    waits = [{"metadata": {"name": n, "namespace": "n"}, "spec": {"queueName": "q"}} for n in names]
    counts, registry = WorkloadCounts(), CollectorRegistry()
    report = QueueMetrics(registry)
    for workload in waits:
        counts.heard(None, workload)
    report.update(at_once(tally([queue], [door], known, counts)))
    for name in ("n/a", "n/b"):
        counts.parked(name, True)
    counts.heard(waits[0], None)
    counts.heard(waits[1], None)
    report.update(at_once(tally([queue], [door], known, counts)))
    role = {"replica_role": "standalone"}
    for name, labels in (("", {"cluster_queue": "cq"}), ("local_queue_", {"name": "q", "namespace": "n"})):
        statuses = [{**labels, **role, "status": status} for status in ("active", "inadmissible")]
        assert [registry.get_sample_value(f"kueue_{name}pending_workloads", row) for row in statuses] == [1, 0]


def test_a_replica_that_leads_no_more_shows_no_queues():
    """The next leader does: else each queue would be counted twice."""
    queue = {"metadata": {"name": "cq"}, "spec": {"resourceGroups": []}}
    registry = CollectorRegistry()
    report = QueueMetrics(registry, "follower")
    report.leads(True)
    report.update(at_once(tally([queue], [], Known.of([], [], {}), WorkloadCounts())))
    assert shown(registry)
    report.leads(False)
    assert shown(registry) == set()
    assert registry.get_sample_value("sluice_leader") == 0


def test_a_wait_begins_again_when_a_workload_is_requeued():
    """As Kueue counts it; the time of the checks is from the quota on."""
    registry = CollectorRegistry()
    report = QueueMetrics(registry)
    rows = [
        {"type": "Requeued", "status": "True", "lastTransitionTime": "2026-01-01T00:01:00Z"},
        {"type": "QuotaReserved", "status": "True", "lastTransitionTime": "2026-01-01T00:01:20Z"},
    ]
    workload = {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "status": {"conditions": rows}}
    report.workloads.checks_ready(workload, Admitted("n/w", "cq", ()), 1_767_225_690_000)
    labels = {"cluster_queue": "cq", "priority_class": "", "replica_role": "standalone"}
    names = ("kueue_admission_wait_time_seconds_sum", "kueue_admission_checks_wait_time_seconds_sum")
    assert [registry.get_sample_value(name, labels) for name in names] == [30, 10]


def test_an_eviction_counts_once_for_a_reason():
    """With its underlying cause; again, it counts only in the total."""
    registry = CollectorRegistry()
    report = QueueMetrics(registry)
    workload = {"status": {"admission": {"clusterQueue": "cq"}}}
    again = {"status": {**workload["status"], **counted(workload, "DeactivatedDueToAdmissionCheck")}}
    for found in (workload, again):
        report.workloads.evicted(found, "DeactivatedDueToAdmissionCheck", NOW_MS)
    labels = {"cluster_queue": "cq", "reason": "Deactivated", "underlying_cause": "AdmissionCheck"}
    labels |= {"priority_class": "", "replica_role": "standalone"}
    assert registry.get_sample_value("kueue_evicted_workloads_total", labels) == 2
    assert registry.get_sample_value("kueue_evicted_workloads_once_total", labels) == 1


@pytest.mark.parametrize(
    ("pods_ready", "cause"),
    [
        ([], "WaitForStart"),
        ([{"type": "PodsReady", "status": "False", "reason": "WaitForStart"}], "WaitForStart"),
        ([{"type": "PodsReady", "status": "False", "reason": "WaitForRecovery"}], "WaitForRecovery"),
    ],
)
def test_a_time_out_says_what_the_pods_were_waited_for(pods_ready, cause):
    """In the status and in the metrics, but not in the reason of `Evicted`, as in Kueue."""
    registry = CollectorRegistry()
    metadata = {"namespace": "n", "name": "w", "creationTimestamp": "2026-01-01T00:00:00Z"}
    status = {"conditions": pods_ready, "admission": {"clusterQueue": "cq"}}
    workload = {"metadata": metadata, "spec": {"queueName": "q"}, "status": status}
    new = evicted(workload, "PodsReadyTimeout", "", "2026-01-01T00:01:00Z")
    QueueMetrics(registry).workloads.evicted(workload, "PodsReadyTimeout", NOW_MS)
    assert find({"status": new}, "Evicted")["reason"] == "PodsReadyTimeout"
    assert new["schedulingStats"]["evictions"] == [{"reason": "PodsReadyTimeout", "underlyingCause": cause, "count": 1}]
    why = {"reason": "PodsReadyTimeout", "underlying_cause": cause}
    labels = {"cluster_queue": "cq", **why, "priority_class": "", "replica_role": "standalone"}
    for name in ("evicted_workloads_total", "evicted_workloads_once_total"):
        assert registry.get_sample_value(f"kueue_{name}", labels) == 1
