"""Usage that is counted is forgotten with its queue and its users: a state that lives is as small as a new one."""

from __future__ import annotations

import pytest

from tests.queue.build import queue, snapshot
from tests.queue.python_rules import KueueRules
from webhook.queue.cycle.decide import decide
from webhook.queue.events import DefinitionChanged, DefinitionGone, WorkloadChanged, WorkloadGone
from webhook.queue.model import LocalQueue, Namespace, PodSet, Workload
from webhook.queue.quota.decayed_usage import Meters
from webhook.queue.state import State

RULES = KueueRules(metered=True, half_life=1000, sampling=1000)


def known(meters: Meters) -> tuple[list[str], dict[str, set[str]]]:
    """The queues that have a meter, and who is counted where."""
    return sorted(meters.by_name), meters.by_user


def run(core: State, number: int, *, first: str) -> int:
    """A job of a user of its own runs in a namespace that comes and goes; give when. `first` is what goes first."""
    space, now = f"ci-{number}", 100_000 * (number + 1)
    core.apply(DefinitionChanged(Namespace(space)))
    core.apply(DefinitionChanged(LocalQueue(space, "main", "q")))
    pods = (PodSet("main", 1, {"gpu": 1}),)
    core.apply(WorkloadChanged(Workload(space, "j", "main", pods, uid=f"u{number}", user=f"user-{number}")))
    assert decide(core, RULES, now).admitted
    gone = [WorkloadGone(f"{space}/j"), DefinitionGone(LocalQueue, f"{space}/main")]
    for event in gone if first == "workload" else reversed(gone):
        core.apply(event)
        decide(core, RULES, now + 2000)
    core.apply(DefinitionGone(Namespace, space))
    decide(core, RULES, now + 5000)
    return now + 90_000


@pytest.mark.parametrize("first", ["workload", "queue"])
def test_queues_and_users_that_come_and_go_leave_nothing(first: str) -> None:
    core = State.from_snapshot(snapshot([queue("q")]))
    decide(core, RULES, 1)
    for number in range(3):
        now = run(core, number, first=first)
    decide(core, RULES, now)
    core.accounting.clusters.read(["q"], None, now, RULES)
    fresh = State.from_snapshot(core.snapshot())
    decide(fresh, RULES, now)
    for living, rebuilt in (
        (core.accounting.locals, fresh.accounting.locals),
        (core.accounting.clusters, fresh.accounting.clusters),
    ):
        assert known(living) == known(rebuilt)
    assert core.accounting._spaces == fresh.accounting._spaces


def test_who_still_holds_something_of_a_deleted_queue_stays_counted() -> None:
    meters = Meters()
    meters.hold("a", {("ann", "gpu"): 1, ("ann", "cpu"): 2, ("bob", "gpu"): 1}, 1, 0, RULES)
    meters.drop("a")
    meters.hold("a", {("ann", "gpu"): 1, ("bob", "gpu"): 1}, -1, 0, RULES)
    assert meters.by_user == {"ann": {"a"}}
    assert meters.by_name["a"].held == {("ann", "cpu"): 2}
    meters.hold("a", {("ann", "cpu"): 2}, -1, 0, RULES)
    assert (meters.by_name, meters.by_user) == ({}, {})
