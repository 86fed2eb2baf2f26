"""Settings that change what quota counts and who comes first: undeclared resources, the boost of a priority."""

import pytest

from webhook.api.configuration.sections import QueueSettings, QuotaCheckStrategy, ResourceSettings
from webhook.api.snapshot.reader import Reader
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.cycle.decide import decide
from webhook.queue.state import State

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
    """It keeps a workload pending, or is not counted where the settings say so."""
    snapshot = Reader([*QUEUES, workload("w", {"cpu": "2", "example.com/gpu": "100"})], settings=settings).snapshot()
    decided = decide(State.from_snapshot(snapshot), rules_named(["kueue"]), 0)
    assert [dict(pods.resource_usage) for found in decided.admitted for pods in found.pod_sets] == admitted


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


def test_a_queue_that_is_being_deleted_takes_nothing_more():
    """What holds its quota goes on; what is new waits."""
    deleted = {**QUEUES[1], "metadata": {"name": "cq", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    state = State.from_snapshot(Reader([QUEUES[0], deleted, *QUEUES[2:], workload("w", {"cpu": "2"})]).snapshot())
    assert decide(state, rules_named(["kueue"]), 0).admitted == ()
    assert state.by_queue["cq"].inactive == "it is being deleted"
