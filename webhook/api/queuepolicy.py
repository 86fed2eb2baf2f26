"""QueuePolicy, sluice.dev/v1alpha1: the fields of a file of queue rules; `queue_rules.points` has what each sees."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from webhook.api.fields import Api, doc

Keys = list[str]
Free = dict[str, Any]


Law = Literal[
    "QuotaKept",
    "WorkConserving",
    "MinimalPreemption",
    "NoBackAndForth",
    "OrderIndependent",
    "LivingIsFresh",
    "StarvationFree",
]
"""What rules may promise; `offline.laws.checks` says what each means, and tries it."""


class GivenUp(Api, frozen=True, kw_only=True):
    """A law that the rules do not keep."""

    law: Annotated[str, doc("The law; one that is none of those above is a note for readers.", min_length=1)]
    why: Annotated[str, doc("Why it is given up.")]


class Laws(Api, frozen=True, kw_only=True):
    """What can be relied on with these rules."""

    keeps: Annotated[list[Law], doc("Laws that hold; `sluice test` tries each.")] = msgspec.field(default_factory=list)
    gives_up: Annotated[list[GivenUp], doc("Laws that do not, and why.")] = msgspec.field(default_factory=list)


class Condition(Api, frozen=True, kw_only=True):
    """A condition of admission."""

    expression: Annotated[str, doc("CEL, gives bool: true lets the workload in.", min_length=1)]
    reason: Annotated[str | None, doc("One word for programs.")] = None
    message: Annotated[str | None, doc("What is told where it does not hold.")] = None
    message_expression: Annotated[str | None, doc("CEL, gives the message; goes before `message`.")] = None


class Eviction(Api, frozen=True, kw_only=True):
    """Why a workload that holds quota must give it back."""

    reason: Annotated[
        str,
        doc("Reason of the condition `Evicted`; `DeactivatedDueTo...` sets the workload inactive too.", min_length=1),
    ]
    expression: Annotated[str, doc("CEL, gives bool: whether it must go.", min_length=1)]
    not_before: Annotated[str | None, doc("CEL, gives int: not before this time; 0 or left out: at once.")] = None
    message: Annotated[str | None, doc("What is told about it.")] = None
    message_expression: Annotated[str | None, doc("CEL, gives the message; goes before `message`.")] = None


class Reserve(Api, frozen=True, kw_only=True):
    """What a head that could not be placed holds."""

    when: Annotated[str | None, doc("CEL, gives bool: whether it holds anything.")] = None
    amount: Annotated[str | None, doc("CEL, gives int: how much of one resource of one flavor it holds.")] = None
    yields: Annotated[
        str | None, doc("CEL, gives bool: whether a workload may use what is held, until the head starts.")
    ] = None
    hold: Annotated[
        Literal["Cycle", "UntilAdmitted"] | None, doc("For the rest of the cycle, or until it is admitted.")
    ] = msgspec.field(name="for", default=None)


class Capacity(Api, frozen=True, kw_only=True):
    """How much a node of the tree may use, asked from the root down."""

    guaranteed: Annotated[str | None, doc("CEL, gives int: what the node never lends.")] = None
    available: Annotated[str | None, doc("CEL, gives int: how much more it may use now.")] = None
    most: Annotated[str | None, doc("CEL, gives int: how much it could use of an empty tree.")] = None
    borrows: Annotated[str | None, doc("CEL, gives bool: whether it uses more than its own.")] = None


class Flavor(Api, frozen=True, kw_only=True):
    """Which flavor a pod set gets."""

    eligible: Annotated[str | None, doc("CEL, gives bool: whether it may run there at all.")] = None
    preference: Annotated[Keys, doc("CEL, sort keys of flavors: the smaller the better.")] = msgspec.field(
        default_factory=list
    )
    stop: Annotated[str | None, doc("CEL, gives bool: whether the search ends with this flavor.")] = None
    may_preempt: Annotated[str | None, doc("CEL, gives bool: whether victims are looked for.")] = None


class Comparison(Api, frozen=True, kw_only=True):
    """A comparison of shares that lets a victim be taken."""

    name: Annotated[str, doc("Its name, as `fairSharing.strategies` gives it.")]
    expression: Annotated[str, doc("CEL, gives bool.", min_length=1)]


class Preempt(Api, frozen=True, kw_only=True):
    """Who yields to whom."""

    reach: Annotated[str | None, doc("CEL, gives bool: whether other queues are searched for victims.")] = None
    candidate: Annotated[
        str | None,
        doc("CEL, gives Never, WithinQueue, Hierarchy, WithoutBorrowing or WhileBorrowing: what a victim is at `now`."),
    ] = None
    order: Annotated[Keys, doc("CEL, sort keys of victims: the smallest goes first.")] = msgspec.field(
        default_factory=list
    )
    attempts: Annotated[str | None, doc("CEL, gives a list of bool: attempts with or without borrowing.")] = None
    while_borrowing: Annotated[str | None, doc("CEL, gives bool: whether a victim may be taken to borrow.")] = None
    entitled: Annotated[str | None, doc("CEL, gives bool: whether shares do not matter.")] = None
    allowed: Annotated[list[Comparison], doc("Comparisons of shares, tried in this order.")] = msgspec.field(
        default_factory=list
    )


class Share(Api, frozen=True, kw_only=True):
    """The number that fair sharing compares."""

    ratio: Annotated[str | None, doc("CEL, gives double: the unweighted share of one resource.")] = None
    value: Annotated[str | None, doc("CEL, gives double: the share by weight.")] = None


class FairSharing(Api, frozen=True, kw_only=True):
    """The tournament of shares between queues."""

    enabled: Annotated[bool, doc("Whether shares order the queues and bound preemption.")] = True
    strategies: Annotated[list[str], doc("Names of `preempt.allowed`, at most two.", max_length=2)] = msgspec.field(
        default_factory=list
    )


class History(Api, frozen=True, kw_only=True):
    """How past use fades."""

    half_life: Annotated[str | None, doc("After this time half of it counts, such as 168h.")] = None
    sampling_interval: Annotated[str | None, doc("How often it is written down, such as 5m.")] = None
    resource_weights: Annotated[dict[str, float], doc("How much a unit of a resource counts; else 1.")] = msgspec.field(
        default_factory=dict
    )


class QueuePolicySpec(Api, frozen=True, kw_only=True):
    """Rules and settings; what is left out is that of the files it extends, and in the end Kueue's."""

    extends: Annotated[list[str], doc("Shipped names or files whose rules hold where these say nothing.")] = (
        msgspec.field(default_factory=list)
    )
    parameters: Annotated[Free, doc("Constants for the expressions, as `parameters.<name>`.")] = msgspec.field(
        default_factory=dict
    )
    laws: Annotated[Laws | None, doc("What can be relied on.")] = None
    order: Annotated[Keys, doc("CEL, sort keys of pending work within a queue.")] = msgspec.field(default_factory=list)
    across: Annotated[Keys, doc("CEL, sort keys between the heads of queues.")] = msgspec.field(default_factory=list)
    tournament: Annotated[Keys, doc("CEL, sort keys between heads at one level, with fair sharing.")] = msgspec.field(
        default_factory=list
    )
    strict: Annotated[str | None, doc("CEL, gives bool: whether a head that does not fit blocks the rest.")] = None
    admit: Annotated[list[Condition], doc("Conditions; all must hold, those of all files.")] = msgspec.field(
        default_factory=list
    )
    evict: Annotated[
        list[Eviction], doc("What must give its quota back; one of the same reason replaces that of the files below.")
    ] = msgspec.field(default_factory=list)
    reserve: Annotated[Reserve | None, doc("What a head that could not be placed holds.")] = None
    park: Annotated[str | None, doc("CEL, gives bool: whether such a head waits for a change.")] = None
    capacity: Annotated[Capacity | None, doc("How much a node of the tree may use.")] = None
    flavor: Annotated[Flavor | None, doc("Which flavor a pod set gets.")] = None
    preempt: Annotated[Preempt | None, doc("Who yields to whom.")] = None
    share: Annotated[Share | None, doc("The number that fair sharing compares.")] = None
    requeue: Annotated[str | None, doc("CEL, gives int: not before this time is an evicted one looked at.")] = None
    fair_sharing: Annotated[FairSharing | None, doc("The tournament of shares.")] = None
    partial_admission: Annotated[bool | None, doc("Whether pod sets with a minimum may start smaller.")] = None
    recompute_victims: Annotated[bool | None, doc("Whether victims are looked for again where another took them.")] = (
        None
    )
    history: Annotated[History | None, doc("How past use fades.")] = None


class QueuePolicy(Api, frozen=True, kw_only=True):
    """Rules of the queue, in CEL."""

    spec: Annotated[QueuePolicySpec, doc("The rules.")]
