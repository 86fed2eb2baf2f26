"""`Core`: what the controller asks of the queue core. `queue_core.py` has the real one; tests may give others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from webhook.cluster.pace import Pass
from webhook.queue.decisions import Decisions, Pending
from webhook.queue.explain import Gathered
from webhook.queue.model import History, PodSet
from webhook.queue.quota.shares import StandingShares
from webhook.store.objects import Object


class Core(Protocol):
    """Decides from objects, and says why what waits does."""

    revision: int
    """Changes with whatever an explanation may depend on: those begun before it are not worth going on with."""

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

    def shares(self) -> StandingShares | None:
        """Give the shares of ClusterQueues and cohorts; None where the rules do not share fairly."""

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
