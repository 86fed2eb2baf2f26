"""Descriptions of the plain values that queue rules read and return: rows of the reference page.

Objects and their fields are read from the core's types; these rows add what a type cannot say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.queue.rules import HeadOutcome, Mode, Variant

ARGUMENTS: Final[Mapping[str, str]] = {
    "now": "The current time, a timestamp.",
    "at": "The current time in milliseconds; in `requeue` the time of the eviction.",
    "begins": "When the head can start, by the run times of running workloads, in milliseconds; 0 if unknown.",
    "usage": "In `order` and `preempt.order`: the decayed usage of the LocalQueue, by weight (0.0 without `history`); "
    "victims of different ClusterQueues are compared as if it was 0.0. Elsewhere: how much of the flavor and resource "
    "the node uses.",
    "asked": "The requested amount of the flavor and resource.",
    "borrow": "The height of the subtree that the request borrows from; 0 is the queue itself.",
    "parent": "The value of the node's parent; 0 at the root.",
    "belowRoot": "Whether a subtree below the root could hold the request.",
    "advantage": "true: the request fits in the quota of a subtree that does not contain the victim, so the preemptor "
    "may reclaim it. false: it does not.",
    "outcome": "Why the head was not admitted; see below.",
    "variant": "The kind of the victim; see below.",
    "borrowed": "The amount of the resource that the node borrows, over all flavors.",
    "lendable": "The amount of that resource that the tree can lend.",
    "ratio": "The largest unweighted share of any resource.",
    "weight": "The weight, in billionths: 1000000000 is a weight of 1.",
    "borrowing": "Whether the node uses more than its quota.",
}
"""Arguments that are no objects."""

OUTCOMES: Final[Mapping[HeadOutcome, str]] = {
    HeadOutcome.NO_FIT: "It does not fit, and preemption would not help.",
    HeadOutcome.NO_CANDIDATES: "It fits in the maximum of the queue, but no workload can be preempted for it.",
    HeadOutcome.FLAVORS_LEFT: "It does not fit; the next cycle tries the next flavor.",
    HeadOutcome.PREEMPTING: "Victims were chosen; it is waiting for their quota.",
    HeadOutcome.NO_LONGER_FITS: "It no longer fits, because another head was admitted in this cycle.",
    HeadOutcome.OVERLAP: "Another head of this cycle preempts the same victims.",
    HeadOutcome.DEFERRED: "It fits when workloads that are already preempted are gone.",
    HeadOutcome.MISCONFIGURED: "An admission check failed, or the workload cannot be queued as it is.",
    HeadOutcome.NAMESPACE_MISMATCH: "The queue's `namespaceSelector` does not match its namespace.",
    HeadOutcome.SUSPENDED: "The queue is stopped or inactive.",
    HeadOutcome.DENIED: "A condition of `admit` is false.",
    HeadOutcome.RULE_FAILED: "A rule failed for it.",
}
VARIANTS: Final[Mapping[Variant, str]] = {
    Variant.NEVER: "Not a victim.",
    Variant.WITHIN_QUEUE: "A workload in the preemptor's own queue.",
    Variant.HIERARCHY: "A workload that uses quota to which the preemptor is entitled by the tree (`advantage`).",
    Variant.WITHOUT_BORROWING: "A victim only if the preemptor's queue stays within its nominal quota.",
    Variant.WHILE_BORROWING: "A victim even if the preemptor's queue borrows.",
}
MODES: Final[Mapping[Mode, str]] = {
    Mode.NO_FIT: "It does not fit.",
    Mode.NO_CANDIDATES: "It needs preemption, but no workload can be preempted.",
    Mode.PREEMPT: "It needs preemption, including in its own queue.",
    Mode.RECLAIM: "It needs preemption, only of workloads in queues that borrow.",
    Mode.FIT: "It fits.",
}
