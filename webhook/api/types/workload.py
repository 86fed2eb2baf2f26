"""Workload, kueue.x-k8s.io/v1beta2: its spec."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from webhook.api.types.fields import Api, Free, Int32, Label, Name, Rule, doc
from webhook.api.types.workload_status import MAX_POD_SETS, WorkloadStatus

PodSetCount = Annotated[Int32, msgspec.Meta(ge=0)]


class SliceTopologyConstraint(Api, frozen=True, kw_only=True):
    """One layer of slices within slices."""

    topology: Annotated[str, doc("The level of a slice.", min_length=1, max_length=63)]
    size: Annotated[Int32, doc("Pods in a slice.", ge=1)]


class PodSetTopologyRequest(Api, frozen=True, kw_only=True):
    """Where the pods of a set want to be near each other; kept for other schedulers, not used here."""

    required: Annotated[str | None, doc("The level that all pods must share.", max_length=63)] = None
    preferred: Annotated[str | None, doc("The level that the pods should share.", max_length=63)] = None
    unconstrained: Annotated[bool | None, doc("Any placement with free capacity.")] = None
    pod_index_label: Annotated[str | None, doc("The pod label that numbers the pods.", max_length=317)] = None
    sub_group_index_label: Annotated[str | None, doc("The label that numbers the groups.", max_length=317)] = None
    sub_group_count: Annotated[Int32 | None, doc("How many groups there are.", ge=0)] = None
    pod_set_group_name: Annotated[str | None, doc("Pod sets of one name get one flavor.", max_length=256)] = None
    pod_set_slice_required_topology: Annotated[str | None, doc("The level of a slice.", max_length=63)] = None
    pod_set_slice_size: Annotated[Int32 | None, doc("Pods in a slice.", ge=1)] = None
    podset_slice_required_topology_constraints: Annotated[
        list[SliceTopologyConstraint], doc("Slices within slices, the widest first.", kind="atomic", max_length=3)
    ] = msgspec.field(default_factory=list)


class PodSet(Api, frozen=True, kw_only=True):
    """Pods of one role."""

    RULES = (Rule("!has(self.minCount) || self.minCount <= self.count", "minCount must not exceed count"),)

    name: Annotated[Label, doc("The role.")] = "main"
    template: Annotated[Free, doc("The pod template; the requests of its containers count against quota.")]
    count: Annotated[PodSetCount, doc("How many pods.")] = 1
    min_count: Annotated[Int32 | None, doc("Minimum number of pods it can run with. Default: count.", ge=1)] = None
    topology_request: Annotated[PodSetTopologyRequest | None, doc("Topology of its pods.")] = None


class PriorityClassRef(Api, frozen=True, kw_only=True):
    """The class of the priority."""

    RULES = (
        Rule(
            "(self.group == 'scheduling.k8s.io') == (self.kind == 'PriorityClass')",
            "group and kind must be kueue.x-k8s.io WorkloadPriorityClass, or scheduling.k8s.io PriorityClass",
        ),
    )

    group: Annotated[Literal["kueue.x-k8s.io", "scheduling.k8s.io"], doc("Its API group.")]
    kind: Annotated[Literal["WorkloadPriorityClass", "PriorityClass"], doc("Its kind.")]
    name: Annotated[Name, doc("Its name.", min_length=1)]


class PreemptionGate(Api, frozen=True, kw_only=True):
    """What must be open before a workload may preempt."""

    name: Annotated[str, doc("Its name.", min_length=1, max_length=63)]


class WorkloadSpec(Api, frozen=True, kw_only=True):
    """What a job asks for, and where it waits."""

    RULES = (Rule("!has(self.priorityClassRef) || has(self.priority)", "priorityClassRef requires priority"),)

    pod_sets: Annotated[
        list[PodSet],
        doc("Its pod sets, admitted together.", keys=("name",), min_length=1, max_length=MAX_POD_SETS),
    ] = msgspec.field(default_factory=list)
    queue_name: Annotated[Name | None, doc("The LocalQueue of the workload.")] = None
    priority_class_ref: Annotated[PriorityClassRef | None, doc("The source of the priority.")] = None
    priority: Annotated[Int32 | None, doc("Priority; higher values go first. Default: 0.")] = None
    active: Annotated[bool, doc("false removes it from its queue, and evicts it if it is admitted.")] = True
    maximum_execution_time_seconds: Annotated[
        Int32 | None, doc("Time in the admitted state after which it is evicted and deactivated.", ge=1)
    ] = None
    preemption_gates: Annotated[
        list[PreemptionGate], doc("Gates of preemption: not supported, it waits.", keys=("name",), max_length=8)
    ] = msgspec.field(default_factory=list)


def holds(of: str, condition: str) -> str:
    """Return the CEL that says whether a Workload (`self` or `oldSelf`) has a condition that is True.

    By has(), since the API server cannot bound what a rule costs on an optional value.
    """
    held = f"{of}.status.conditions.exists(c, c.type == '{condition}' && c.status == 'True')"
    return f"(has({of}.status) && has({of}.status.conditions) && {held})"


def kept(field: str) -> str:
    """Return the CEL that says whether an optional field of the spec is as it was."""
    return (
        f"(has(self.spec.{field}) == has(oldSelf.spec.{field})"
        f" && (!has(self.spec.{field}) || self.spec.{field} == oldSelf.spec.{field}))"
    )


ASSIGNED: Final = Rule(
    "!has(self.status) || !has(self.status.admission) || !has(self.status.admission.podSetAssignments)"
    " || !has(self.spec.podSets)"
    " || size(self.status.admission.podSetAssignments) == size(self.spec.podSets)",
    "an admission requires one podSetAssignment for each pod set",
)
FROZEN: Final = (
    Rule(
        f"!{holds('oldSelf', 'QuotaReserved')} || !{holds('self', 'QuotaReserved')} || {kept('queueName')}",
        "queueName cannot be changed while quota is reserved",
    ),
    Rule(
        f"!{holds('oldSelf', 'Admitted')} || !{holds('self', 'Admitted')} || {kept('maximumExecutionTimeSeconds')}",
        "maximumExecutionTimeSeconds cannot be changed while the workload is admitted",
    ),
)
"""What every version keeps of a Workload that holds quota. A RULE with `oldSelf` is checked on updates only."""


class Workload(Api, frozen=True, kw_only=True):
    """A job in the eyes of the queue: pods that are admitted together."""

    RULES = (
        ASSIGNED,
        *FROZEN,
        Rule(
            f"!{holds('oldSelf', 'QuotaReserved')}"
            " || has(oldSelf.spec.priorityClassRef) == has(self.spec.priorityClassRef)",
            "priorityClassRef can be neither set nor removed while quota is reserved",
        ),
        Rule(
            f"!{holds('oldSelf', 'QuotaReserved')}"
            " || !has(oldSelf.spec.priorityClassRef) || !has(self.spec.priorityClassRef)"
            " || (oldSelf.spec.priorityClassRef.kind == self.spec.priorityClassRef.kind"
            " && (self.spec.priorityClassRef.kind == 'WorkloadPriorityClass'"
            " || oldSelf.spec.priorityClassRef.name == self.spec.priorityClassRef.name))",
            "only the name of a WorkloadPriorityClass can be changed while quota is reserved",
        ),
    )

    spec: Annotated[WorkloadSpec, doc("Desired state.")] = msgspec.field(default_factory=WorkloadSpec)
    status: Annotated[WorkloadStatus | None, doc("What is.")] = None
