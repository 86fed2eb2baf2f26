"""The core takes in what it heard in small steps, and says who may have another explanation: those of one tree."""

import pytest

from tests.cluster.core.test_revision import workload
from tests.cluster.small_cluster import queues
from tests.queue.python_rules import KueueRules
from webhook.api.snapshot.reader import PASSED_OVER, Reader
from webhook.cluster.core.queue_core import QueueCore
from webhook.cluster.pace import CHUNK, at_once
from webhook.store.objects import merge

MANY = 300
LIMITS = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "team-a"}, "spec": {}}


def steps_of(generator) -> int:
    """How many steps a pass has."""
    return sum(1 for _ in generator)


def of_queue(name: str, queue: str, cpu: str = "1"):
    """A Workload of a LocalQueue."""
    return merge(workload(name, cpu), {"spec": {"queueName": queue}})


def two_trees() -> list:
    """Two ClusterQueues with nothing in common, each with its LocalQueue."""
    namespace, flavor, queue, door = queues("1")
    found = [namespace, flavor]
    for name in ("x", "y"):
        found.append(merge(queue, {"metadata": {"name": name}}))
        found.append(merge(door, {"metadata": {"name": name}, "spec": {"clusterQueue": name}}))
    return found


def core_of(objects) -> QueueCore:
    core = QueueCore(KueueRules())
    for obj in objects:
        core.heard(None, obj)
    return core


def test_the_first_look_and_every_other_is_made_in_steps():
    """A Workload a step, when a replica starts, when they come, and when a LimitRange has all read again."""
    core = core_of([*queues("1"), *(workload(f"w-{n}", "5") for n in range(MANY))])
    assert steps_of(core.catch_up(0)) >= MANY
    core.decide(0)
    for n in range(MANY):
        core.heard(None, workload(f"late-{n}", "5"))
    assert steps_of(core.catch_up(0)) >= MANY
    core.heard(None, LIMITS)
    assert steps_of(core.catch_up(0)) >= 2 * MANY


@pytest.mark.parametrize(
    ("around", "itself"),
    [
        ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new", "labels": {"jobs": "yes"}}}, 1),
        ({**LIMITS, "metadata": {"name": "l", "namespace": "new"}}, 0),
    ],
    ids=["a namespace", "a LimitRange"],
)
def test_only_workloads_of_a_namespace_are_visited_for_it(around, itself):
    """However many wait elsewhere: for each namespace that came all of them were, and that moved every review's p99."""

    def why(_: str, labels) -> str:
        return "" if labels.get("jobs") else "not selected"

    reader = Reader([*queues("1"), *(workload(f"w-{n}") for n in range(3 * PASSED_OVER))], left_alone=why)
    reader.snapshot()
    there = merge(workload("there"), {"metadata": {"namespace": "new"}})
    assert steps_of(reader.in_steps(around)) == itself
    assert steps_of(reader.in_steps(there)) == 1
    assert steps_of(reader.in_steps(around, gone=True)) == itself + 1
    assert steps_of(reader.in_steps(there, gone=True)) == 1
    assert steps_of(reader.in_steps(around)) == itself


def test_in_steps_it_comes_to_the_same():
    """Whether a state is built of all at once or one by one, also of those that hold quota or come meanwhile."""
    held = {"admission": {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "flavors": {"cpu": "f"}}]},
            "conditions": [{"type": t, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
                           for t in ("QuotaReserved", "Admitted")]}  # fmt: skip
    objects = [*queues("1"), workload("a", "5"), {**workload("b"), "status": held}, workload("c")]
    one, other = core_of(objects), core_of(objects[:-1])
    steps = other.catch_up(0)
    next(steps)
    other.heard(None, objects[-1])
    for _ in steps:
        pass
    assert one.decide(0) == other.decide(0)
    assert one.state.snapshot() == other.state.snapshot()


def test_those_of_the_same_tree_may_have_another_explanation():
    """One that comes in a queue stirs the others of its tree; a definition also those who wait in no queue."""
    there = [of_queue("x-1", "x", "5"), of_queue("y-1", "y", "5"), of_queue("lost", "gone")]
    core = core_of([*two_trees(), *there])
    core.decide(0)
    assert sorted(at_once(core.stirred())) == ["team-a/x-1", "team-a/y-1"]
    assert at_once(core.stirred()) == []
    core.heard(None, of_queue("x-2", "x", "5"))
    core.decide(0)
    assert sorted(at_once(core.stirred())) == ["team-a/x-1", "team-a/x-2"]
    core.heard(None, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}})
    core.decide(0)
    assert at_once(core.stirred()) == ["team-a/lost"]


@pytest.mark.parametrize(("most", "expected"), [(2, ["x-0", "y-0"]), (4, ["x-0", "x-1", "y-0", "y-1"])])
@pytest.mark.parametrize(("classes", "steps"), [(1, 2), (7, 2), (2 * CHUNK, 4)])
def test_who_is_in_front_is_looked_for_in_steps(most, expected, classes, steps):
    """As many of each queue, the first of each; a chunk of classes is a step, however many of a class wait."""
    there = [of_queue(f"{q}-{n}", q, str(5 + n % classes)) for q in ("x", "y") for n in reversed(range(2 * CHUNK))]
    core = core_of([*two_trees(), *there])
    core.decide(0)
    assert sorted(at_once(core.front(most))) == [f"team-a/{name}" for name in expected]
    assert steps_of(core.front(most)) == steps


def test_only_what_is_in_a_queue_requests():
    """A Workload that is set inactive requests nothing, until it is active again: the metric of pending requests."""
    waits = workload("w", "5")
    inactive = merge(waits, {"spec": {"active": False}})
    core = core_of([*queues("1"), waits])
    found = []
    for obj in (waits, inactive, waits):
        core.heard(None, obj)
        core.decide(0)
        found.append(at_once(core.facts()).asked)
    assert found == [{"team-a/main": {"cpu": 5000}}, {}, {"team-a/main": {"cpu": 5000}}]
