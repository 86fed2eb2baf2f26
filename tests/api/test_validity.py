"""What the CRDs do not allow: its queue is inactive, its Workload waits, and the reason names the field."""

import pytest

from tests.cluster.small_cluster import queues
from tests.queue.python_rules import KueueRules
from webhook.api.pending_message import message_of
from webhook.api.snapshot.reader import snapshot
from webhook.queue.cycle.decide import decide
from webhook.queue.explain import pending
from webhook.queue.state import State
from webhook.store.objects import merge

V2 = "kueue.x-k8s.io/v1beta2"


def workload(name="w", queue="main", **pod_set):
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
    pods = {"name": "main", "count": 1, "template": template, **pod_set}
    spec = {"queueName": queue, "podSets": [pods]}
    return {"apiVersion": V2, "kind": "Workload", "metadata": {"name": name, "namespace": "team-a"}, "spec": spec}


def told(*objects):
    """Decide once; give who was admitted, and what the others wait for."""
    state = State.from_snapshot(snapshot(objects))
    made = decide(state, KueueRules(), 0)
    return [a.workload for a in made.admitted], {p.workload: (p.reason.value, message_of(p)) for p in pending(state)}


def group(**quota):
    entry = {"name": "cpu", "nominalQuota": "2", **quota}
    return [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [entry]}]}]


QUEUES = [
    ({"resourceGroups": group(nominalQuota="-2")}, "nominalQuota: -2 is less than 0"),
    ({"resourceGroups": group(nominalQuota=-2)}, "nominalQuota: -2 is less than 0"),
    ({"resourceGroups": group(lendingLimit="-1")}, "lendingLimit: -1 is less than 0"),
    ({"fairSharing": {"weight": "-1"}}, "spec.fairSharing.weight: -1 is less than 0"),
    ({"queueingStrategy": "Nope"}, "spec.queueingStrategy: 'Nope' is not one of BestEffortFIFO, StrictFIFO"),
    ({"stopPolicy": "Nope"}, "spec.stopPolicy: 'Nope' is not one of Hold, HoldAndDrain, None"),
    ({"preemption": {"withinClusterQueue": "Nope"}}, "spec.preemption.withinClusterQueue: 'Nope' is not one of"),
    (
        {"flavorFungibility": {"whenCanBorrow": "Borrow"}},
        "spec.flavorFungibility.whenCanBorrow: 'Borrow' is not one of",
    ),
    ({"concurrentAdmissionPolicy": {"migration": {}}}, "spec.concurrentAdmissionPolicy uses concurrent admission"),
]


@pytest.mark.parametrize(("spec", "message"), QUEUES, ids=[message[:40] for _, message in QUEUES])
def test_a_queue_that_no_crd_allows_is_inactive(spec, message):
    """Nothing is admitted in it, and the reason names the field."""
    objects = queues()
    objects[2] = {**objects[2], "spec": {**objects[2]["spec"], **spec}}
    admitted, waits = told(*objects, workload())
    assert admitted == []
    assert message in waits["team-a/w"][1]


def test_a_negative_quota_takes_nothing_from_its_cohort():
    """The queue with the mistake is inactive; the other one has all of its own."""
    wrong, right = queues(cohortName="all")[2], queues(cohortName="all")
    wrong = merge(wrong, {"metadata": {"name": "wrong"}, "spec": {"resourceGroups": group(nominalQuota="-9")}})
    admitted, waits = told(*right, wrong, workload())
    assert (admitted, waits) == (["team-a/w"], {})


def test_a_cohort_that_no_crd_allows_stops_all_below_it():
    """The queue below the cohort says which cohort, and which field."""
    cohort = {"apiVersion": V2, "kind": "Cohort", "metadata": {"name": "all"}, "spec": {"fairSharing": {"weight": -1}}}
    admitted, waits = told(*queues(cohortName="all"), cohort, workload())
    assert admitted == []
    assert "Cohort all: spec.fairSharing.weight: -1 is less than 0" in waits["team-a/w"][1]


def test_a_local_queue_that_no_crd_allows_lets_nothing_through():
    """An unknown stopPolicy is neither open nor stopped."""
    objects = queues()
    objects[3]["spec"]["stopPolicy"] = "Nope"
    admitted, waits = told(*objects, workload())
    assert admitted == []
    assert waits["team-a/w"] == (
        "Misconfigured",
        "LocalQueue main: spec.stopPolicy: 'Nope' is not one of Hold, HoldAndDrain, None",
    )


@pytest.mark.parametrize(
    ("pod_set", "message"),
    [
        ({"minCount": 0}, "spec.podSets[0].minCount: 0 is less than 1"),
        ({"count": -1}, "spec.podSets[0].count: -1 is less than 0"),
    ],
)
def test_a_workload_that_no_crd_allows_waits(pod_set, message):
    """The workload is not admitted with whatever its numbers come to."""
    admitted, waits = told(*queues(), workload(**pod_set))
    assert admitted == []
    assert waits["team-a/w"] == ("Misconfigured", message)


def test_two_pod_sets_of_one_name_wait():
    """Which of the two an assignment is for could not be told."""
    twice = workload()
    twice["spec"]["podSets"] *= 2
    admitted, waits = told(*queues(), twice)
    assert admitted == []
    assert waits["team-a/w"] == ("Misconfigured", "spec.podSets[1].name: duplicate name main")


def test_a_queue_is_suspended_for_what_it_is_and_not_for_its_name():
    """A LocalQueue called `stopped-...` that is open is not told as stopped; one that is stopped is."""
    objects = queues()
    objects[3]["metadata"]["name"] = "stopped-not-active"
    objects[3]["spec"]["clusterQueue"] = "gone"
    assert told(*objects, workload(queue="stopped-not-active"))[1]["team-a/w"][0] == "Misconfigured"
    objects[3]["spec"] = {"clusterQueue": "cq", "stopPolicy": "Hold"}
    assert told(*objects, workload(queue="stopped-not-active"))[1]["team-a/w"][0] == "Suspended"


def test_what_holds_quota_of_a_queue_that_is_gone_is_told():
    """The workload is neither admitted anew nor forgotten."""
    admitted, waits = told(*queues(), holding("gone", "f"))
    assert admitted == []
    assert waits["team-a/w"] == ("Misconfigured", "ClusterQueue gone not found")


def test_what_holds_quota_of_a_flavor_that_is_gone_is_told():
    """The usage counts nowhere, and takes nothing from the others."""
    admitted, waits = told(*queues(), holding("cq", "gone"), workload("new"))
    assert admitted == ["team-a/new"]
    assert waits == {
        "team-a/w": ("Misconfigured", "it holds cpu of flavor gone, for which ClusterQueue cq has no quota")
    }


def holding(queue, flavor):
    """A Workload that has its quota somewhere."""
    held, time = workload(), "2026-01-01T00:00:00Z"
    pods = {"name": "main", "count": 1, "flavors": {"cpu": flavor}, "resourceUsage": {"cpu": "1"}}
    held["status"] = {
        "admission": {"clusterQueue": queue, "podSetAssignments": [pods]},
        "conditions": [{"type": "QuotaReserved", "status": "True", "lastTransitionTime": time}],
    }
    return held
