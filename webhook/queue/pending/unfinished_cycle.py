"""A cycle whose call ran out of budget before all heads were nominated; the next call continues it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from webhook.queue.pending.queue import Entry, PendingQueue

N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class Suspended(Generic[N]):
    """The nominations so far, valid while `signature_of` the queues still equals `signature`.

    `tries` counts the calls so far, so that the cycle ends even in a tree that changes all the time.
    """

    nominations: dict[Entry, N]
    signature: tuple[int, ...]
    tries: int


def signature_of(pending_queues: list[PendingQueue]) -> tuple[int, ...]:
    """Return numbers that change whenever the quota held in some queues changes."""
    return tuple(pending_queue.generation for pending_queue in pending_queues)
