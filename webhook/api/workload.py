"""Workload, kueue.x-k8s.io/v1beta2: what it asks for."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from webhook.api.fields import Api, Free, Int32, Label, Name, Rule, doc

MAX_POD_SETS = 18
"""Pod sets of one job; Kueue 0.20 allows as many."""
PodSetCount = Annotated[Int32, msgspec.Meta(ge=0)]


class PodSetTopologyRequest(Api, frozen=True, kw_only=True):
    """Where the pods of a set want to be near each other; kept for other schedulers, not used here."""

    required: Annotated[str | None, doc("The level that all pods must share.", max_length=63)] = None
    preferred: Annotated[str | None, doc("The level that the pods should share.", max_length=63)] = None
    unconstrained: Annotated[bool | None, doc("Any place with room will do.")] = None
    pod_index_label: Annotated[str | None, doc("The pod label that numbers the pods.", max_length=317)] = None
    sub_group_index_label: Annotated[str | None, doc("The label that numbers the groups.", max_length=317)] = None
    sub_group_count: Annotated[Int32 | None, doc("How many groups there are.")] = None
    pod_set_group_name: Annotated[str | None, doc("Pod sets of one name get one flavor.", max_length=256)] = None
    pod_set_slice_required_topology: Annotated[str | None, doc("The level of a slice.", max_length=63)] = None
    pod_set_slice_size: Annotated[Int32 | None, doc("Pods in a slice.")] = None


class PodSet(Api, frozen=True, kw_only=True):
    """Pods of one role."""

    RULES = (Rule("!has(self.minCount) || self.minCount <= self.count", "minCount must not be greater than count"),)

    name: Annotated[Label, doc("The role.")] = "main"
    template: Annotated[Free, doc("The pod template; what its containers request counts against quota.")]
    count: Annotated[PodSetCount, doc("How many pods.")] = 1
    min_count: Annotated[Int32 | None, doc("The least number it can run with; absent, it needs all.", ge=1)] = None
    topology_request: Annotated[PodSetTopologyRequest | None, doc("Where its pods want to be.")] = None


class PriorityClassRef(Api, frozen=True, kw_only=True):
    """The class that the priority came from."""

    RULES = (
        Rule(
            "(self.group == 'scheduling.k8s.io') == (self.kind == 'PriorityClass')",
            "group and kind belong together: kueue.x-k8s.io WorkloadPriorityClass, or scheduling.k8s.io PriorityClass",
        ),
    )

    group: Annotated[Literal["kueue.x-k8s.io", "scheduling.k8s.io"], doc("Its API group.")]
    kind: Annotated[Literal["WorkloadPriorityClass", "PriorityClass"], doc("Its kind.")]
    name: Annotated[Name, doc("Its name.", min_length=1)]


class WorkloadSpec(Api, frozen=True, kw_only=True):
    """What a job asks for, and where it waits."""

    RULES = (Rule("!has(self.priorityClassRef) || has(self.priority)", "priorityClassRef needs priority, its number"),)

    pod_sets: Annotated[
        list[PodSet],
        doc("Its pods; admitted all together or not at all.", keys=("name",), min_length=1, max_length=MAX_POD_SETS),
    ] = msgspec.field(default_factory=list)
    queue_name: Annotated[Name | None, doc("The LocalQueue it waits in.")] = None
    priority_class_ref: Annotated[PriorityClassRef | None, doc("Where the priority came from.")] = None
    priority: Annotated[Int32 | None, doc("A higher number goes first; absent, 0.")] = None
    active: Annotated[bool, doc("False takes it out of its queue, and evicts it where it runs.")] = True
    maximum_execution_time_seconds: Annotated[
        Int32 | None, doc("It is evicted and deactivated after so long in the admitted state.", ge=1)
    ] = None
