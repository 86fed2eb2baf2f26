"""What the plain values mean that rules of the queue see and give: rows of the reference page.

Objects and their fields are read from the core's own types; what is here a type cannot say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.queue.rules import Mode, Outcome, Variant

ARGUMENTS: Final[Mapping[str, str]] = {
    "now": "The time, a timestamp.",
    "at": "The time, in milliseconds; in `requeue` that of the eviction.",
    "begins": "When the head that holds it can start by the run times of what runs, in milliseconds; 0: unknown.",
    "usage": "In `order` and `preempt.order`: the decayed usage of the LocalQueue, by weight (0.0 without `history`). "
    "Elsewhere: how much of the flavor and resource the node uses.",
    "asked": "How much of the flavor and resource is asked for.",
    "borrow": "The height of the subtree that the request needs; 0 is the queue itself.",
    "parent": "The same number of the node's parent; 0 at the root.",
    "belowRoot": "Whether a subtree below the root could hold the request.",
    "advantage": "Whether the request fits in the quota of a subtree that the victim is not in: then quota is taken "
    "back that is the preemptor's by its place in the tree.",
    "outcome": "What became of the head: see below.",
    "variant": "What kind of victim it is: see below.",
    "borrowed": "How much of one resource a node borrows, over all flavors.",
    "lendable": "How much of that resource the tree lends.",
    "ratio": "The greatest unweighted share of any resource.",
    "weight": "The weight, in billionths: 1000000000 is a weight of 1.",
    "borrowing": "Whether the node uses more than its quota at all.",
}
"""Arguments that are no objects."""

OUTCOMES: Final[Mapping[Outcome, str]] = {
    Outcome.NO_FIT: "It does not fit, and preemption would not help.",
    Outcome.NO_CANDIDATES: "It fits in what the queue may use at most, but nobody may be preempted for it.",
    Outcome.FLAVORS_LEFT: "It did not fit, and the search goes on with the next flavor in the next cycle.",
    Outcome.PREEMPTING: "Victims were named; it waits for what they give back.",
    Outcome.NO_LONGER_FITS: "It fitted, until another head of the cycle was admitted.",
    Outcome.OVERLAP: "Another head of the cycle takes the same victims.",
    Outcome.DEFERRED: "It waits for victims of others: when they are gone, it fits.",
    Outcome.MISCONFIGURED: "An admission check failed, or it cannot be queued as it stands.",
    Outcome.NAMESPACE_MISMATCH: "Its namespace is not one that the queue's `namespaceSelector` selects.",
    Outcome.SUSPENDED: "The queue is stopped, or inactive.",
    Outcome.DENIED: "A condition of `admit` does not hold.",
    Outcome.RULE_FAILED: "A rule failed when it was asked about it.",
}
VARIANTS: Final[Mapping[Variant, str]] = {
    Variant.NEVER: "No victim.",
    Variant.WITHIN_QUEUE: "A workload of the preemptor's own queue.",
    Variant.HIERARCHY: "A workload that uses quota which is the preemptor's by its place in the tree (`advantage`).",
    Variant.WITHOUT_BORROWING: "A victim only while the preemptor's queue stays within its nominal quota.",
    Variant.WHILE_BORROWING: "A victim also where the preemptor's queue borrows.",
}
MODES: Final[Mapping[Mode, str]] = {
    Mode.NO_FIT: "It does not fit.",
    Mode.NO_CANDIDATES: "It needs preemption, and nobody may be preempted.",
    Mode.PREEMPT: "It needs preemption, also in its own queue.",
    Mode.RECLAIM: "It needs preemption, only of workloads that borrow.",
    Mode.FIT: "It fits.",
}
