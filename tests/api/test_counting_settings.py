"""Settings that change what quota counts and who comes first: undeclared resources, the boost of a priority."""

import pytest

from webhook.api.configuration.sections import (
    QueueSettings,
    QuotaCheckStrategy,
    RequeuingStrategy,
    RequeuingTimestamp,
    ResourceSettings,
    Transformation,
    WaitForPodsReady,
)
from webhook.api.snapshot.reader import Reader
from webhook.api.transformations import counted
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.cycle.decide import decide
from webhook.queue.state import State

UNIT = 10**9
IGNORES = ResourceSettings(quota_check_strategy=QuotaCheckStrategy.IGNORE)
QUEUES = [
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "f"}},
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "cq"},
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": ["cpu"],
                    "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": 4}]}],
                }
            ],
        },
    },
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "q", "namespace": "n"},
        "spec": {"clusterQueue": "cq"},
    },
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}},
]


def workload(name, requests, annotations=None):
    container = {"name": "c", "resources": {"requests": requests}}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "n", "annotations": annotations or {}},
        "spec": {
            "queueName": "q",
            "priority": 5,
            "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}],
        },
    }


@pytest.mark.parametrize(
    ("settings", "admitted"),
    [
        (QueueSettings(), []),
        (QueueSettings(resources=IGNORES), [{"cpu": 2000}]),
        (QueueSettings(resources=IGNORES, feature_gates={"QuotaCheckStrategy": False}), []),
    ],
)
def test_a_resource_that_no_group_covers(settings, admitted):
    """The resource keeps a workload pending, or is not counted where the settings say so."""
    snapshot = Reader([*QUEUES, workload("w", {"cpu": "2", "example.com/gpu": "100"})], settings=settings).snapshot()
    decided = decide(State.from_snapshot(snapshot), rules_named(["kueue"]), 0)
    assert [dict(pods.resource_usage) for found in decided.admitted for pods in found.pod_sets] == admitted


@pytest.mark.parametrize(
    ("asked", "transformations", "expected"),
    [
        ({"a": 2}, [("a", {"b": 3}, True, "")], {"a": 2, "b": 6}),
        ({"a": 2}, [("a", {"b": 3}, False, "")], {"b": 6}),
        ({"a": 2, "b": 1}, [("a", {"b": 3}, False, "")], {"b": 7}),
        ({"mem": 10, "gpu": 4}, [("mem", {"credits": 2}, False, "gpu")], {"gpu": 4, "credits": 80}),
        ({"mem": 10}, [("mem", {"credits": 2}, False, "gpu")], {"credits": 20}),
        ({"a": 1}, [("a", {"b": 2}, False, ""), ("b", {"c": 3}, False, "")], {"b": 2}),
        ({"a": 1}, [("b", {"c": 3}, False, ""), ("a", {"b": 2}, False, "")], {"b": 2}),
        (
            {"a": 1, "b": 5},
            [("a", {"b": 2}, False, ""), ("b", {"c": 3}, False, "")],
            {"b": 2, "c": 15},
        ),
        (
            {"gpu": 2, "x": 3},
            [("gpu", {"y": 1}, False, ""), ("x", {"z": 1}, False, "gpu")],
            {"y": 2, "z": 6},
        ),
        ({"gpu": 1, "cpu": 2}, [("gpu", {"cpu": -2}, True, "")], {"gpu": 1, "cpu": 2}),
        (
            {"a": 1, "b": 1, "c": 5},
            [("a", {"c": 3}, False, ""), ("b", {"c": -2}, False, "")],
            {"c": 6},
        ),
    ],
)
def test_what_transformations_make_of_a_request(asked, transformations, expected):
    """Each reads what the pod asks for, never what another made; outputs cancel each other, but no request."""
    settings = ResourceSettings(
        transformations=tuple(
            Transformation(source, {name: n * UNIT for name, n in outputs.items()}, keep, multiply_by)
            for source, outputs, keep, multiply_by in transformations
        )
    )
    found = counted({name: n * UNIT for name, n in asked.items()}, settings)
    assert found == {name: n * UNIT for name, n in expected.items()}


def test_the_smallest_part_of_an_output_counts():
    """Outputs are exact until they are rounded up to a billionth of a unit."""
    settings = ResourceSettings(transformations=(Transformation("a", {"b": UNIT // 10}, False),))
    assert counted({"a": 1}, settings) == {"b": 1}


def test_an_excluded_resource_multiplies_nothing():
    """The pod counts as if it did not ask for the resource."""
    settings = ResourceSettings(("x.io/",), (Transformation("a", {"b": UNIT}, False, "x.io/x"),))
    assert counted({"a": 2 * UNIT, "x.io/x": 3 * UNIT}, settings) == {"b": 2 * UNIT}


@pytest.mark.parametrize(
    ("gates", "text", "priority"),
    [
        ({}, "100", 5),
        ({"PriorityBoost": True}, "100", 105),
        ({"PriorityBoost": True}, "-10", -5),
        ({"PriorityBoost": True}, "much", 5),
    ],
)
def test_a_priority_is_boosted_where_the_gate_is_on(gates, text, priority):
    """By what the annotation of the Workload says, where that is a whole number."""
    obj = workload("w", {}, {"kueue.x-k8s.io/priority-boost": text})
    (found,) = Reader([obj], settings=QueueSettings(feature_gates=gates)).snapshot().workloads
    assert found.priority == priority
    assert found.problem == ""


@pytest.mark.parametrize(("gates", "counted_pods"), [({}, 1), ({"ReclaimablePods": False}, 4)])
def test_pods_that_are_done_count_where_the_gate_is_off(gates, counted_pods):
    """Both those that a Workload asks for, and those that it holds quota for."""
    pending = workload("w", {"cpu": "1"})
    pending["spec"]["podSets"][0]["count"] = 4
    pending["status"] = {"reclaimablePods": [{"name": "main", "count": 3}]}
    assigned = {"name": "main", "count": 4, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "4"}}
    reserved = {"type": "QuotaReserved", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    holding = {
        **pending,
        "status": {
            **pending["status"],
            "admission": {"clusterQueue": "cq", "podSetAssignments": [assigned]},
            "conditions": [reserved],
        },
    }
    settings = QueueSettings(feature_gates=gates)
    (asks,) = Reader([pending], settings=settings).snapshot().workloads
    (holds,) = Reader([holding], settings=settings).snapshot().workloads
    (pods,) = holds.admission.pod_set_assignments
    assert (asks.pod_sets[0].count, pods.count, pods.resource_usage) == (
        counted_pods,
        counted_pods,
        {"cpu": 1000 * counted_pods},
    )


BY_CREATION = QueueSettings(
    wait_for_pods_ready=WaitForPodsReady(requeuing=RequeuingStrategy(RequeuingTimestamp.CREATION))
)
UNSORTED = QueueSettings(feature_gates={"PrioritySortingWithinCohort": False})
BORROWED = "InCohortReclaimWhileBorrowing"


@pytest.mark.parametrize(
    ("conditions", "settings", "later"),
    [
        ({}, QueueSettings(), 0),
        ({"Evicted": "PodsReadyTimeout"}, QueueSettings(), 60_000),
        ({"Evicted": "PodsReadyTimeout"}, BY_CREATION, 0),
        ({"Evicted": "AdmissionCheck"}, QueueSettings(), 60_000),
        ({"Evicted": "AdmissionCheck"}, BY_CREATION, 60_000),
        ({"Evicted": "Preempted", "Preempted": BORROWED}, QueueSettings(), 0),
        ({"Evicted": "Preempted", "Preempted": BORROWED}, UNSORTED, 60_001),
        ({"Evicted": "Preempted", "Preempted": "InClusterQueue"}, UNSORTED, 0),
        ({"Evicted": "AdmissionCheck", "Preempted": BORROWED}, UNSORTED, 60_000),
    ],
)
def test_what_a_workload_that_waits_again_is_ordered_by(conditions, settings, later):
    """Its creation or its eviction; a millisecond more puts it behind the workload that preempted it."""
    obj = workload("w", {"cpu": "1"})
    obj["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    obj["status"] = {
        "conditions": [
            {"type": type_, "status": "True", "reason": reason, "lastTransitionTime": "2026-01-01T00:01:00Z"}
            for type_, reason in conditions.items()
        ]
    }
    (found,) = Reader([obj], settings=settings).snapshot().workloads
    assert found.queued_at - found.created == later


def test_a_queue_that_is_being_deleted_takes_nothing_more():
    """What holds its quota goes on; what is new waits."""
    deleted = {**QUEUES[1], "metadata": {"name": "cq", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    state = State.from_snapshot(Reader([QUEUES[0], deleted, *QUEUES[2:], workload("w", {"cpu": "2"})]).snapshot())
    assert decide(state, rules_named(["kueue"]), 0).admitted == ()
    assert state.by_queue["cq"].inactive == "it is being deleted"
