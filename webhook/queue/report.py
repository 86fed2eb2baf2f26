"""Hooks that the core calls while it decides, for traces, metrics and tests."""

from __future__ import annotations

from webhook.queue.decisions import Admitted, Preempted


class Reporter:
    """Does nothing; override the methods you need. A reporter must not change the state."""

    __slots__ = ()

    def cycle(self, number: int, heads: int) -> None:
        """Called when a cycle over the heads of the queues begins."""

    def considered(self, workload: str, cluster_queue: str) -> None:
        """Called when flavors are searched for; parked workloads are not considered until something changes."""

    def admitted(self, decision: Admitted) -> None:
        """Called for each admission."""

    def preempted(self, decision: Preempted) -> None:
        """Called for each preemption."""


SILENT = Reporter()
