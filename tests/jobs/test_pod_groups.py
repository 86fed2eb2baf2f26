"""Pods of a group as the queue sees them: their role, which of them stay, and the group as one job."""

import pytest

from webhook.jobs.pod_groups import FAST, GROUP, ROLE, TOTAL, agreed, as_one_job, is_ready, role_of, staying
from webhook.store.objects import merge

FOREVER = [
    {"key": f"node.kubernetes.io/{why}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for why in ("not-ready", "unreachable")
]


def pod(name="a", cpu=None, total=2, **metadata):
    """A pod of a group as the API server stores it."""
    labels = {"kueue.x-k8s.io/queue-name": "main", GROUP: "g"}
    requests = {"resources": {"requests": {"cpu": cpu}}} if cpu else {"resources": {}}
    out = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "labels": labels, "annotations": {TOTAL: str(total)}},
        "spec": {
            "containers": [{"name": "c", "image": "i", **requests}],
            "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}],
            "priority": 0,
            "tolerations": FOREVER,
        },
    }
    return merge(out, {"metadata": metadata})


@pytest.mark.parametrize(
    ("shape", "role"),
    [
        pytest.param(pod(), "bf90803c", id="as Kueue names a pod without requests"),
        pytest.param(pod(cpu="1"), "4b0469f7", id="as Kueue names one of a CPU"),
        pytest.param(merge(pod(cpu="1"), {"spec": {"schedulingGates": None}}), "4b0469f7", id="gates do not count"),
        pytest.param(pod(annotations={ROLE: "leader"}), "leader", id="as it says itself"),
    ],
)
def test_a_role_is_the_shape_of_a_pod(shape, role):
    """A group that ran under Kueue keeps its Workload: its pod sets have the same names."""
    assert role_of(shape) == role


def test_who_stays_is_tracked_then_runs_then_is_older():
    """Where a group has more pods than it asked for, the last of these are deleted."""
    stamp = "2026-01-01T00:00:0{}Z"
    tracked = pod("tracked", finalizers=["kueue.x-k8s.io/managed"], creationTimestamp=stamp.format(9))
    runs = merge(pod("runs", creationTimestamp=stamp.format(5)), {"spec": {"schedulingGates": None}})
    older, newer = (pod(name, creationTimestamp=stamp.format(n)) for n, name in enumerate(("older", "newer")))
    names = [each["metadata"]["name"] for each in staying([newer, older, runs, tracked])]
    assert names == ["tracked", "runs", "older", "newer"]


def test_a_failed_pod_says_nothing_of_its_group():
    """Its total may be another: what counts are the pods that run, or can."""
    failed = merge(pod("old", total=9), {"status": {"phase": "Failed"}})
    described = as_one_job([failed, pod("a"), pod("b", cpu="1")])
    assert described is not None
    assert {sets.name: sets.count for sets in described.pod_sets} == {"bf90803c": 1, "4b0469f7": 1}


def test_with_fast_admission_what_is_missing_has_the_first_role():
    """The group is complete with its first pod."""
    described = as_one_job([pod("a", total=3, annotations={FAST: "true"})])
    assert described is not None
    assert [(sets.name, sets.count) for sets in described.pod_sets] == [("bf90803c", 3)]


def test_a_group_has_the_labels_that_its_pods_agree_in():
    """One that two pods have with different values is nobody's."""
    one = pod("a", labels={"team": "x", "own": "1", "kueue.x-k8s.io/priority-class": "high"})
    two = pod("b", labels={"team": "x", "own": "2", "copied": "yes"})
    labels = agreed([one, two])["metadata"]["labels"]
    assert labels == {
        "kueue.x-k8s.io/queue-name": "main", GROUP: "g", "team": "x", "copied": "yes",
        "kueue.x-k8s.io/priority-class": "high",
    }  # fmt: skip


def test_a_group_is_ready_with_its_last_pod():
    """All of them are there, and ready or done."""
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    done = {"status": {"phase": "Succeeded"}}
    assert not is_ready([merge(pod("a"), ready)])
    assert not is_ready([merge(pod("a"), ready), pod("b")])
    assert is_ready([merge(pod("a"), ready), merge(pod("b"), done)])
