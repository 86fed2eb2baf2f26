"""The next step of a pod group, from its pods and its Workload: a table of situations."""

import pytest

from tests.jobs.test_pod_groups import pod
from webhook.cluster.jobs.group_steps import GroupStep, group_step, places, replacement
from webhook.jobs.pod_groups import FAST, RETRIABLE, SERVING
from webhook.store.objects import merge

ROLE = "bf90803c"
FINALIZER = "kueue.x-k8s.io/managed"
NOW = "2026-01-01T00:00:00Z"


def member(name, phase="", *, gated=False, node="", tracked=True, deleted=False, ended=False, **annotations):
    """A pod of the group `g`; `ended` says that the queue deleted it."""
    finalizers = {"finalizers": [FINALIZER]} if tracked else {}
    leaving = {"deletionTimestamp": NOW} if deleted or ended else {}
    target = [{"type": "TerminationTarget", "status": "True"}] if ended else []
    out = pod(name, annotations=annotations, uid=name, **finalizers, **leaving)
    return merge(
        out,
        {
            "spec": {"nodeName": node or None, **({} if gated else {"schedulingGates": None})},
            "status": {"phase": phase, "conditions": target},
        },
    )


def shaped(name, **how):
    """A pod of another role."""
    return merge(member(name, **how), {"spec": {"priority": 9}})


def queued(name, queue, **annotations):
    """A gated pod that names a queue."""
    named = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": queue}}}
    return merge(member(name, gated=True, **annotations), named)


def lost(workload):
    """The Workload after its pods were deleted as `kubectl delete --cascade=orphan` does."""
    return merge(workload, {"metadata": {"labels": {"kueue.x-k8s.io/job-uid": "a"}}})


def workload(*conditions, count=2, owners=("a", "b"), kind="Pod", leaving=False, **status):
    """The Workload of the group; `Evicted=Preempted` names a condition and its reason."""
    rows = [{"type": name.partition("=")[0], "status": "True", "reason": name.partition("=")[2], "message": "why"}
            for name in conditions]  # fmt: skip
    metadata = {
        "name": "g",
        "namespace": "ns",
        "finalizers": ["kueue.x-k8s.io/resource-in-use"],
        "ownerReferences": [{"kind": kind, "name": owner, "uid": owner} for owner in owners],
        **({"deletionTimestamp": NOW} if leaving else {}),
    }
    spec = {"queueName": "main", "podSets": [{"name": ROLE, "count": count}]}
    return {"metadata": metadata, "spec": spec, "status": {"conditions": rows, **status}}


ADMITTED = ("QuotaReserved", "Admitted")
EVICTED = (*ADMITTED, "Evicted=Preempted")
REPLACES = {"type": "WaitingForReplacementPods", "status": "True"}


@pytest.mark.parametrize(
    ("pods", "there", "step", "about"),
    [
        pytest.param([member("a", gated=True)], None, "NONE", "", id="it is not complete"),
        pytest.param([member("a", gated=True), member("b", gated=True)], None, "CREATE", "ab", id="it is complete"),
        pytest.param([member("a", gated=True), member("b", gated=True), member("c", gated=True)], None, "SPARE", "c",
                     id="it is more than complete"),
        pytest.param([member("a", gated=True), member("b", gated=True, deleted=True)], None, "FREE", "b",
                     id="a pod was deleted before there was a Workload"),
        pytest.param([merge(member(n, gated=True),
                            {"metadata": {"labels": {"kueue.x-k8s.io/prebuilt-workload-name": "g"}}}) for n in "ab"],
                     None, "NONE", "", id="its Workload is somebody else's to make"),
        pytest.param([member("a", "Succeeded", tracked=False), member("b", "Succeeded", tracked=False)], None, "NONE",
                     "", id="it has ended, and its Workload is deleted"),
        pytest.param([member("a", "Succeeded"), member("b", "Succeeded")], None, "FREE", "ab",
                     id="it has ended without its Workload"),
        pytest.param([member("a", "Failed", tracked=False, **{RETRIABLE: "false"}),
                      member("b", "Succeeded", tracked=False, **{FAST: "true"})][::-1], None, "NONE", "",
                     id="it has failed, and its Workload is deleted"),
        pytest.param([member("a", gated=True), member("c", gated=True)], workload(), "JOIN", "c",
                     id="a new pod owns the Workload too"),
        pytest.param([member("a", gated=True), member("b", gated=True), member("c", gated=True)],
                     workload(owners="abc"), "SPARE", "c", id="one is too many, though nothing is admitted"),
        pytest.param([member("a", gated=True), member("b", gated=True)], workload(*ADMITTED), "START", "ab",
                     id="it is admitted"),
        pytest.param([member("a", gated=True), member("b", gated=True)], workload("QuotaReserved"), "NONE", "",
                     id="its checks are open"),
        pytest.param([member("a", "Running"), member("b", "Failed")], workload(*ADMITTED), "TELL", "",
                     id="one failed and is to be replaced"),
        pytest.param([member("a", "Running"), member("b", "Failed"), member("c", gated=True)],
                     workload(*ADMITTED, owners="abc"), "FREE", "b", id="it was replaced"),
        pytest.param([member("a", "Running"), member("b", "Failed", tracked=False), member("c", gated=True)],
                     workload(*ADMITTED, owners="abc"), "START", "c", id="the other takes its place"),
        pytest.param([member("a", "Running", node="n"), member("b", "Running", node="n")], workload(*EVICTED), "END",
                     "ab", id="it is evicted"),
        pytest.param([member("a", "Running", node="n", ended=True), member("b", "Running", node="n", ended=True)],
                     workload(*EVICTED), "NONE", "", id="its pods are on their way out"),
        pytest.param([member("a", "Succeeded", node="n", ended=True), member("b", "Succeeded", node="n", ended=True)],
                     workload(*EVICTED), "FINISH", "", id="they succeeded on their way out"),
        pytest.param([member("a", "Running", node="n"), member("b", node="n")], workload(), "END", "ab",
                     id="somebody else let it go"),
        pytest.param([member("a", "Succeeded"), member("b", "Running")], workload(*ADMITTED), "RECLAIM", "",
                     id="one has succeeded"),
        pytest.param([queued("a", "other"), queued("b", "other")], workload(), "MOVE", "", id="it waits elsewhere"),
        pytest.param([queued("a", "other"), queued("b", "main")], workload(), "NONE", "", id="its pods disagree"),
        pytest.param([queued("a", "other"), queued("b", "other")], workload("QuotaReserved"), "NONE", "",
                     id="it has quota of the old queue"),
        pytest.param([queued("a", "other", **{SERVING: "true"}), queued("b", "other", **{SERVING: "true"})],
                     workload(), "NONE", "", id="the queue of what serves is its parent's"),
        pytest.param([member("a", "Succeeded"), member("b", gated=True)], workload(), "RECLAIM", "",
                     id="one has succeeded on its way out, and the other waits for quota"),
        pytest.param([member("a", "Succeeded"), member("b", "Running", node="n")], workload(*EVICTED), "END", "b",
                     id="one has succeeded, and the other is evicted"),
        pytest.param([member("a", "Succeeded", node="n"), member("b", "Running", node="n", ended=True)],
                     workload(*EVICTED, reclaimablePods=[{"name": ROLE, "count": 1}]), "NONE", "",
                     id="and is on its way out"),
        pytest.param([member("a", "Succeeded", **{SERVING: "true"}), member("b", "Running", **{SERVING: "true"})],
                     workload(*ADMITTED), "NONE", "", id="what serves keeps its quota"),
        pytest.param([member("a", "Succeeded"), member("b", "Succeeded")], workload(*ADMITTED), "FINISH", "",
                     id="all have succeeded"),
        pytest.param([member(n, "Succeeded", **{SERVING: "true"}) for n in "ab"], workload(*ADMITTED), "NONE", "",
                     id="what serves has no end"),
        pytest.param([member("a", "Succeeded"), member("b", "Failed", **{RETRIABLE: "false"})],
                     workload(*ADMITTED, "WaitingForReplacementPods"), "FINISH", "", id="one is not replaced"),
        pytest.param([member("a", "Succeeded"), member("b", "Failed")], workload("Finished"), "FREE", "ab",
                     id="it has finished"),
        pytest.param([member("a", "Succeeded", tracked=False)], workload("Finished"), "LET_GO", "",
                     id="and its pods are free"),
        pytest.param([member("a", gated=True, deleted=True), member("b", "Running", node="n", deleted=True)],
                     workload(*ADMITTED), "FREE", "a", id="somebody deleted the group: what runs is awaited"),
        pytest.param([member("a", gated=True), member("b", "Running")], workload(leaving=True), "END", "ab",
                     id="its Workload was deleted, and it goes with it"),
        pytest.param([member("a", deleted=True), member("b", deleted=True)], workload(leaving=True), "FREE", "ab",
                     id="its pods follow"),
        pytest.param([shaped("a", gated=True)], workload(owners="a"), "DROP", "",
                     id="the Workload is of other pods"),
        pytest.param([], workload(*ADMITTED), "FINISH", "", id="all pods are gone"),
        pytest.param([], workload(*EVICTED), "RELEASE", "", id="all evicted pods are gone"),
        pytest.param([], workload(), "LET_GO", "", id="all pods are gone before it was admitted"),
        pytest.param([member("a", "Running"), member("b", "Running"), shaped("c", gated=True, deleted=True)],
                     workload(*ADMITTED), "FREE", "c", id="one of another role was deleted"),
        pytest.param([member("a", "Running"), member("b", "Running"), shaped("c", gated=True)], workload(*ADMITTED),
                     "NONE", "", id="one of another role waits"),
        pytest.param([], lost(workload(*ADMITTED, owners=())), "FINISH", "", id="all pods left it behind"),
        pytest.param([], lost(workload(owners=())), "FINISH", "", id="before it was admitted"),
        pytest.param([], workload(*ADMITTED, owners=()), "NONE", "", id="somebody made it for pods to come"),
        pytest.param([], workload(*ADMITTED, owners=("db",), kind="StatefulSet"), "NONE", "",
                     id="others are still to come"),
        pytest.param([], workload(*EVICTED, owners=("db",), kind="StatefulSet"), "RELEASE", "",
                     id="none of a StatefulSet's is there to be ended"),
        pytest.param([member("a", gated=True), member("b", gated=True)], workload(*EVICTED), "HOLD", "ab",
                     id="it is evicted before its pods went"),
        pytest.param([member("a", gated=True), member("b", gated=True)],
                     workload("QuotaReserved", "Evicted=Preempted"), "RELEASE", "",
                     id="it is evicted before it was admitted"),
    ],
)  # fmt: skip
def test_the_next_step_of_a_group(pods, there, step, about):
    """And the pods that it is about."""
    found, chosen = group_step(pods, there)
    assert (found, "".join(each["metadata"]["name"] for each in chosen)) == (GroupStep[step], about)


@pytest.mark.parametrize(
    ("pods", "there", "told"),
    [
        pytest.param([member("a"), member("b")], workload(), None, id="none is missing, and never was"),
        pytest.param([member("a")], workload(), (True, "PodsFailed", "Some Failed pods need replacement"),
                     id="one is missing"),
        pytest.param([member("a")], workload(*EVICTED), (True, "Preempted", "why"), id="one was evicted"),
        pytest.param([member("a")], workload("WaitingForReplacementPods=Preempted"), None, id="that is said already"),
        pytest.param([member("a"), member("b")], workload("WaitingForReplacementPods=Preempted"),
                     (False, "PodsReady", "No pods need replacement"), id="it was replaced"),
        pytest.param([member("a", **{FAST: "true"})], workload(), None, id="with fast admission one is enough"),
        pytest.param([member("a")], workload(owners=("db",), kind="StatefulSet"), None, id="a set makes another"),
    ],
)  # fmt: skip
def test_a_group_says_that_it_waits_for_other_pods(pods, there, told):
    """In Kueue's words, by a condition that keeps it out of its queue."""
    assert replacement(places(pods, there), there) == told


def test_a_pod_that_only_says_the_role_of_smaller_ones_waits():
    """Anybody may write a role on a pod: what requests more than the pods of that role is not let go in their place."""
    small, big = (
        merge(
            member(name, gated=True), {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}
        )
        for name, cpu in (("a", "1"), ("b", "64"))
    )
    pods = [merge(pod, {"metadata": {"annotations": {"kueue.x-k8s.io/role-hash": ROLE}}}) for pod in (small, big)]
    admitted = workload(*ADMITTED)
    admitted["spec"]["podSets"] = [{"name": ROLE, "count": 2, "template": {"spec": small["spec"]}}]
    assert group_step(pods, admitted) == (GroupStep.TELL, ())
    told = merge(admitted, {"status": {"conditions": [*admitted["status"]["conditions"], REPLACES]}})
    assert group_step(pods, told) == (GroupStep.START, [pods[0]])
