"""Cohort, kueue.x-k8s.io/v1beta2."""

from __future__ import annotations

from typing import Annotated

import msgspec

from webhook.api.types.fields import Api, Name, doc
from webhook.api.types.quota import FairSharing, FairSharingStatus, ResourceGroup


class CohortSpec(Api, frozen=True, kw_only=True):
    """A node of the tree of queues."""

    parent_name: Annotated[Name | None, doc("The parent Cohort. Absent: a root.")] = None
    resource_groups: Annotated[
        list[ResourceGroup], doc("Quota of the cohort itself, for all its members.", kind="atomic", max_length=16)
    ] = msgspec.field(default_factory=list)
    fair_sharing: Annotated[FairSharing | None, doc("Its weight among its siblings.")] = None


class CohortStatus(Api, frozen=True, kw_only=True):
    """What the cohort's queues use of its parent."""

    fair_sharing: Annotated[FairSharingStatus | None, doc("Its share of its parent.")] = None


class Cohort(Api, frozen=True, kw_only=True):
    """Queues, and cohorts of queues, that lend to each other."""

    spec: Annotated[CohortSpec, doc("Desired state.")] = msgspec.field(default_factory=CohortSpec)
    status: Annotated[CohortStatus | None, doc("What is.")] = None
