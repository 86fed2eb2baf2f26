"""Candidate victims for one workload, by queue, in the rules' order: ranked once for all flavors that are tried.

As in Kueue, what LocalQueues used lately orders the candidates of one ClusterQueue, if it has an `admissionScope`;
candidates of different ClusterQueues are compared without it.

Who may be a victim is the rule `preempt.candidate` in `policies/queue/kueue/policy.yaml`. The order is `preempt.order`,
there and, for fair sharing, in `policies/queue/kueue-fair/policy.yaml`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from webhook.queue.model import ClusterQueue, Workload
from webhook.queue.pending.queue import Entry, PendingQueue
from webhook.queue.quota.tree import TreeNode
from webhook.queue.rules import Key, Rules, Variant


class Candidate(NamedTuple):
    """A possible victim: its sort key among those of other queues, its variant, itself, and the queue it is in.

    `below` are the nodes from its queue to below the subtree where it is sought, in the classic search.
    """

    sort_key: Key
    variant: str
    entry: Entry
    pending_queue: PendingQueue
    below: tuple[TreeNode, ...] = ()


@dataclass(slots=True, eq=False)
class Candidates:
    """The candidates for a workload of a queue at a time (milliseconds). `looked` counts the workloads looked at.

    `history` is the decayed usage of a workload's LocalQueue, `apart` says whether a ClusterQueue counts it.
    """

    workload: Workload
    queue: ClusterQueue
    rules: Rules
    history: Callable[[Entry], float]
    apart: Callable[[ClusterQueue], bool]
    now: int
    looked: int = 0
    _ranked: dict[tuple[PendingQueue, bool], list[Candidate]] = field(default_factory=dict)
    _using: dict[tuple[PendingQueue, bool, tuple[int, ...]], list[Candidate]] = field(default_factory=dict)

    def using(self, columns: Sequence[int], pending_queue: PendingQueue, advantage: bool) -> list[Candidate]:
        """Return the candidates of one queue that use any of some columns, in the order they would be evicted."""
        key = (pending_queue, advantage, tuple(columns))
        found = self._using.get(key)
        if found is None:
            ranked = self._of(pending_queue, advantage)
            found = [each for each in ranked if any(column in columns for column, _ in each.entry.amounts)]
            self._using[key] = found
        return found

    def _of(self, pending_queue: PendingQueue, advantage: bool) -> list[Candidate]:
        ranked = self._ranked.get((pending_queue, advantage))
        if ranked is None:
            ranked = self._ranked[pending_queue, advantage] = self._rank(pending_queue, advantage)
        return ranked

    def _rank(self, pending_queue: PendingQueue, advantage: bool) -> list[Candidate]:
        rules, queue, workload, now = self.rules, self.queue, self.workload, self.now
        variant_of, order = rules.candidate, rules.victim_order
        ranked: list[Candidate] = []
        if pending_queue.spares and pending_queue.queue is queue:
            return ranked
        for entry in pending_queue.holders.values():
            victim = entry.victim
            assert victim is not None
            variant = variant_of(victim, workload, queue, advantage, now)
            if variant != Variant.NEVER:
                sort_key = (*order(victim, workload, queue, variant, 0.0), entry.key)
                ranked.append(Candidate(sort_key, variant, entry, pending_queue))
        self.looked += len(pending_queue.holders)
        ranked.sort(key=attrgetter("sort_key"))
        if "usage" in rules.reads["victim_order"] and self.apart(pending_queue.queue):
            ranked.sort(key=self._by_usage)
        return ranked

    def _by_usage(self, candidate: Candidate) -> Key:
        entry = candidate.entry
        assert entry.victim is not None
        return self.rules.victim_order(entry.victim, self.workload, self.queue, candidate.variant, self.history(entry))
