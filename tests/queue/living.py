"""A cluster that lives: events of every kind over a state, for the law that a living state equals a rebuilt one.

The rules are the shipped files, alone and combined, and some that look at what the shipped ones do not.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

from hypothesis import strategies as st

from tests.queue.load_rules import load_rules
from tests.queue.random_clusters import QUEUES, definitions, groups, jobs, preemptions
from webhook.queue.decisions import Decisions
from webhook.queue.model import (
    AdmissionCheck,
    AdmissionChecksStrategy,
    AdmissionCheckUse,
    ClusterQueue,
    Flavor,
    Fungibility,
    History,
    LocalQueue,
    Namespace,
    Requirement,
    Selector,
    Snapshot,
    StopPolicy,
    Taint,
    Workload,
)
from webhook.queue.quota.usage_by_owner import USAGE_BASED
from webhook.queue.rules import Rules
from webhook.queue.state import State

HEAD: Final = (
    "apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {{name: {name}}}\nspec:\n  extends: [{base}]\n"
)
BASES: Final = ("kueue", "kueue-fair", "fifo", "volcano-proportion")
ADD_ONS: Final = {
    "user-caps": "  parameters: {most: {gpu: 5}, workloads: 3}\n",
    "gpu-budget": "  parameters: {gpu: gpu, most: 2.0}\n  history: {halfLife: 10m, samplingInterval: 1m}\n",
    "time-window": "  parameters: {gpu: gpu, daytimeGPUs: 2}\n",
    "backfill": "  parameters: {resource: gpu, big: 4}\n",
    "backfill-time": "  parameters: {resource: gpu, big: 4}\n",
    "by-weight": "  parameters: {resource: gpu}\n  history: {halfLife: 10m, samplingInterval: 1m}\n",
}
OWN: Final = {
    "aging": "  order:\n    - now - timestamp(workload.queuedAt / 1000) > duration('20m')\n    - workload.queuedAt\n",
    "light-first": "  order: [usage > 3.0, workload.priority]\n  history: {halfLife: 5m, samplingInterval: 1m}\n",
    "any-victim": "  preempt:\n    order: [victim.priority]\n",
    "labelled": "  admit: [{expression: \"workload.labels[?'hold'].orValue('') == ''\", reason: Held}]\n",
    "no-quotas": "  admit: [{expression: facts.namespace.quotas.size() == 0, reason: Full}]\n",
    "own-only": "  preempt:\n    candidate: \"victim.workload.user == workload.user ? 'WithinQueue' : 'Never'\"\n",
    "overdue": "  evict:\n    - reason: Overdue\n      expression: workload.admission != null\n"
    "      notBefore: workload.admission.reservedAt + 600000\n",
    "in-the-end": "  evict: [{reason: End, expression: int(now) % 5000 > 4000}]\n",
    "hourly": "  evict: [{reason: Hourly, expression: now.getHours() % 4 == 3}]\n",
    "late": "  admit: [{expression: \"now - timestamp(workload.queuedAt / 1000) > duration('7m')\", reason: Early}]\n",
}
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
SPACES: Final = ("team", "lab")
USERS: Final = ("", "ann", "bob")
SEARCHES: Final = st.sampled_from(("MayStopSearch", "TryNextFlavor"))
CHECKS: Final = ("", "Pending", "Ready", "Retry")


@cache
def rules_of(base: str, extras: tuple[str, ...]) -> Rules:
    """Compile one base with add-ons and rules of our own over it."""
    texts = [HEAD.format(name="base", base=base)]
    for name in extras:
        texts.append(HEAD.format(name=f"my-{name}", base=name if name in ADD_ONS else base))
        texts[-1] += ADD_ONS.get(name) or OWN[name]
    return load_rules("---\n".join(texts))


def rule_names() -> st.SearchStrategy[tuple[str, tuple[str, ...]]]:
    """A base and up to three of the others."""
    extras = st.lists(st.sampled_from((*ADD_ONS, *OWN)), max_size=3, unique=True).map(tuple)
    return st.tuples(st.sampled_from(BASES), extras)


def local_queues() -> tuple[LocalQueue, ...]:
    """A LocalQueue for each ClusterQueue in each namespace."""
    return tuple(LocalQueue(space, q, q) for space in SPACES for q in QUEUES)


def clusters() -> st.SearchStrategy[Snapshot]:
    """Queues, cohorts and flavors, two namespaces and a check, without workloads."""
    strategies = st.sampled_from(("BestEffortFIFO", "StrictFIFO"))
    spaces = tuple(Namespace(name) for name in SPACES)
    return strategies.flatmap(definitions).map(
        lambda s: replace(s, namespaces=spaces, local_queues=local_queues(), checks=(AdmissionCheck("budget"),))
    )


@st.composite
def arrivals(draw: st.DrawFn, now: int, queues: tuple[str, ...] = QUEUES) -> Workload:
    """A new workload, or a known one as it is told anew."""
    made = draw(jobs(draw(st.integers(0, 24))))
    state = draw(st.sampled_from(CHECKS))
    return replace(
        made,
        namespace=draw(st.sampled_from(SPACES)),
        queue_name=draw(st.sampled_from((*queues, "nowhere"))),
        created=now - made.created * SECOND,
        queued_at=now - made.created * SECOND,
        uid=f"uid-{draw(st.integers(0, 999))}",
        user=draw(st.sampled_from(USERS)),
        labels=draw(st.sampled_from(({}, {"hold": "1"}, {"sluice.dev/window": "night"}))),
        checks={"budget": state} if state else {},
        active=draw(st.integers(0, 9)) > 0,
        problem=draw(st.sampled_from(("", "", "", "", "too large"))),
        requeue_at=draw(st.sampled_from((0, 0, 0, now + MINUTE))),
    )


USES = (), (AdmissionCheckUse("budget"),), (AdmissionCheckUse("none"),), (AdmissionCheckUse("budget", ("two",)),)


@st.composite
def edited_queue(draw: st.DrawFn, queue: ClusterQueue) -> ClusterQueue:
    """A ClusterQueue with one field changed."""
    selector = Selector((Requirement("tier", "In", ("1",)),))
    edits: dict[str, st.SearchStrategy[object]] = {
        "resource_groups": groups(),
        "cohort_name": st.sampled_from(("", "left", "right", "low")),
        "preemption": preemptions(),
        "queueing_strategy": st.sampled_from(("BestEffortFIFO", "StrictFIFO")),
        "stop_policy": st.sampled_from(StopPolicy),
        "weight": st.sampled_from((0, 500, 2000)),
        "namespace_selector": st.sampled_from((None, Selector(), selector)),
        "admission_checks_strategy": st.builds(AdmissionChecksStrategy, st.sampled_from(USES)),
        "fungibility": st.builds(Fungibility, SEARCHES, SEARCHES, st.sampled_from(("", "PreemptionOverBorrowing"))),
        "admission_mode": st.sampled_from(("", USAGE_BASED)),
        "labels": st.sampled_from(({}, {"a": "b"})),
    }
    name = draw(st.sampled_from(sorted(edits)))
    return replace(queue, **{name: draw(edits[name])})  # type: ignore[arg-type]


@st.composite
def edited_local(draw: st.DrawFn, queue: LocalQueue, now: int) -> LocalQueue:
    """A LocalQueue with one field changed; its history, where somebody writes another into its status."""
    edits: dict[str, tuple[object, ...]] = {
        "cluster_queue": (*QUEUES, "gone"),
        "stop_policy": tuple(StopPolicy),
        "weight": (0, 9),
        "history": (History(), History(now // MINUTE * MINUTE, {"gpu": 3.0}, {"ann": {"gpu": 3.0}})),
    }
    name, values = draw(st.sampled_from(sorted(edits.items(), key=str)))
    return replace(queue, **{name: draw(st.sampled_from(values))})  # type: ignore[arg-type]


def flavors() -> st.SearchStrategy[Flavor]:
    """A flavor with or without a taint."""
    taints = st.sampled_from(((), (Taint("spot", "", "NoSchedule"),)))
    return st.builds(Flavor, st.sampled_from(("one", "two")), node_taints=taints)


def outcome(decisions: Decisions) -> dict[str, object]:
    """What was decided, in no order."""
    return {
        "admitted": sorted((a.workload, a.cluster_queue, str(a.pod_sets), a.admitted) for a in decisions.admitted),
        "preempted": sorted((p.workload, p.reason, p.preemptor) for p in decisions.preempted),
        "evicted": sorted((e.workload, e.reason) for e in decisions.evicted),
        "ready": sorted(r.workload for r in decisions.ready),
        "next": decisions.next_at,
    }


def usages(state: State) -> dict[str, list[int]]:
    """Usage by the roots of the trees."""
    return {f"{tree.root.is_queue} {tree.root.name}": tree.usage.copy() for tree in state.trees}
