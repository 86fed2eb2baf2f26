"""Explanations are made anew only when something happened: the core's revision says when."""

import pytest

from tests.cluster.small_cluster import queues
from tests.queue.python_rules import KueueRules
from webhook.api.snapshot import queue_objects
from webhook.api.snapshot import workload as load
from webhook.cluster.api.kinds import ADMISSION_CHECK
from webhook.cluster.core.changes import matters_to_core
from webhook.cluster.core.queue_core import QueueCore
from webhook.cluster.pace import at_once
from webhook.kube.gvk import GroupVersionKind
from webhook.store.objects import merge

POD = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}


def workload(name, cpu="1"):
    template = merge(POD, {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}})
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "team-a", "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"queueName": "main", "podSets": [{"name": "main", "count": 1, "template": template}]},
    }


def active_check(active):
    """An AdmissionCheck, and what its controller says of it."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "AdmissionCheck",
        "metadata": {"name": "check", "uid": "check"},
        "spec": {"controllerName": "tests.dev/budget"},
        "status": {"conditions": [{"type": "Active", "status": active, "message": "it is reached"}]},
    }


def test_a_tick_in_which_nothing_happens_changes_no_explanation():
    """A parked workload is explained once; a change of any object, a decision or other rules make it worth it again."""
    core = QueueCore(KueueRules())
    for obj in [*queues("1"), workload("big", "5")]:
        core.heard(None, obj)
    core.decide(0)
    settled = core.revision
    for tick in range(1, 4):
        core.decide(5_000 * tick)
    assert core.revision == settled
    core.heard(None, workload("small"))
    assert [a.workload for a in core.decide(20_000).admitted] == ["team-a/small"]
    after = core.revision
    assert after > settled
    core.use(KueueRules())
    assert core.revision > after


@pytest.mark.parametrize("leads", [True, False])
def test_who_reads_between_a_change_and_the_next_decision_is_told_to_read_again(leads):
    """A definition is recorded at once and applies from the next decision on: a status made in between is old by then.

    It said of a ClusterQueue for five seconds that a check is not active which had just become so.
    """
    core, active = QueueCore(KueueRules()), active_check("True")
    then, check = core.decide if leads else core.follow, active_check("False")
    definitions = queues("1", admissionChecksStrategy={"admissionChecks": [{"name": "check"}]})
    for obj in [*definitions, check]:
        core.heard(None, obj)
    then(0)
    at_once(core.stirred())
    core.heard(check, active)
    at_once(core.catch_up(1))
    revision, why = core.revision, dict(core.inactive())
    then(1)
    assert why == {"cq": "AdmissionCheck check is not active"}
    assert dict(core.inactive()) == {}
    assert core.revision > revision


def test_workloads_of_one_second_go_by_name():
    """Where nobody knows which came first, the random uid of the API server decides nothing."""
    core, made = QueueCore(KueueRules()), [workload("a"), workload("b")]
    made[0]["metadata"]["uid"], made[1]["metadata"]["uid"] = "9", "1"
    for obj in [*queues("1"), *reversed(made)]:
        core.heard(None, obj)
    assert [a.workload for a in core.decide(0).admitted] == ["team-a/a"]


def test_workloads_of_one_second_go_by_their_versions():
    """Who was heard of first, by its version then, is first; a later write to it changes nothing."""
    core, made = QueueCore(KueueRules()), [workload("b"), workload("a")]
    for number, obj in enumerate(made, 8):
        obj["metadata"]["resourceVersion"] = str(number)
    for obj in [*queues("1"), *reversed(made), merge(made[0], {"metadata": {"resourceVersion": "12"}})]:
        core.heard(None, obj)
    assert [a.workload for a in core.decide(0).admitted] == ["team-a/b"]


def test_a_round_looks_at_nothing_that_did_not_change(monkeypatch):
    """Of two hundred Workloads the one that is new is read, and none other; so it is with a quota's use."""
    core, read = QueueCore(KueueRules()), []
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"n-{n}"}} for n in range(50)]
    for obj in [*queues("1"), *spaces, *(workload(f"w-{n}") for n in range(200))]:
        core.heard(None, obj)
    core.decide(0)
    for module, name in ((load, "workload"), (queue_objects, "namespace")):
        monkeypatch.setattr(module, name, _noted(getattr(module, name), read))
    core.heard(None, workload("late"))
    core.decide(1_000)
    used = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "n-7"}}
    core.heard(None, used)
    core.decide(2_000)
    core.heard(used, None)
    core.decide(3_000)
    assert read == ["late", "n-7", "n-7"]


def _noted(function, read):
    def noting(obj, *args):
        read.append(obj["metadata"]["name"])
        return function(obj, *args)

    return noting


def test_annotations_that_count_call_for_a_round():
    """A boost of the priority and a gate are heeded at once; other annotations of a Workload are not."""
    gvk, plain = GroupVersionKind("kueue.x-k8s.io", "v1beta2", "Workload"), workload("w")
    for name, heeded in (("priority-boost", True), ("admission-gated-by", True), ("other", False)):
        changed = merge(plain, {"metadata": {"annotations": {f"kueue.x-k8s.io/{name}": "1"}}})
        assert matters_to_core(gvk, plain, changed) is heeded


def test_a_check_that_becomes_active_calls_for_a_round():
    """Its queues are inactive until then, and said so until the next tick; what else is said of it does not count."""
    gvk, before, after = ADMISSION_CHECK, active_check("False"), active_check("True")
    assert matters_to_core(gvk, before, after)
    said = merge(after, {"status": {"conditions": [{**after["status"]["conditions"][0], "message": "as before"}]}})
    assert not matters_to_core(gvk, after, said)


def test_what_is_being_written_counts_whatever_the_object_says():
    """An edit of it, its end, and its return are known when the write has its outcome."""
    core, (first, second) = QueueCore(KueueRules()), (workload("a"), workload("b"))
    under_way = core.in_flight.keys
    for obj in [*queues("1"), first, second]:
        core.heard(None, obj)

    def admitted():
        return [each.workload for each in core.decide(0).admitted]

    assert admitted() == ["team-a/a"]
    under_way.add("team-a/a")
    core.heard(first, merge(first, {"spec": {"priority": 7}}))
    assert admitted() == []
    under_way.clear()
    assert admitted() == ["team-a/a"]
    under_way.add("team-a/a")
    core.heard(first, None)
    assert admitted() == []
    under_way.clear()
    assert admitted() == ["team-a/b"]
