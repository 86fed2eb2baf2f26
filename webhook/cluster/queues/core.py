"""What the controller asks of the queue core. `queue_core.py` binds it to the real one; tests may give another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from webhook.queue.decisions import Decisions, Pending
from webhook.store.objects import Object


class Core(Protocol):
    """Decides from objects, and says why what waits does."""

    revision: int
    """Changes with whatever an explanation may depend on: those begun before it are not worth going on with."""

    def decide(self, objects: Sequence[Object], now: int) -> Decisions:
        """Give the decisions over the queues' objects as they stand; `now` in milliseconds since the epoch."""

    def follow(self, objects: Sequence[Object], now: int) -> None:
        """Know the objects as they stand, without deciding anything."""

    def waiting(self) -> Iterator[Pending]:
        """Explain what waits, queue by queue in order, as of the last decision."""
