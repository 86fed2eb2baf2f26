"""Volcano's Queues and PodGroups: what runs holds its quota, and what a queue deserves comes from its parent."""

import pytest

from tests.queue.python_rules import KueueRules
from webhook.api.pending_message import message_of
from webhook.api.snapshot.reader import Reader, snapshot
from webhook.queue.cycle.decide import decide
from webhook.queue.explain import pending
from webhook.queue.model import ClusterQueue
from webhook.queue.state import State

API = "scheduling.volcano.sh/v1beta1"


def queue(name, **spec):
    return {"apiVersion": API, "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def group(name, cpu="1", queue="q", members=1, phase="", **spec):
    given = {"queue": queue, "minMember": members, "minResources": {"cpu": cpu}, **spec}
    metadata = {"name": name, "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"apiVersion": API, "kind": "PodGroup", "metadata": metadata, "spec": given, "status": {"phase": phase}}


def node(name, cpu):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": {"cpu": cpu}}}


def told(*objects):
    """Decide once; give who was admitted, and what the others wait for."""
    state = State.from_snapshot(snapshot(objects))
    made = decide(state, KueueRules(), 0)
    return [a.workload for a in made.admitted], {p.workload: message_of(p) for p in pending(state)}


def owned(*objects):
    """The CPUs that each queue owns, in thousandths; what is left at a cohort itself included."""
    found = snapshot(objects)
    definitions = (*found.cluster_queues, *found.cohorts)
    return {
        d.name: d.resource_groups[0].flavors[0].resources["cpu"].nominal_quota for d in definitions if d.resource_groups
    }


@pytest.mark.parametrize("phase", ["Running", "Inqueue", "Unknown"])
def test_a_group_that_volcano_let_in_holds_its_quota(phase):
    """On a full cluster another one waits, and the one that runs is neither pending nor admitted again."""
    admitted, waits = told(queue("q", deserved={"cpu": "2"}), group("runs", "2", phase=phase), group("late", "1"))
    assert admitted == []
    assert list(waits) == ["n/late"]


def test_a_group_that_has_ended_holds_nothing():
    """Completed pods are gone."""
    admitted, _ = told(queue("q", deserved={"cpu": "2"}), group("done", "2", phase="Completed"), group("late", "2"))
    assert admitted == ["n/late"]


def test_the_start_of_a_group_is_that_of_its_condition():
    """Who was let in last is found by the time of the condition Scheduled."""
    runs = group("runs", "2", phase="Running")
    runs["status"]["conditions"] = [{"type": "Scheduled", "lastTransitionTime": "2026-01-01T00:01:00Z"}]
    [workload] = snapshot([queue("q"), runs]).workloads
    assert workload.admission.reserved_at - workload.created == 60_000


def test_children_share_what_their_parent_deserves():
    """By weight, not out of the whole cluster; what a child says itself goes first; the rest is the parent's own."""
    tree = (
        node("a", "12"),
        queue("dept", deserved={"cpu": "6"}),
        queue("x", parent="dept", weight=2),
        queue("y", parent="dept", weight=1),
        queue("alone"),
    )
    assert owned(*tree) == {"x": 4000, "y": 2000, "dept": 0, "alone": 6000, "root": 0}
    said = queue("y", parent="dept", deserved={"cpu": "1"}), queue("x", parent="dept", deserved={"cpu": "2"})
    assert owned(node("a", "12"), tree[1], *said) == {"x": 2000, "y": 1000, "dept": 3000, "root": 6000}


def test_a_tree_gives_no_more_than_its_parent_deserves():
    """Two children of a parent that deserves two CPUs do not get two each."""
    objects = queue("dept", deserved={"cpu": "2"}), queue("x", parent="dept"), queue("y", parent="dept")
    admitted, waits = told(*objects, *(group(f"g{n}", "1", queue="xy"[n % 2]) for n in range(4)))
    assert len(admitted) == 2
    assert len(waits) == 2


def test_parents_that_form_a_circle_own_nothing():
    """The queues of a circle are told as what they are, and nobody hangs."""
    admitted, waits = told(queue("a", parent="b"), queue("b", parent="a"), queue("q", parent="a"), group("g"))
    assert admitted == []
    assert list(waits) == ["n/g"]


@pytest.mark.parametrize(
    ("spec", "of", "message"),
    [
        ({"networkTopology": {"mode": "hard"}}, "PodGroup", "spec.networkTopology uses network topology"),
        ({"minTaskMember": {"a": 1}}, "PodGroup", "spec.minTaskMember uses"),
        ({"affinity": {"nodeGroupAffinity": {}}}, "Queue", "spec.affinity uses node affinity"),
    ],
)
def test_what_is_not_supported_waits(spec, of, message):
    """The reason names the field."""
    objects = (
        queue("q", deserved={"cpu": "2"}, **(spec if of == "Queue" else {})),
        group("g", **(spec if of != "Queue" else {})),
    )
    admitted, waits = told(*objects)
    assert admitted == []
    assert message in waits["n/g"]


def test_events_of_volcano_come_to_what_a_fresh_reading_does():
    """A queue that changes its parent, a group in a new namespace, a node that goes: the events say it all."""
    before = [node("a", "4"), node("b", "4"), queue("p"), queue("q"), group("g")]
    reader = Reader(before)
    state = State.from_snapshot(reader.snapshot())
    elsewhere = {**group("h"), "metadata": {**group("h")["metadata"], "namespace": "m"}}
    after = [before[0], before[2], queue("q", parent="p", weight=3), group("g", phase="Running"), elsewhere]
    events = [*reader.gone(before[1]), *(e for obj in after[2:] for e in reader.changed(obj))]
    for event in events:
        state.apply(event)
    fresh = State.from_snapshot(snapshot(after))
    for made in (state, fresh):
        made.bind(KueueRules())
    assert state.snapshot() == fresh.snapshot()
    assert [e.definition.name for e in events if isinstance(getattr(e, "definition", None), ClusterQueue)]
