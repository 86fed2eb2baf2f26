"""`Core`: the interface of the queue core to the controller. Implemented in `queue_core.py`; tests may replace it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from webhook.cluster.core.writes_in_flight import WritesInFlight
from webhook.cluster.pace import Pass
from webhook.queue.decisions import Decisions, Pending
from webhook.queue.explain import Gathered
from webhook.queue.model import History, PodSet
from webhook.queue.quota.shares import CurrentShares
from webhook.store.objects import Object


@dataclass(frozen=True, slots=True)
class CohortFacts:
    """A cohort in its tree: names of its parent ("" if none) and root, and the quota of its subtree."""

    parent: str
    root: str
    quota: Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """Metrics of queues that do not come from counting Workloads.

    `shares` is None without fair sharing. `asked` is what pending workloads request, by LocalQueue (`namespace/name`)
    and resource; `usage` is the weighted recent usage of each LocalQueue, with admission fair sharing only.
    """

    shares: CurrentShares | None = None
    asked: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    usage: Mapping[str, float] = field(default_factory=dict)
    cohorts: Mapping[str, CohortFacts] = field(default_factory=dict)


class Core(Protocol):
    """Decides from objects, and explains why workloads are pending."""

    revision: int
    """Incremented by whatever may change an explanation: explanations from an older revision are out of date."""

    @property
    def in_flight(self) -> WritesInFlight:
        """Which of its decisions are being written; whoever writes them keeps it up to date."""

    def heard(self, old: Object | None, new: Object | None) -> None:
        """Record a change of an object; None means that it did not exist, or is deleted."""

    def catch_up(self, now: int) -> Pass[None]:
        """Apply the recorded changes; `now` is in milliseconds since the epoch."""

    def decide(self, now: int, *, goes_on: bool = False) -> Decisions:
        """Apply the recorded changes and return the decisions; `now` is in milliseconds since the epoch.

        `goes_on`: nothing is applied, and the decisions of the last call stand, although no object says so yet.
        """

    def follow(self, now: int) -> None:
        """Apply the recorded changes, and what the time changes, without deciding; `now` as in `decide`."""

    def knows(self, name: str, *, local: bool) -> bool:
        """Return whether a ClusterQueue, or the LocalQueue `namespace/name`, is in the state."""

    def inactive(self) -> Mapping[str, str]:
        """Return the reason why a ClusterQueue is inactive, by name; active ones are omitted."""

    def used(self, name: str, now: int, *, local: bool) -> History | None:
        """Return the recent usage of a ClusterQueue, or of the LocalQueue `namespace/name`; None if not recorded."""

    def facts(self) -> Pass[QueueFacts]:
        """Return, in steps, the metrics that do not come from counting Workloads."""

    def front(self, most: int) -> Pass[list[str]]:
        """Return, in steps, the keys of up to `most` workloads at the heads of their queues: the next candidates."""

    def pod_sets(self, key: str) -> Sequence[PodSet]:
        """Return the pod sets of a Workload with the requests that count; none if it cannot be read."""

    def workloads(self) -> list[str]:
        """Return the keys of all Workloads that may need an explanation."""

    def stirred(self) -> Pass[list[str]]:
        """Return, in steps, the keys whose explanation may have changed since the last call, even if not considered."""

    def looked_at(self) -> Iterable[str]:
        """Return the keys that changed, came, went or were considered since the last call."""

    def explain(self, key: str, gathered: Gathered) -> Pending | None:
        """Return the explanation of a workload as of the last decision; None if it is not pending."""
