"""What the controller asks of the queue core. `queueing.py` binds it to the real one; tests may give another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from webhook.queue.decisions import Decisions
from webhook.store.objects import Object


class Core(Protocol):
    """Decides from objects."""

    def decide(self, objects: Sequence[Object], now: int) -> Decisions:
        """Give the decisions over the queues' objects as they stand; `now` in milliseconds since the epoch."""
