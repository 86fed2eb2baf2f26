"""A change around Workloads has those read again that go by it, and comes to what a fresh reading does."""

from typing import Any

import pytest

from tests.cluster.small_cluster import queues
from webhook.api.snapshot import workload as load
from webhook.api.snapshot.reader import Reader
from webhook.queue.events import WorkloadChanged
from webhook.queue.state import State


def workload(name: str, namespace: str = "a", *, pods: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A Workload of one pod; its requests come from a LimitRange."""
    template = {"spec": {"containers": [{"name": "c"}], **(pods or {})}}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": namespace, "uid": name},
        "spec": {"queueName": "main", "podSets": [{"name": "main", "count": 1, "template": template}], **spec},
    }


def limits(namespace: str, cpu: str, name: str = "defaults", *more: dict[str, Any]) -> dict[str, Any]:
    """A LimitRange with a request for those that name none."""
    metadata = {"name": name, "namespace": namespace}
    spec = {"limits": [{"type": "Container", "defaultRequest": {"cpu": cpu}}, *more]}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": spec}


def named(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    """A class, by name."""
    group = {"WorkloadPriorityClass": "kueue.x-k8s.io/v1beta2", "RuntimeClass": "node.k8s.io/v1"}
    return {"apiVersion": group.get(kind, "scheduling.k8s.io/v1"), "kind": kind, "metadata": {"name": name}, **fields}


WORKLOADS = [
    workload("plain"),
    workload("other", "b"),
    workload("classy", priorityClassRef={"kind": "WorkloadPriorityClass", "name": "high"}),
    workload("written", priority=7, priorityClassRef={"kind": "WorkloadPriorityClass", "name": "high"}),
    workload("old", "b", priorityClassName="high"),
    workload("heavy", pods={"runtimeClassName": "vm"}),
    {**workload("odd"), "spec": {"podSets": 7}},
]


@pytest.mark.parametrize(
    ("around", "read"),
    [
        (limits("a", "2"), ["plain", "classy", "written", "heavy", "odd"]),
        (limits("b", "2"), ["other", "old"]),
        (limits("c", "2"), []),
        (named("WorkloadPriorityClass", "high", value=3), ["classy", "old"]),
        (named("PriorityClass", "high", value=3), ["old"]),
        (named("PriorityClass", "low", value=3), []),
        (named("RuntimeClass", "vm", overhead={"podFixed": {"cpu": "1"}}), ["heavy"]),
        (named("PriorityClass", "odd", value="high"), [w["metadata"]["name"] for w in WORKLOADS]),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else None,
)
def test_a_change_around_has_those_read_that_go_by_it(monkeypatch, around, read):
    """The Workloads that are read again are those of the row, when it comes and when it goes."""
    names: list[str] = []
    reader = Reader(WORKLOADS, tolerant=True)
    facts = {w.key: w for w in reader.snapshot().workloads}
    found = load.workload
    monkeypatch.setattr(load, "workload", lambda obj, by: names.append(obj["metadata"]["name"]) or found(obj, by))
    for objects, change in (([*WORKLOADS, around], reader.changed), (WORKLOADS, reader.gone)):
        names.clear()
        events = list(change(around))
        assert list(dict.fromkeys(names)) == read
        facts |= {e.workload.key: e.workload for e in events if isinstance(e, WorkloadChanged)}
        assert facts == {w.key: w for w in Reader(objects, tolerant=True).snapshot().workloads}


def test_of_two_limit_ranges_the_order_does_not_count():
    """One that was deleted and is there again comes last in memory, and by name after a restart."""
    small = {"type": "Pod", "max": {"cpu": "1"}}
    first, last = limits("a", "2", "first", small), limits("a", "4", "last", small)
    reader = Reader([workload("plain"), first, last])
    (before,) = reader.snapshot().workloads
    assert (before.pod_sets[0].requests, "LimitRange first" in before.problem) == ({"cpu": 2000}, True)
    events = [event for change in (reader.gone, reader.changed) for event in change(first)]
    assert events[-1] == WorkloadChanged(before)
    assert reader.snapshot().workloads == Reader([last, first, workload("plain")]).snapshot().workloads == (before,)


def test_other_settings_have_the_definitions_read_again():
    """Applied in a trace of `sluice plan`, or taken away: its gates and what no group covers count for queues too."""
    settings = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "metadata": {"name": "kueue"},
        "resources": {"quotaCheckStrategy": "IgnoreUndeclared"},
        "featureGates": {"TopologyAwareScheduling": False},
    }
    topology = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "f"}}
    objects = [*queues("1"), {**topology, "spec": {"topologyName": "racks"}}]
    state = State.from_snapshot((reader := Reader(objects)).snapshot())
    for known, change in (([*objects, settings], reader.changed), (objects, reader.gone)):
        for event in change(settings):
            state.apply(event)
        assert state.snapshot() == Reader(known).snapshot()
    assert state.flavors["f"].problem


def test_what_is_wrong_with_an_object_goes_with_it():
    """A reader lives for months: it would keep a word of each malformed object there ever was."""
    bad = [
        {**WORKLOADS[0], "spec": {**WORKLOADS[0]["spec"], "podSets": "none"}},
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": 7},
    ]
    reader = Reader((), tolerant=True)
    for obj in bad:
        reader.changed(obj)
    assert len(reader.problems) == 2
    for obj in bad:
        reader.gone(obj)
    assert reader.problems == {}
