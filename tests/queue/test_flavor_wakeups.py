"""Pod sets that want the same flavor are woken by whatever may send one of them to another."""

from __future__ import annotations

from tests.queue.build import NS, group, job, names, queue, running, state
from tests.queue.python_rules import KueueRules
from webhook.queue.cycle.decide import decide
from webhook.queue.events import WorkloadGone
from webhook.queue.model import Cohort, Fungibility, PodSet


def test_pod_sets_that_crowd_each_other_are_woken_when_one_of_them_may_go_elsewhere() -> None:
    """Both fit only on two flavors; the second would exceed all of the one that the first takes while `r` runs."""
    flavors = group(("default", {"gpu": 6}), ("other", {"gpu": 1}))
    tries_on = Fungibility("TryNextFlavor", "TryNextFlavor")
    lines = [queue("a", cohort="co", resource_groups=(flavors,), fungibility=tries_on)]
    cohort = Cohort("co", resource_groups=(group(("default", {"gpu": 2}), ("other", {"gpu": 2})),))
    pair = job("pair", "a", pod_sets=(PodSet("x", 1, {"gpu": 3}), PodSet("y", 1, {"gpu": 8})))
    core = state(lines, [running("r", "a", 4), pair], [cohort])
    assert names(decide(core, KueueRules(), 0)) == []
    core.apply(WorkloadGone(f"{NS}/r"))
    assert names(decide(core, KueueRules(), 1)) == ["pair"]
