"""Whom the core tells what it does while it decides: explain, metrics and tests listen here. Every method is empty."""

from __future__ import annotations

from webhook.queue.decisions import Admitted, Pending, Preempted


class Reporter:
    """Listens and does nothing; override what you need. A reporter must not change the state."""

    __slots__ = ()

    def cycle(self, number: int, heads: int) -> None:
        """Hear that a round over the heads of the queues begins."""

    def considered(self, workload: str, cluster_queue: str) -> None:
        """Hear that flavors are looked for; parked work is not considered again until something changes."""

    def admitted(self, decision: Admitted) -> None:
        """Hear of an admission."""

    def preempted(self, decision: Preempted) -> None:
        """Hear of a preemption."""

    def skipped(self, decision: Pending) -> None:
        """Hear that a head was considered and not admitted."""


SILENT = Reporter()
