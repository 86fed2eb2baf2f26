"""`Core`: what the controller asks of the queue core. `queue_core.py` has the real one; tests may give others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from webhook.cluster.pace import Pass
from webhook.queue.decisions import Decisions, Pending
from webhook.queue.explain import Gathered
from webhook.queue.model import History, PodSet
from webhook.queue.quota.shares import CurrentShares
from webhook.store.objects import Object


@dataclass(frozen=True, slots=True)
class CohortFacts:
    """One cohort in its tree: the names above it ("" for none; of the root its own), and its quota with all below."""

    parent: str
    root: str
    quota: Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """What is told of queues beside their Workloads.

    `shares` are None where the rules do not share fairly. `asked` is what waits for quota, by LocalQueue
    (`namespace/name`) and resource; `usage` is what a LocalQueue used lately, by weight, where admission goes by that.
    """

    shares: CurrentShares | None = None
    asked: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    usage: Mapping[str, float] = field(default_factory=dict)
    cohorts: Mapping[str, CohortFacts] = field(default_factory=dict)


class Core(Protocol):
    """Decides from objects, and says why what waits does."""

    revision: int
    """Changes with whatever an explanation may depend on: those begun before it are not worth going on with."""
    under_way: Collection[str]
    """Keys of Workloads whose decision is being written: it counts, whatever their objects say, until they are gone
    from here."""

    def heard(self, old: Object | None, new: Object | None) -> None:
        """Take note of a change of an object; None stands for one that was not there, or is gone."""

    def catch_up(self, now: int) -> Pass[None]:
        """Take in the objects as they were last heard of; `now` in milliseconds since the epoch."""

    def decide(self, now: int) -> Decisions:
        """Give the decisions over the objects as they were last heard of."""

    def follow(self, now: int) -> None:
        """Know the objects as they were last heard of, without deciding anything."""

    def knows(self, name: str, *, local: bool) -> bool:
        """Say whether a ClusterQueue, or the LocalQueue `namespace/name`, was there when the core followed last."""

    def inactive(self) -> Mapping[str, str]:
        """Say why ClusterQueues take nothing, by name; those that do are left out."""

    def used(self, name: str, now: int, *, local: bool) -> History | None:
        """Give what a ClusterQueue, or the LocalQueue `namespace/name`, used lately; None where nobody asks."""

    def facts(self) -> Pass[QueueFacts]:
        """Give what is told of queues."""

    def front(self, most: int) -> Pass[list[str]]:
        """Name up to `most` that wait in front of their queues: those who may be admitted next."""

    def pod_sets(self, key: str) -> Sequence[PodSet]:
        """Give the pod sets of a Workload as they count, none where it cannot be read."""

    def workloads(self) -> list[str]:
        """Give the keys of all Workloads that may have to be explained."""

    def stirred(self) -> Pass[list[str]]:
        """Give the keys of those who may have another explanation since this was last asked: many have the same."""

    def looked_at(self) -> Iterable[str]:
        """Give the keys of those that changed, came, went or were decided about since this was last asked."""

    def explain(self, key: str, gathered: Gathered) -> Pending | None:
        """Explain one as of the last decision; None where there is nothing to tell of it."""
