"""LocalQueue, kueue.x-k8s.io/v1beta2."""

from __future__ import annotations

from typing import Annotated

import msgspec

from webhook.api.types.fields import IMMUTABLE, STOP_POLICY, Api, Condition, Int64, Name, doc
from webhook.api.types.quota import ConsumedResources, Count, FairSharing, LocalFlavorUsage


class LocalQueueSpec(Api, frozen=True, kw_only=True):
    """Access of one namespace to a ClusterQueue."""

    cluster_queue: Annotated[Name | None, doc("The ClusterQueue of this LocalQueue.", rules=(IMMUTABLE,))] = None
    stop_policy: Annotated[
        STOP_POLICY, doc("Hold stops new admissions; HoldAndDrain also evicts admitted workloads.")
    ] = "None"
    fair_sharing: Annotated[FairSharing | None, doc("Its weight if past usage orders the queue.")] = None


class LocalQueueFairSharingStatus(Api, frozen=True, kw_only=True):
    """Its share, and the history behind it."""

    weighted_share: Annotated[Int64, doc("Weighted past usage.", ge=0)]
    admission_fair_sharing_status: Annotated[ConsumedResources | None, doc("Decayed past usage.")] = None


class LocalQueueStatus(Api, frozen=True, kw_only=True):
    """What came through the queue and what waits."""

    conditions: Annotated[
        list[Condition], doc("`Active`: whether it accepts workloads.", keys=("type",), max_length=16)
    ] = msgspec.field(default_factory=list)
    pending_workloads: Annotated[Count, doc("Number of pending workloads.")] = 0
    reserving_workloads: Annotated[Count, doc("Number of workloads with reserved quota.")] = 0
    admitted_workloads: Annotated[Count, doc("Number of admitted workloads that are not finished.")] = 0
    flavors_reservation: Annotated[
        list[LocalFlavorUsage], doc("Quota reserved, by flavor.", keys=("name",), max_length=64)
    ] = msgspec.field(default_factory=list)
    flavors_usage: Annotated[
        list[LocalFlavorUsage], doc("Quota of admitted workloads, by flavor.", keys=("name",), max_length=64)
    ] = msgspec.field(default_factory=list)
    fair_sharing: Annotated[LocalQueueFairSharingStatus | None, doc("Its share.")] = None


class LocalQueue(Api, frozen=True, kw_only=True):
    """The queue that a job names: it gives the jobs of its namespace access to a ClusterQueue."""

    spec: Annotated[LocalQueueSpec, doc("Desired state.")] = msgspec.field(default_factory=LocalQueueSpec)
    status: Annotated[LocalQueueStatus | None, doc("What is.")] = None
