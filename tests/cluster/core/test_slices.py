"""An elastic job's old Workload and the one in its place change together, also while one of them is being written."""

import pytest

from tests.cluster.core.test_revision import workload
from tests.cluster.small_cluster import queues
from tests.queue.python_rules import KueueRules
from webhook.cluster.core.queue_core import QueueCore
from webhook.jobs.elastic import REPLACES
from webhook.store.objects import merge

NOW = 1_767_225_600_000
STAMP = "2026-01-01T00:00:00Z"


def of_pods(name, count, **metadata):
    """A Workload of so many pods, each of one CPU."""
    made = workload(name)
    made["spec"]["podSets"][0]["count"] = count
    return merge(made, {"metadata": {"resourceVersion": name, **metadata}})


def holding(made, *also):
    """The same, when its admission is written; `also` are conditions that it has beside."""
    count = made["spec"]["podSets"][0]["count"]
    rows = [
        {"type": kind, "status": "True", "reason": "x", "message": "", "lastTransitionTime": STAMP}
        for kind in ("QuotaReserved", "Admitted", *also)
    ]
    usage = {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": str(count)}, "count": count}
    return {**made, "status": {"conditions": rows, "admission": {"clusterQueue": "cq", "podSetAssignments": [usage]}}}


OLD = holding(of_pods("old", 2))
NEW = of_pods("new", 3, annotations={REPLACES: "team-a/old"})
OTHER = of_pods("other", 2)
ENDED = holding(of_pods("old", 2), "Finished")


def admitted(core, now):
    return [each.workload for each in core.decide(now).admitted]


def being_replaced():
    """Of 3 CPU the old one holds 2; the admission of the new one, which asks for 3, is decided and being written."""
    core = QueueCore(KueueRules())
    for obj in (*queues("3"), OLD, NEW, OTHER):
        core.heard(None, obj)
    assert admitted(core, NOW) == ["team-a/new"]
    core.in_flight.keys.add("team-a/new")
    return core


@pytest.mark.parametrize("ends", [[None], [ENDED], [ENDED, None]], ids=["deleted", "finished", "finished, deleted"])
@pytest.mark.parametrize("lands", [True, False], ids=["it lands", "it fails"])
def test_what_the_old_one_held_is_not_given_away_while_the_new_one_is_written(ends, lands):
    """The new one was counted as one CPU more than the old; without the old it is three."""
    core = being_replaced()
    before = OLD
    for number, after in enumerate(ends):
        core.heard(before, after)
        before = after or before
        assert admitted(core, NOW + number) == []
    core.in_flight.keys.clear()
    if lands:
        core.heard(NEW, holding(NEW))
    assert admitted(core, NOW + 10) == ([] if lands else ["team-a/new"])
    core.heard(holding(NEW), None)
    assert admitted(core, NOW + 20) == ["team-a/other"]


def test_the_written_one_is_deleted():
    """What waited for its write is looked at all the same: nothing holds quota then, and the next is let in."""
    core = being_replaced()
    core.heard(OLD, None)
    core.heard(NEW, None)
    assert admitted(core, NOW) == []
    core.in_flight.keys.clear()
    assert admitted(core, NOW + 10) == ["team-a/other"]
