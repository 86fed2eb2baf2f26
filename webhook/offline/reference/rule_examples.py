"""One example of each rule point: an expression, its variables and its result. Tests evaluate each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from webhook.queue.model import (
    Admission,
    ClusterQueue,
    Flavor,
    Fungibility,
    LocalQueue,
    Namespace,
    PodSet,
    Preemption,
    Workload,
)
from webhook.queue.quota.cell import Cell
from webhook.queue.rules import Contest, Found, Match, Option, Placement, Reach, Shares, UsageFacts, Victim

GPU: Final = "nvidia.com/gpu"
JOB: Final = Workload("team", "job", "main", (PodSet("main", 2, {GPU: 4}),), 10, queued_at=60_000, uid="u1")
OTHER: Final = Workload("team", "other", "main", priority=5, queued_at=90_000, labels={"preemptible": "false"})
QUEUE: Final = ClusterQueue(
    "research",
    "company",
    preemption=Preemption("LowerPriority", "Any"),
    fungibility=Fungibility("MayStopSearch", "TryNextFlavor"),
)
LONG: Final = replace(JOB, admission=Admission("research", (), 1_767_600_000_000), run_time=3_600_000)
NODE: Final = Cell("a100", GPU, 0, 16, 8, 4, 16, 12, 24)
FACTS: Final = UsageFacts(Namespace("team", {"tier": "gold"}), {GPU: 8}, {GPU: 12}, user_workloads=3)
VICTIM: Final = Victim(OTHER, "research", 5, 90_000, 120_000, "u2")


@dataclass(frozen=True, slots=True)
class RuleExample:
    """An expression at a point, in words, and what it gives with these values (others are of no matter)."""

    expression: str
    words: str
    gives: Any
    given: Mapping[str, Any] = field(default_factory=dict)


COMMON: Final[Mapping[str, Any]] = {
    "workload": JOB, "queue": QUEUE, "node": NODE, "victim": VICTIM, "facts": FACTS, "podSet": JOB.pod_sets[0],
    "localQueue": LocalQueue("team", "main", "research"),
    "now": 1_767_614_400_000, "at": 1_767_614_400_000, "usage": 20, "asked": 8, "borrow": 0, "parent": 4,
    "begins": 0, "belowRoot": False, "advantage": False, "outcome": "NoCandidates", "variant": "WithinQueue",
    "borrowed": 4, "lendable": 16, "ratio": 250.0, "weight": 2_000_000_000, "borrowing": True,
    "placement": Placement(4, 1, {GPU: 8}),
    "contest": Contest(True, 0.25, 0.25, False), "option": Option(4, 1), "match": Match(Flavor("a100"), "", True),
    "reach": Reach(True, False, True), "found": Found(True, False, True), "shares": Shares(0.2, 0.5, 0.3),
}  # fmt: skip
"""What examples see that do not say otherwise: a job of 2 Pods with 4 GPUs each, and a queue of 16 GPUs in a cohort."""

EXAMPLES: Final[Mapping[str, RuleExample]] = {
    "order": RuleExample("usage", "The LocalQueue with the lowest recent usage goes first.", (0.5,), {"usage": 0.5}),
    "across": RuleExample("-workload.priority", "The highest priority across all queues goes first.", (-10,)),
    "tournament": RuleExample("contest.share", "The queue with the smallest share goes first.", (0.25,)),
    "strict": RuleExample("queue.queueingStrategy == 'StrictFIFO'", "Under StrictFIFO a head blocks the rest.", False),
    "reserve.when": RuleExample(
        "outcome == 'NoCandidates' && workload.priority >= 10", "Only heads with a high priority reserve quota.", True
    ),
    "reserve.amount": RuleExample(
        "asked < node.nominalQuota ? asked : node.nominalQuota", "A head reserves at most the queue's own quota.", 8
    ),
    "reserve.yields": RuleExample(
        "begins != 0 && at + 600000 <= begins",
        "No other workload may use it in the last ten minutes before the start.",
        False,
    ),
    "park": RuleExample("outcome in ['NoFit', 'NoCandidates']", "Parked until something changes.", True),
    "capacity.guaranteed": RuleExample("node.nominalQuota / 2", "A node never lends more than half of its own.", 8),
    "capacity.available": RuleExample("node.nominalQuota - usage", "No queue borrows.", -4),
    "capacity.most": RuleExample("node.nominalQuota", "No node can ever use more than its own quota.", 16),
    "capacity.borrows": RuleExample("usage > node.nominalQuota", "Usage above the nominal quota is borrowed.", True),
    "flavor.eligible": RuleExample(
        "match.untolerated == '' && match.affinity", "All taints are tolerated and the node affinity matches.", True
    ),
    "flavor.preference": RuleExample("option.borrow", "Flavors that need no borrowing are preferred.", (1,)),
    "flavor.stop": RuleExample("option.mode == 4 && option.borrow == 0", "Stop at a fit without borrowing.", False),
    "flavor.mayPreempt": RuleExample("asked <= node.nominalQuota", "Preempt only within the nominal quota.", True),
    "preempt.reach": RuleExample("reach.parent && reach.under", "A queue below its quota may reclaim it.", True),
    "preempt.candidate": RuleExample(
        "victim.workload.labels[?'preemptible'].orValue('') == 'false' ? 'Never' : 'WithinQueue'",
        "A label protects a workload.",
        "Never",
    ),
    "preempt.order": RuleExample("-victim.reservedAt", "The last to start is preempted first.", (-120_000,)),
    "preempt.attempts": RuleExample(
        "found.under ? [false, true] : [true]", "A queue below its quota first tries without borrowing.", [False, True]
    ),
    "preempt.whileBorrowing": RuleExample("variant == 'WithinQueue'", "Only in its own queue.", True),
    "preempt.entitled": RuleExample(
        "usage <= node.nominalQuota", "Within the nominal quota shares do not count.", False
    ),
    "preempt.allowed": RuleExample(
        "shares.preemptor <= shares.after", "The victim's queue keeps at least the preemptor's share.", True
    ),
    "share.ratio": RuleExample("double(borrowed) / double(lendable)", "Borrowed quota by lendable quota.", 0.25),
    "share.value": RuleExample("ratio / (double(weight) / 1e9)", "Twice the weight gives half the share.", 125.0),
    "requeue": RuleExample("at + 60000", "An evicted workload is retried after a minute.", 1_767_614_460_000),
    "evict": RuleExample(
        "workload.runTime != null && int(now) * 1000 > workload.admission.reservedAt + 2 * workload.runTime",
        "A workload that runs twice as long as announced is evicted.",
        True,
        {"workload": LONG},
    ),
    "admit": RuleExample(
        "facts.namespace.labels[?'tier'].orValue('') == 'gold' || facts.userWorkloads < 3",
        "Namespaces of the gold tier have no limit; elsewhere a user has three workloads at most.",
        True,
    ),
}  # fmt: skip
"""By the path of the point in `spec`."""
