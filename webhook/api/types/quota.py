"""Quota in the spec of ClusterQueue and Cohort, and usage in their status (kueue.x-k8s.io)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from webhook.api.types.fields import Amount, Api, Int32, Int64, Name, Quantities, Quantity, Rule, Time, doc


class ResourceQuota(Api, frozen=True, kw_only=True):
    """How much of one resource a queue has in one flavor."""

    name: Annotated[str, doc("The resource, as pods ask for it.")]
    nominal_quota: Annotated[Amount, doc("The quota of the queue itself.")]
    borrowing_limit: Annotated[Amount | None, doc("How much it may borrow from its cohort. Default: no limit.")] = None
    lending_limit: Annotated[
        Amount | None, doc("How much of its unused quota the cohort may borrow. Default: all.")
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
            "each flavor must have a quota for each of coveredResources, and for no other resource",
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

    weight: Annotated[Amount | None, doc("Shares are divided by it; 0 yields to every other queue.")] = msgspec.field(
        default=1
    )


class FairSharingStatus(Api, frozen=True, kw_only=True):
    """How much of the cohort a queue uses beyond its own, by weight, and what it used lately."""

    weighted_share: Annotated[
        Int64,
        doc("Usage above the nominal quota, in thousandths of what the cohort can lend, divided by the weight.", ge=0),
    ]
    admission_fair_sharing_status: Annotated[
        ConsumedResources | None, doc("Decayed past usage; Kueue has it for LocalQueues only.")
    ] = None


class AdmissionScope(Api, frozen=True, kw_only=True):
    """Whether past use of LocalQueues orders the pending workloads of the queue."""

    admission_mode: Annotated[
        Literal["UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"], doc("Whether past usage orders admission.")
    ]


class ResourceUsage(Api, frozen=True, kw_only=True):
    """The use of one resource."""

    name: Annotated[str, doc("The resource.")]
    total: Annotated[Quantity | None, doc("Usage, including what is borrowed.")] = None
    borrowed: Annotated[Quantity | None, doc("The part that is borrowed from the cohort.")] = None


class FlavorUsage(Api, frozen=True, kw_only=True):
    """The use of one flavor."""

    name: Annotated[Name, doc("The ResourceFlavor.")]
    resources: Annotated[list[ResourceUsage], doc("Usage of each resource.", keys=("name",), max_length=64)]


class LocalResourceUsage(Api, frozen=True, kw_only=True):
    """The use of one resource through a LocalQueue."""

    name: Annotated[str, doc("The resource.")]
    total: Annotated[Quantity | None, doc("Usage.")] = None


class LocalFlavorUsage(Api, frozen=True, kw_only=True):
    """The use of one flavor through a LocalQueue."""

    name: Annotated[Name, doc("The ResourceFlavor.")]
    resources: Annotated[list[LocalResourceUsage], doc("Usage of each resource.", keys=("name",), max_length=64)]


class UserResources(Api, frozen=True, kw_only=True):
    """What of past use was one user's (the annotation sluice.dev/user of the jobs)."""

    name: Annotated[str, doc("The user.")]
    consumed_resources: Annotated[Quantities, doc("Decayed usage of each resource.")]


class ConsumedResources(Api, frozen=True, kw_only=True):
    """Past use with decay: the history that usage based fair sharing goes by."""

    consumed_resources: Annotated[Quantities, doc("Decayed usage of each resource.")]
    last_update: Annotated[Time, doc("When it was computed.")]
    users: Annotated[list[UserResources], doc("Its parts by owner; not a field of Kueue.", keys=("name",))] = (
        msgspec.field(default_factory=list)
    )


Count = Annotated[Int32, msgspec.Meta(ge=0)]
