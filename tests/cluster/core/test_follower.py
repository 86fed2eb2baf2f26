"""A replica that follows knows what the leader knows: it answers for the queues, and lives as long."""

from datetime import UTC, datetime

import pytest

from tests.cluster.core.test_revision import workload
from tests.cluster.small_cluster import below, make_controller, queues
from tests.cluster.two_leaders import candidate
from tests.queue.living import MINUTE, rules_of
from tests.queue.python_rules import KueueRules
from webhook.cluster.api.kinds import PROVISIONING_REQUEST, WORKLOAD
from webhook.cluster.api.view import View
from webhook.cluster.beside_kueue import BesideKueue
from webhook.cluster.core.queue_core import QueueCore
from webhook.queue.decisions import Reason
from webhook.store.memory import MemoryStore
from webhook.store.objects import merge

BEGIN = 1_767_225_600_000


def at(minute: int) -> str:
    return datetime.fromtimestamp((BEGIN + minute * MINUTE) / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def follower(*objects, rules=None) -> QueueCore:
    """One that has followed from the beginning."""
    core = QueueCore(rules or KueueRules())
    for obj in objects:
        core.heard(None, obj)
    core.follow(BEGIN)
    return core


def test_a_back_off_ends_where_nobody_decides_too():
    """By every replica's answer of what is pending, a workload is back in its queue when its back-off is over."""
    state = {"requeueState": {"count": 1, "requeueAt": at(1)}}
    core = follower(*queues("1"), merge(workload("a"), {"status": state}))
    assert core.in_order("cq") == []
    core.follow(BEGIN + 2 * MINUTE)
    assert core.in_order("cq") == ["team-a/a"]
    assert core.explain("team-a/a").reason is Reason.NOT_CONSIDERED


def test_a_later_back_off_ends_too():
    """One that began and ended while the replica followed: the clock of the follower goes on."""
    core = follower(*queues("1"), workload("a"))
    core.heard(workload("a"), merge(workload("a"), {"status": {"requeueState": {"count": 1, "requeueAt": at(9)}}}))
    core.follow(BEGIN + 8 * MINUTE)
    assert core.in_order("cq") == []
    core.heard(None, workload("b"))
    core.follow(BEGIN + 10 * MINUTE)
    assert core.in_order("cq") == ["team-a/a", "team-a/b"]


def test_an_order_by_the_time_is_followed():
    """By a rule that lets go last what has waited for twenty minutes, on the follower as on the leader."""
    old, young = (
        merge(workload(n), {"metadata": {"creationTimestamp": at(m)}}) for n, m in (("old", -15), ("young", 0))
    )
    core = follower(*queues("0"), old, young, rules=rules_of("kueue", ("aging",)))
    assert core.in_order("cq") == ["team-a/old", "team-a/young"]
    core.follow(BEGIN + 10 * MINUTE)
    assert core.in_order("cq") == ["team-a/young", "team-a/old"]


@pytest.mark.parametrize("has_led", [False, True], ids=["a follower", "one that led once"])
def test_nothing_is_kept_of_what_is_gone(has_led):
    """Workloads get quota, back off and go, for months: a follower keeps nothing of them for a decision to come."""
    core = follower(*queues("1"), workload("big", "5"))
    if has_led:
        core.decide(BEGIN)
    pods = {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1"}, "count": 1}
    row = {"type": "QuotaReserved", "status": "True", "lastTransitionTime": at(0)}
    held = {"conditions": [row], "admission": {"clusterQueue": "cq", "podSetAssignments": [pods]}}
    for number in range(9):
        made = workload(f"w-{number}")
        backs_off = merge(made, {"status": {"requeueState": {"count": 1, "requeueAt": at(number + 1)}}})
        for new in (made, backs_off, merge(made, {"status": held}), None):
            core.heard(made, new)
            core.follow(BEGIN + number * MINUTE)
    core.follow(BEGIN + 10 * MINUTE)
    state = core.state
    assert (state.due, state.changes.arrived, state.backoff.next(lambda at, key: True)) == ({}, {}, None)


def test_nothing_is_to_be_told_of_what_is_gone():
    """What a leader would tell Workloads, and ask for them, a follower does not note: a leader looks at all anew."""
    store = MemoryStore()
    follows, _, _ = make_controller(store, candidate(store, "b"))
    made = workload("w")
    request = below(made, {"kind": "ProvisioningRequest", "metadata": {"name": "r", "namespace": "team-a"}})
    for old, new in ((None, made), (made, None)):
        follows.heard(WORKLOAD, old, new)
    follows.heard(PROVISIONING_REQUEST, request, None)
    assert (follows._upkeep._due, follows._provisioner._due) == ({}, {})


def test_beside_kueue_nothing_is_kept_to_be_told():
    """What was looked at waits for its explanation; where Kueue decides, nobody asks for that."""
    core = follower(*queues("1"), workload("a"), workload("b"))
    BesideKueue(View(MemoryStore(), ()), core, lambda: BEGIN).decide()
    assert core.in_order("cq") == ["team-a/b"]
    assert list(core.looked_at()) == []
