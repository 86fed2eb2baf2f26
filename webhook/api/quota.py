"""Quota as ClusterQueue and Cohort state it, and its use as their status shows it (kueue.x-k8s.io)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from webhook.api.fields import Amount, Api, Int32, Int64, Name, Quantities, Quantity, Rule, Time, doc


class ResourceQuota(Api, frozen=True, kw_only=True):
    """How much of one resource a queue has in one flavor."""

    name: Annotated[str, doc("The resource, as pods ask for it.")]
    nominal_quota: Annotated[Amount, doc("What the queue owns.")]
    borrowing_limit: Annotated[
        Amount | None, doc("How much more it may use of what its cohort has free; absent, as much as there is.")
    ] = None
    lending_limit: Annotated[
        Amount | None, doc("How much of its own the cohort may use while it is free; absent, all of it.")
    ] = None


class FlavorQuotas(Api, frozen=True, kw_only=True):
    """The quota of one flavor: one entry for each covered resource."""

    name: Annotated[Name, doc("The ResourceFlavor.")]
    resources: Annotated[
        list[ResourceQuota],
        doc("A quota for each covered resource, in the same order.", keys=("name",), min_length=1, max_length=64),
    ]


class ResourceGroup(Api, frozen=True, kw_only=True):
    """Resources that a workload takes from one flavor together, and the flavors in order of preference."""

    RULES = (
        Rule(
            "self.flavors.all(f, size(f.resources) == size(self.coveredResources))",
            "each flavor needs a quota for each of coveredResources, and no other",
        ),
    )

    covered_resources: Annotated[
        list[str], doc("The resources of the group.", kind="atomic", min_length=1, max_length=64)
    ]
    flavors: Annotated[
        list[FlavorQuotas], doc("The flavors, tried in this order.", keys=("name",), min_length=1, max_length=64)
    ]


class FairSharing(Api, frozen=True, kw_only=True):
    """The weight of a queue among its siblings."""

    weight: Annotated[Amount | None, doc("A share of twice the weight counts half; 0 yields to everybody else.")] = (
        msgspec.field(default=1)
    )


class FairSharingStatus(Api, frozen=True, kw_only=True):
    """How much of the cohort a queue uses beyond its own, by weight, and what it used lately."""

    weighted_share: Annotated[
        Int64 | None,
        doc("Use above nominal quota in thousandths of what the cohort lends, divided by the weight.", ge=0),
    ] = None
    admission_fair_sharing_status: Annotated[
        ConsumedResources | None, doc("Past use with decay; Kueue keeps it of LocalQueues alone.")
    ] = None


class AdmissionScope(Api, frozen=True, kw_only=True):
    """Whether past use of LocalQueues orders the pending workloads of the queue."""

    admission_mode: Annotated[
        Literal["UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"], doc("By past use, or not.")
    ]


class ResourceUsage(Api, frozen=True, kw_only=True):
    """The use of one resource."""

    name: Annotated[str, doc("The resource.")]
    total: Annotated[Quantity | None, doc("What is used, the borrowed part included.")] = None
    borrowed: Annotated[Quantity | None, doc("What of it is borrowed from the cohort.")] = None


class FlavorUsage(Api, frozen=True, kw_only=True):
    """The use of one flavor."""

    name: Annotated[Name, doc("The ResourceFlavor.")]
    resources: Annotated[list[ResourceUsage], doc("The use of each resource.", keys=("name",), max_length=64)]


class LocalResourceUsage(Api, frozen=True, kw_only=True):
    """The use of one resource through a LocalQueue."""

    name: Annotated[str, doc("The resource.")]
    total: Annotated[Quantity | None, doc("What is used.")] = None


class LocalFlavorUsage(Api, frozen=True, kw_only=True):
    """The use of one flavor through a LocalQueue."""

    name: Annotated[Name, doc("The ResourceFlavor.")]
    resources: Annotated[list[LocalResourceUsage], doc("The use of each resource.", keys=("name",), max_length=16)]


class UserResources(Api, frozen=True, kw_only=True):
    """What of past use was one user's (the annotation sluice.dev/user of the jobs)."""

    name: Annotated[str, doc("The user.")]
    consumed_resources: Annotated[Quantities, doc("Decayed use of each resource.")]


class ConsumedResources(Api, frozen=True, kw_only=True):
    """Past use with decay: the history that usage based fair sharing goes by."""

    consumed_resources: Annotated[Quantities, doc("Decayed use of each resource.")]
    last_update: Annotated[Time, doc("When it was computed; decay goes on from there.")]
    users: Annotated[list[UserResources], doc("How much of it was whose; Kueue has no such field.", keys=("name",))] = (
        msgspec.field(default_factory=list)
    )


Count = Annotated[Int32, msgspec.Meta(ge=0)]
