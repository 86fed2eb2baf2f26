"""The metrics of queues and Workloads: Kueue's names, labels and buckets, and what happens counted as it happens."""

import asyncio
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.metrics import MetricWrapperBase

from tests.cluster.core.test_revision import workload
from tests.cluster.small_cluster import job, make_controller, queues, small_cluster
from tests.queue.python_rules import KueueRules
from webhook.api.configuration.sections import (
    AdmissionFairSharing,
    LocalQueueMetrics,
    Metrics,
    QueueSettings,
    WaitForPodsReady,
)
from webhook.cluster.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD
from webhook.cluster.core.queue_core import QueueCore
from webhook.cluster.pace import at_once
from webhook.cluster.queues.conditions import Known
from webhook.cluster.queues.counts import WorkloadCounts
from webhook.cluster.queues.names import QueueNames
from webhook.cluster.queues.round_metrics import QueueMetrics
from webhook.cluster.queues.status import tally
from webhook.cluster.queues.transitions import Transitions
from webhook.kube.gvk import POD
from webhook.queue.decisions import Admitted
from webhook.store.memory import MemoryStore
from webhook.store.objects import merge

LIST = Path(__file__).parent / "kueue-0.20-metrics.txt"
BUCKETS = {
    "default": (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    "creation": tuple(0.01 * 2**n for n in range(11)),
    "exponential14": (1, *(2.5 * 2**n for n in range(13))),
    "exponential16": (1, *(2.5 * 2**n for n in range(15))),
}


def ours() -> dict[str, tuple[str, set[str], tuple[float, ...]]]:
    """Type, labels and buckets of every metric of the queues, by name."""
    registry, found = CollectorRegistry(), {}
    QueueMetrics(registry)
    for collector in registry._collector_to_names:
        if isinstance(collector, MetricWrapperBase):
            ending = "_total" if collector._type == "counter" else ""
            buckets = tuple(collector._upper_bounds[:-1]) if isinstance(collector, Histogram) else ()
            found[collector._name + ending] = collector._type, set(collector._labelnames), buckets
        else:
            found |= {f.name: (f.type, set(f._labelnames), ()) for f in collector.collect()}
    return found


def test_every_metric_of_kueue_is_ours_or_has_a_reason():
    """With its type, labels and buckets; none of ours has Kueue's prefix and is not Kueue's."""
    known, reasons = {}, {}
    for line in LIST.read_text().splitlines()[1:]:
        row, _, reason = line.partition("  # ")
        name, type_, labels, *buckets = row.split()
        known[name] = type_, labels, buckets
        if reason:
            reasons[name] = reason
    have = ours()
    assert set(known) - set(have) == set(reasons)
    assert {name for name in have if name.startswith("kueue_")} == set(known) - set(reasons)
    for name in set(known) - set(reasons):
        type_, labels, buckets = known[name]
        role = set() if name == "kueue_build_info" else {"replica_role"}
        expected = type_, set(labels.split(",")) | role, tuple(BUCKETS[buckets[0]]) if buckets else ()
        assert have[name] == expected, name


ROLE = {"replica_role": "standalone"}
QUEUE, LOCAL = {"cluster_queue": "cq"}, {"name": "main", "namespace": "team-a"}


def value(registry: CollectorRegistry, metric: str, /, **labels: Any) -> float | None:
    """The value of a series."""
    return registry.get_sample_value(f"kueue_{metric}", {**labels, **ROLE})


def row(type_: str, status: bool, at: str, reason: str = "x") -> dict[str, Any]:
    """A condition since a second of a minute."""
    since = f"2026-01-01T00:00:{at}Z"
    return {"type": type_, "status": str(status), "reason": reason, "message": "", "lastTransitionTime": since}


def held(*rows: dict[str, Any], **status: Any) -> dict[str, Any]:
    """A Workload of cq and main, with quota, and these conditions."""
    made = workload("w")
    made["spec"]["priorityClassRef"] = {"name": "high"}
    return {**made, "status": {"admission": {"clusterQueue": "cq"}, "conditions": list(rows), **status}}


RESERVED, ADMITTED = row("QuotaReserved", True, "10"), row("Admitted", True, "20")
RANKED = {"priority_class": "high"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (held(RESERVED, ADMITTED),
         held(RESERVED, ADMITTED, row("Finished", True, "50"), accumulatedPastExecutionTimeSeconds=7),
         {("finished_workloads_total", True): 1, ("execution_time_seconds_sum", True): 37}),
        (held(RESERVED), held(RESERVED, row("Finished", True, "50")),
         {("finished_workloads_total", True): 1, ("execution_time_seconds_count", True): None}),
        (held(RESERVED, ADMITTED), held(RESERVED, ADMITTED, row("Finished", True, "50", "WorkloadSliceReplaced")),
         {("replaced_workload_slices_total", False): 1}),
        (held(RESERVED, ADMITTED), held(RESERVED, ADMITTED, row("PodsReady", True, "30", "Started")),
         {("ready_wait_time_seconds_sum", True): 60, ("admitted_until_ready_wait_time_seconds_sum", True): 40}),
        (held(RESERVED, ADMITTED), held(RESERVED, ADMITTED, row("PodsReady", True, "30", "Recovered")),
         {("ready_wait_time_seconds_sum", True): None}),
        (held(RESERVED, ADMITTED, row("Finished", True, "50")), held(RESERVED, ADMITTED, row("Finished", True, "50")),
         {("finished_workloads_total", True): None}),
    ],
    ids=["finished", "finished before it was admitted", "replaced", "ready", "ready again", "nothing new"],
)  # fmt: skip
def test_what_a_change_of_a_workload_comes_to(old, new, expected):
    """By ClusterQueue, and by LocalQueue where Kueue has that."""
    registry = CollectorRegistry()
    metrics = QueueMetrics(registry).workloads
    Transitions(SimpleNamespace(), metrics, lambda: 1_767_225_660_000).heard(WORKLOAD, old, new)
    for (name, is_local), number in expected.items():
        ranked = {} if name.startswith("replaced") else RANKED
        assert value(registry, name, **QUEUE, **ranked) == number
        if is_local:
            assert value(registry, f"local_queue_{name}", **LOCAL, **ranked) == number


def test_an_eviction_is_timed_until_the_quota_is_released():
    """From the condition on; and the time for which the pods were ready, with reason and cause."""
    registry = CollectorRegistry()
    metrics = QueueMetrics(registry).workloads
    now = 1_767_225_660_000
    evicted = row("Evicted", True, "40", "DeactivatedDueToAdmissionCheck")
    old = held(RESERVED, ADMITTED, row("PodsReady", True, "30", "Started"), evicted)
    metrics.evicted(old, "DeactivatedDueToAdmissionCheck", now)
    new = {**old, "status": {"conditions": [row("QuotaReserved", False, "55"), evicted]}}
    Transitions(SimpleNamespace(), metrics, lambda: now).heard(WORKLOAD, old, new)
    why = {"reason": "Deactivated", "underlying_cause": "AdmissionCheck"}
    assert value(registry, "workload_eviction_latency_seconds_sum", **QUEUE, reason="Deactivated") == 20
    assert value(registry, "pods_ready_to_evicted_time_seconds_sum", **QUEUE, **why) == 30
    for at in (QUEUE, LOCAL):
        name = "evicted_workloads_total" if at is QUEUE else "local_queue_evicted_workloads_total"
        assert value(registry, name, **at, **why, **RANKED) == 1


def test_a_gate_that_is_removed_is_timed_from_the_admission():
    """Of a pod of its own, and of one in a group."""
    registry = CollectorRegistry()
    _, view, _ = make_controller(MemoryStore())
    transitions = Transitions(view, QueueMetrics(registry).workloads, lambda: 1_767_225_660_000)
    gate = {"name": "kueue.x-k8s.io/admission"}
    for name, labels in (("alone", {}), ("member", {"kueue.x-k8s.io/pod-group-name": "group"})):
        found = merge(held(RESERVED, ADMITTED), {"metadata": {"resourceVersion": "1", "name": "group", "uid": name}})
        if name == "alone":
            owner = {"kind": "Pod", "apiVersion": "v1", "name": name, "uid": name, "controller": True}
            found["metadata"] |= {"name": "w", "ownerReferences": [owner]}
        view.informer(WORKLOAD).keep(found)
        metadata = {"name": name, "namespace": "team-a", "uid": name, "labels": labels}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"schedulingGates": [gate]}}
        transitions.heard(POD, pod, {**pod, "spec": {}})
        labels = {"name": gate["name"], "is_group": "false" if name == "alone" else "true"}
        assert value(registry, "pod_scheduling_gate_removal_seconds_sum", **QUEUE, **labels) == 40


@pytest.mark.parametrize(
    ("gate", "is_counted"),
    [("kueue.x-k8s.io/admission", True), ("kueue.x-k8s.io/topology", True), ("kueue.x-k8s.io/elastic-job", True),
     ("x.io/1", False)],
)  # fmt: skip
def test_only_gates_of_the_queues_are_timed(gate, is_counted):
    """Users name gates of their own as they like: each name would be a series more."""
    registry = CollectorRegistry()
    _, view, _ = make_controller(MemoryStore())
    found = merge(held(RESERVED, ADMITTED), {"metadata": {"resourceVersion": "1", "name": "group", "uid": "group"}})
    view.informer(WORKLOAD).keep(found)
    labels = {"kueue.x-k8s.io/pod-group-name": "group"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "team-a", "labels": labels}}
    transitions = Transitions(view, QueueMetrics(registry).workloads, lambda: 1_767_225_660_000)
    transitions.heard(POD, {**pod, "spec": {"schedulingGates": [{"name": gate}]}}, {**pod, "spec": {}})
    count = value(registry, "pod_scheduling_gate_removal_seconds_count", **QUEUE, name=gate, is_group="true")
    assert count == (1 if is_counted else None)


def test_a_workload_is_timed_from_the_creation_of_its_job():
    """In the cluster in memory; a job that ran to its end is counted, and of both queues."""

    async def go():
        async with small_cluster(*queues("2"), seconds=0.01) as w:
            await w.create(job("a"))
            await w.until_condition("a", "Finished")
            return w.registry

    registry = asyncio.run(go())
    assert value(registry, "workload_creation_latency_seconds_count", job_kind="Job") == 1
    for name in ("quota_reserved", "admitted", "finished"):
        assert value(registry, f"{name}_workloads_total", **QUEUE, priority_class="") == 1
        assert value(registry, f"local_queue_{name}_workloads_total", **LOCAL, priority_class="") == 1
    assert registry.get_sample_value("sluice_round_write_seconds_count", ROLE) >= 1


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        (QueueSettings(), True),
        (QueueSettings(feature_gates={"LocalQueueMetrics": False}), False),
        (QueueSettings(metrics=Metrics(LocalQueueMetrics(enable=False))), False),
        (QueueSettings(metrics=Metrics(LocalQueueMetrics(selector={"matchLabels": {"team": "a"}}))), True),
        (QueueSettings(metrics=Metrics(LocalQueueMetrics(selector={"matchLabels": {"team": "b"}}))), False),
    ],
    ids=["by default", "gate off", "not enabled", "selected", "not selected"],
)
def test_local_queues_are_shown_as_the_settings_say(settings, shown):
    """Neither gauges nor counters of one that is left out."""
    registry = CollectorRegistry()
    _, view, _ = make_controller(MemoryStore())
    report = QueueMetrics(registry, names=QueueNames(view, settings))
    _, _, queue, door = queues("2")
    door = merge(door, {"metadata": {"uid": "1", "resourceVersion": "1", "labels": {"team": "a"}}})
    view.informer(LOCAL_QUEUE).keep(door)
    report.workloads.admitted(held(), Admitted("team-a/w", "cq", ()), 1_767_225_660_000)
    report.update(at_once(tally([queue], [door], Known.of([], [], {}), WorkloadCounts())))
    expected = 1 if shown else None
    assert value(registry, "local_queue_admitted_workloads_total", **LOCAL, **RANKED) == expected
    assert value(registry, "local_queue_status", **LOCAL, active="False") == expected
    assert value(registry, "admitted_workloads_total", **QUEUE, **RANKED) == 1


def test_a_local_queue_that_is_gone_has_no_series():
    """Nor does what ends after it bring them back, or one whose queue never existed make some."""
    registry, (_, _, queue, door) = CollectorRegistry(), queues("2")
    _, view, _ = make_controller(MemoryStore())
    report = QueueMetrics(registry, names=QueueNames(view, QueueSettings()))
    door = merge(door, {"metadata": {"uid": "1", "resourceVersion": "1"}})
    view.informer(LOCAL_QUEUE).keep(door)
    for doors, expected in (([door], 1), ([], None), ([], None)):
        report.workloads.finished(held(RESERVED, ADMITTED), 1.0)
        report.update(at_once(tally([queue], doors, Known.of([], [], {}), WorkloadCounts())))
        assert value(registry, "local_queue_finished_workloads_total", **LOCAL, **RANKED) == expected
        view.informer(LOCAL_QUEUE).drop(door)
    assert value(registry, "finished_workloads_total", **QUEUE, **RANKED) == 3


def test_a_queue_that_is_deleted_while_another_leads_has_no_series():
    """Those of a replica that led before: it counts no queues any more, but it hears that one is gone."""
    controller, view, registry = make_controller(MemoryStore())
    _, _, queue, door = queues("2")
    for gvk, obj in ((CLUSTER_QUEUE, queue), (LOCAL_QUEUE, door)):
        view.informer(gvk).keep(merge(obj, {"metadata": {"uid": "1", "resourceVersion": "1"}}))
    controller._report.workloads.finished(held(RESERVED, ADMITTED), 1.0)
    controller._report.leads(False)
    controller.heard(CLUSTER_QUEUE, queue, queue)
    assert value(registry, "finished_workloads_total", **QUEUE, **RANKED) == 1
    controller.heard(LOCAL_QUEUE, door, None)
    assert value(registry, "local_queue_finished_workloads_total", **LOCAL, **RANKED) is None
    assert value(registry, "finished_workloads_total", **QUEUE, **RANKED) == 1
    controller.heard(CLUSTER_QUEUE, queue, None)
    assert value(registry, "finished_workloads_total", **QUEUE, **RANKED) is None


def in_cohorts() -> list[dict[str, Any]]:
    """A queue of 2 cpu in the cohort `low` below `top`, and Workloads: one runs, two wait, one is over."""
    _, flavor, queue, door = queues("2", cohortName="low")
    cohort = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort"}
    quota = {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [
        {"name": "cpu", "nominalQuota": "3"}]}]}]}  # fmt: skip
    pods = {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1500m"}, "count": 1}
    runs = {**held(RESERVED, ADMITTED), "status": {"conditions": [RESERVED, ADMITTED],
            "admission": {"clusterQueue": "cq", "podSetAssignments": [pods]}}}  # fmt: skip
    done = {**runs["status"], "conditions": [RESERVED, ADMITTED, row("Finished", True, "50")]}
    over = {**merge(runs, {"metadata": {"name": "over", "uid": "over"}}), "status": done}
    waits = merge(workload("b", "2500m"), {"status": {"conditions": [row("QuotaReserved", False, "30", "Waits")]}})
    return [
        flavor, queue, door, {**cohort, "metadata": {"name": "low"}, "spec": {"parentName": "top"}},
        {**cohort, "metadata": {"name": "top"}, "spec": quota}, runs, over, workload("a", "4"), waits,
    ]  # fmt: skip


def test_gauges_of_trees_and_of_what_waits():
    """Places in the tree, sums of a subtree, requests that wait, reasons in the conditions, limits that are none."""
    settings = QueueSettings(admission_fair_sharing=AdmissionFairSharing(3_600_000, 60_000))
    core, counts, registry = QueueCore(KueueRules(), settings=settings), WorkloadCounts(), CollectorRegistry()
    objects = in_cohorts()
    for obj in objects:
        core.heard(None, obj)
        if obj["kind"] == "Workload":
            counts.heard(None, obj)
    core.follow(0)
    kinds = {kind: [o for o in objects if o["kind"] == kind] for kind in ("ClusterQueue", "LocalQueue")}
    report, facts = QueueMetrics(registry), at_once(core.facts())
    report.update(at_once(tally(*kinds.values(), Known.of([objects[0]], [], {}), counts, facts)))
    cell, place = {"flavor": "f", "resource": "cpu"}, {"parent_cohort": "low", "root_cohort": "top"}
    for name, labels, expected in (
        ("cluster_queue_info", {**QUEUE, **place}, 1),
        ("cohort_info", {"cohort": "low", "parent_cohort": "top", "root_cohort": "top"}, 1),
        ("cohort_info", {"cohort": "top", "parent_cohort": "", "root_cohort": "top"}, 1),
        ("cohort_subtree_quota", {"cohort": "low", **cell}, 2),
        ("cohort_subtree_quota", {"cohort": "top", **cell}, 5),
        ("cohort_subtree_resource_reservations", {"cohort": "top", **cell}, 1.5),
        ("cohort_subtree_admitted_active_workloads", {"cohort": "top"}, 1),
        ("cluster_queue_resource_pending", {**QUEUE, "resource": "cpu"}, 6.5),
        ("finished_workloads", QUEUE, 1),
        ("local_queue_finished_workloads", LOCAL, 1),
        ("unadmitted_workloads", {**QUEUE, "reason": "NoReservation", "underlying_cause": "PendingEvaluation"}, 1),
        ("unadmitted_workloads", {**QUEUE, "reason": "NoReservation", "underlying_cause": "Waits"}, 1),
        ("local_queue_unadmitted_workloads",
         {**LOCAL, **QUEUE, "reason": "NoReservation", "underlying_cause": "Waits"}, 1),
        ("cluster_queue_borrowing_limit", {"cohort": "low", **QUEUE, **cell}, math.inf),
        ("cluster_queue_lending_limit", {"cohort": "low", **QUEUE, **cell}, math.inf),
        ("local_queue_admission_fair_sharing_usage", {**LOCAL, **QUEUE}, 0),
    ):  # fmt: skip
        assert value(registry, name, **labels) == expected, (name, labels)


def test_an_admission_counts_in_all_cohorts_above():
    """And a cohort that is gone has no series."""
    registry = CollectorRegistry()
    names = SimpleNamespace(cohorts=lambda _: ["low", "top"], shows=lambda *_: True)
    report = QueueMetrics(registry, names=names)
    report.workloads.admitted(held(), Admitted("team-a/w", "cq", ()), 1_767_225_660_000)
    for cohort in ("low", "top"):
        assert value(registry, "cohort_subtree_admitted_workloads_total", cohort=cohort, **RANKED) == 1
    for cohorts in ({"low": None, "top": None}, {"top": None}):
        facts = SimpleNamespace(shares=None, asked={}, usage={}, cohorts=dict.fromkeys(cohorts, PLACE))
        report.update(at_once(tally([], [], Known.of([], [], {}), WorkloadCounts(), facts)))
    assert value(registry, "cohort_subtree_admitted_workloads_total", cohort="low", **RANKED) is None
    assert value(registry, "cohort_subtree_admitted_workloads_total", cohort="top", **RANKED) == 1


PLACE = SimpleNamespace(parent="", root="top", quota={})


def test_readiness_is_waited_for_in_the_cluster():
    """With waitForPodsReady, a job whose pods become ready is counted once."""

    async def go():
        async with small_cluster(*queues("2"), settings=QueueSettings(wait_for_pods_ready=WaitForPodsReady())) as w:
            w.kubelet.seconds = None
            await w.create(job("a"))
            await w.until_runs("a")
            await w.kubelet.status("team-a", "a", active=1, ready=1)
            await w.until_condition("a", "PodsReady")
            return w.registry

    registry = asyncio.run(go())
    assert value(registry, "ready_wait_time_seconds_count", **QUEUE, priority_class="") == 1
    assert value(registry, "local_queue_admitted_until_ready_wait_time_seconds_count", **LOCAL, priority_class="") == 1
