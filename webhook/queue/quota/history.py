"""Decayed usage of LocalQueues, ClusterQueues, namespaces and users: who used how much lately.

A value is an exponential mean of what was held: after one half-life of holding nothing, half of it is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from webhook.queue.model import ClusterQueue, History, LocalQueue
from webhook.queue.pending.queue import Entry
from webhook.queue.pending.wakeup import Changes
from webhook.queue.rules import Rules

Owner = tuple[str, str]
"""What kind of thing used it (`local`, `queue`, `namespace`, `user`), and its name."""


@dataclass(slots=True)
class Meter:
    """Decayed usage as it stood at a time, what is held since, and by how many workloads."""

    at: int = 0
    past: dict[str, float] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    workloads: int = 0

    def advance(self, now: int, half_life: int) -> None:
        """Bring the decayed usage up to a time."""
        if now <= self.at:
            return
        kept = 0.5 ** ((now - self.at) / half_life) if half_life else 1.0
        self.past = {
            r: self.past.get(r, 0.0) * kept + self.held.get(r, 0) * (1.0 - kept) for r in {**self.past, **self.held}
        }
        self.at = now


class Known(Protocol):
    """What the meters must know of a state: who is who, and the time."""

    rules: Rules | None
    changes: Changes
    local_queues: dict[str, LocalQueue]
    cluster_queues: dict[str, ClusterQueue]


class Histories:
    """The meters of a state. They run only where a rule asks for them."""

    __slots__ = ("_loaded", "meters")

    def __init__(self) -> None:
        self.meters: dict[Owner, Meter] = {}
        self._loaded: dict[Owner, History] = {}

    def usage(self, entry: Entry, state: Known) -> float:
        """Give the weighted decayed usage of an entry's LocalQueue, divided by the queue's weight."""
        rules = state.rules
        assert rules is not None
        if not rules.ordered_by_usage:
            return 0.0
        key = f"{entry.workload.namespace}/{entry.workload.queue}"
        local = state.local_queues.get(key)
        meter = self._meter(("local", key), state)
        meter.advance(state.changes.now, rules.half_life)
        weights = rules.resource_weights
        total = sum(weights.get(r, 1.0) * v / (1000 if r == "cpu" else 1) for r, v in meter.past.items())
        weight = local.weight if local is not None else 1000
        return total * 1000 / weight if weight else float("inf")

    def held(self, entry: Entry, state: Known) -> None:
        """Count what an entry holds from now on."""
        self._count(entry, state, 1)

    def released(self, entry: Entry, state: Known) -> None:
        """Count no longer what an entry held."""
        self._count(entry, state, -1)

    def charge(self, entry: Entry, state: Known) -> None:
        """Count a new admission as held for one sampling interval at once, so that the next one sees it."""
        rules = state.rules
        assert rules is not None
        if not rules.ordered_by_usage or not rules.half_life:
            return
        part = 1.0 - 0.5 ** (rules.sampling / rules.half_life)
        meter = self._meter(("local", f"{entry.workload.namespace}/{entry.workload.queue}"), state)
        for resource, amount in resources_of(entry).items():
            meter.past[resource] = meter.past.get(resource, 0.0) + part * amount

    def read(self, owner: Owner, state: Known) -> Meter:
        """Give a meter, brought up to now."""
        meter = self._meter(owner, state)
        assert state.rules is not None
        meter.advance(state.changes.now, state.rules.half_life)
        return meter

    def _count(self, entry: Entry, state: Known, sign: int) -> None:
        rules = state.rules
        assert rules is not None
        if not (rules.ordered_by_usage or rules.conditional):
            return
        amounts = resources_of(entry)
        for owner in owners_of(entry):
            meter = self._meter(owner, state)
            meter.advance(state.changes.now, rules.half_life)
            meter.workloads += sign
            for resource, amount in amounts.items():
                meter.held[resource] = meter.held.get(resource, 0) + sign * amount

    def _meter(self, owner: Owner, state: Known) -> Meter:
        if (meter := self.meters.get(owner)) is None:
            known = _known(owner, state)
            meter = self.meters[owner] = Meter(known.at or state.changes.now, dict(known.usage))
        return meter


def resources_of(entry: Entry) -> Mapping[str, int]:
    """Sum what an entry's admission uses, by resource."""
    sums: dict[str, int] = {}
    if entry.admission is not None:
        for pod_set in entry.admission.pod_sets:
            for resource, amount in pod_set.usage.items():
                sums[resource] = sums.get(resource, 0) + amount
    return sums


def owners_of(entry: Entry) -> tuple[Owner, ...]:
    """Give whose usage an entry counts for."""
    workload = entry.workload
    queue = entry.admission.cluster_queue if entry.admission is not None else ""
    return (
        ("local", f"{workload.namespace}/{workload.queue}"),
        ("queue", queue),
        ("namespace", workload.namespace),
        ("user", workload.user),
    )


def _known(owner: Owner, state: Known) -> History:
    kind, name = owner
    if kind == "local" and (local := state.local_queues.get(name)) is not None:
        return local.history
    if kind == "queue" and (queue := state.cluster_queues.get(name)) is not None:
        return queue.history
    if kind == "namespace":
        rules = state.rules
        found = [q.history for q in state.local_queues.values() if q.namespace == name and q.history.at]
        return _sum(found, rules.half_life if rules is not None else 0)
    return History()


def _sum(histories: list[History], half_life: int) -> History:
    """Add histories up at the time of the latest: what a namespace used is what its LocalQueues did."""
    at = max((h.at for h in histories), default=0)
    usage: dict[str, float] = {}
    for history in histories:
        kept = 0.5 ** ((at - history.at) / half_life) if half_life else 1.0
        for resource, amount in history.usage.items():
            usage[resource] = usage.get(resource, 0.0) + kept * amount
    return History(at, usage)
