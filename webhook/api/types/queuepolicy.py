"""QueuePolicy, sluice.dev/v1alpha1: the fields of a file of queue rules; `queue_rules.points` has what each sees."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from webhook.api.types.fields import Api, doc

Keys = list[str]
Free = dict[str, Any]


Law = Literal[
    "QuotaKept",
    "WorkConserving",
    "MinimalPreemption",
    "NoBackAndForth",
    "OrderIndependent",
    "SameAfterRestart",
    "StarvationFree",
]
"""What rules may promise; `offline.laws.checks` says what each means, and tries it."""


class GivenUp(Api, frozen=True, kw_only=True):
    """A law that the rules do not keep."""

    law: Annotated[str, doc("The law. Another name than those of `keeps` is a note for readers.", min_length=1)]
    why: Annotated[str, doc("Why the rules do not keep it.")]


class Laws(Api, frozen=True, kw_only=True):
    """What can be relied on with these rules."""

    keeps: Annotated[list[Law], doc("Laws that the rules keep; `sluice test` tests each.")] = msgspec.field(
        default_factory=list
    )
    gives_up: Annotated[list[GivenUp], doc("Laws that the rules do not keep, and why.")] = msgspec.field(
        default_factory=list
    )


class AdmitRule(Api, frozen=True, kw_only=True):
    """A condition of admission."""

    expression: Annotated[str, doc("CEL, returns bool: true if the workload may be admitted.", min_length=1)]
    reason: Annotated[str | None, doc("Reason in CamelCase, for programs.")] = None
    message: Annotated[str | None, doc("Message if the expression is false.")] = None
    message_expression: Annotated[
        str | None, doc("CEL, returns string: the message; takes precedence over `message`.")
    ] = None


class EvictRule(Api, frozen=True, kw_only=True):
    """Why a workload that holds quota must give it back."""

    reason: Annotated[
        str,
        doc("Reason of the condition `Evicted`; `DeactivatedDueTo...` also deactivates the workload.", min_length=1),
    ]
    expression: Annotated[str, doc("CEL, returns bool: whether to evict the workload.", min_length=1)]
    not_before: Annotated[str | None, doc("CEL, returns int: the earliest time of the eviction. Default: at once.")] = (
        None
    )
    message: Annotated[str | None, doc("Message of the condition.")] = None
    message_expression: Annotated[
        str | None, doc("CEL, returns string: the message; takes precedence over `message`.")
    ] = None


class Reserve(Api, frozen=True, kw_only=True):
    """What a head that could not be placed holds."""

    when: Annotated[str | None, doc("CEL, returns bool: whether the head reserves quota.")] = None
    amount: Annotated[str | None, doc("CEL, returns int: how much of one resource of one flavor it reserves.")] = None
    yields: Annotated[
        str | None, doc("CEL, returns bool: whether a workload may use the reserved quota until the head starts.")
    ] = None
    hold: Annotated[
        Literal["Cycle", "UntilAdmitted"] | None,
        doc("Reserve for the rest of the cycle, or until the head is admitted."),
    ] = msgspec.field(name="for", default=None)


class Capacity(Api, frozen=True, kw_only=True):
    """How much a node of the tree may use, asked from the root down."""

    guaranteed: Annotated[str | None, doc("CEL, returns int: the amount that the node never lends.")] = None
    available: Annotated[str | None, doc("CEL, returns int: how much more the node may use now.")] = None
    most: Annotated[str | None, doc("CEL, returns int: how much the node could use if the tree were empty.")] = None
    borrows: Annotated[str | None, doc("CEL, returns bool: whether the node uses more than its own quota.")] = None


class FlavorRules(Api, frozen=True, kw_only=True):
    """Which flavor a pod set gets."""

    eligible: Annotated[str | None, doc("CEL, returns bool: whether the pod set may run on the flavor.")] = None
    preference: Annotated[Keys, doc("CEL, sort keys of flavors: the smallest is preferred.")] = msgspec.field(
        default_factory=list
    )
    stop: Annotated[str | None, doc("CEL, returns bool: whether the search stops at this flavor.")] = None
    may_preempt: Annotated[str | None, doc("CEL, returns bool: whether to look for victims.")] = None


class Comparison(Api, frozen=True, kw_only=True):
    """A comparison of shares that lets a victim be taken."""

    name: Annotated[str, doc("Its name, for `fairSharing.strategies`.")]
    expression: Annotated[str, doc("CEL, returns bool: whether the victim may be preempted.", min_length=1)]


class Preempt(Api, frozen=True, kw_only=True):
    """Who yields to whom."""

    reach: Annotated[str | None, doc("CEL, returns bool: whether to look for victims in other queues.")] = None
    candidate: Annotated[
        str | None,
        doc("CEL, returns Never, WithinQueue, Hierarchy, WithoutBorrowing or WhileBorrowing: the kind of a victim."),
    ] = None
    order: Annotated[Keys, doc("CEL, sort keys of victims: the smallest is preempted first.")] = msgspec.field(
        default_factory=list
    )
    attempts: Annotated[str | None, doc("CEL, returns a list of bool: the attempts, with or without borrowing.")] = None
    while_borrowing: Annotated[
        str | None, doc("CEL, returns bool: whether a victim may be preempted in order to borrow.")
    ] = None
    entitled: Annotated[str | None, doc("CEL, returns bool: whether to ignore shares.")] = None
    allowed: Annotated[list[Comparison], doc("Comparisons of shares, tried in this order.")] = msgspec.field(
        default_factory=list
    )


class ShareRules(Api, frozen=True, kw_only=True):
    """The number that fair sharing compares."""

    ratio: Annotated[str | None, doc("CEL, returns double: the unweighted share of one resource.")] = None
    value: Annotated[str | None, doc("CEL, returns double: the weighted share.")] = None


class FairSharingSettings(Api, frozen=True, kw_only=True):
    """The tournament of shares between queues."""

    enabled: Annotated[bool, doc("Whether shares order the queues and limit preemption.")] = True
    strategies: Annotated[list[str], doc("Names of `preempt.allowed`, at most two.", max_length=2)] = msgspec.field(
        default_factory=list
    )


class HistorySettings(Api, frozen=True, kw_only=True):
    """How past use fades."""

    half_life: Annotated[str | None, doc("Time after which past usage counts half, such as 168h.")] = None
    sampling_interval: Annotated[str | None, doc("How often usage is sampled, such as 5m.")] = None
    resource_weights: Annotated[dict[str, float], doc("Weight of a unit of a resource. Default: 1.")] = msgspec.field(
        default_factory=dict
    )
    always: Annotated[bool | None, doc("Whether usage is also counted, and shown, where no rule reads it.")] = None


class QueuePolicySpec(Api, frozen=True, kw_only=True):
    """Rules and settings; what is left out is that of the files it extends, and in the end Kueue's."""

    extends: Annotated[list[str], doc("Names of shipped rules, or files, that this file inherits from.")] = (
        msgspec.field(default_factory=list)
    )
    parameters: Annotated[Free, doc("Constants for the expressions, as `parameters.<name>`.")] = msgspec.field(
        default_factory=dict
    )
    laws: Annotated[Laws | None, doc("Laws that the rules keep or do not keep.")] = None
    order: Annotated[Keys, doc("CEL, sort keys of pending workloads within a queue.")] = msgspec.field(
        default_factory=list
    )
    across: Annotated[Keys, doc("CEL, sort keys of the heads of different queues.")] = msgspec.field(
        default_factory=list
    )
    tournament: Annotated[Keys, doc("CEL, sort keys of the heads of one level, under fair sharing.")] = msgspec.field(
        default_factory=list
    )
    strict: Annotated[str | None, doc("CEL, returns bool: whether a head that does not fit blocks the rest.")] = None
    admit: Annotated[list[AdmitRule], doc("Conditions of admission; those of all files must hold.")] = msgspec.field(
        default_factory=list
    )
    evict: Annotated[
        list[EvictRule],
        doc("Workloads to evict. An item replaces the item with the same reason in the files it extends."),
    ] = msgspec.field(default_factory=list)
    reserve: Annotated[Reserve | None, doc("What a head that does not fit reserves.")] = None
    park: Annotated[
        str | None, doc("CEL, returns bool: whether a head that does not fit is parked until something changes.")
    ] = None
    capacity: Annotated[Capacity | None, doc("How much a node of the tree may use.")] = None
    flavor: Annotated[FlavorRules | None, doc("Which flavor a pod set gets.")] = None
    preempt: Annotated[Preempt | None, doc("Which workloads are preempted.")] = None
    share: Annotated[ShareRules | None, doc("The number that fair sharing compares.")] = None
    requeue: Annotated[
        str | None, doc("CEL, returns int: the earliest time at which an evicted workload is retried.")
    ] = None
    fair_sharing: Annotated[FairSharingSettings | None, doc("Fair sharing between queues.")] = None
    partial_admission: Annotated[bool | None, doc("Whether pod sets with a minCount may start with fewer pods.")] = None
    recompute_victims: Annotated[
        bool | None, doc("Whether to look for victims again if another workload preempted them.")
    ] = None
    history: Annotated[HistorySettings | None, doc("How past usage decays.")] = None


class QueuePolicy(Api, frozen=True, kw_only=True):
    """Rules of the queue, in CEL."""

    spec: Annotated[QueuePolicySpec, doc("The rules.")]
