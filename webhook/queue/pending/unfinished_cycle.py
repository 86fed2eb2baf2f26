"""A cycle whose call was over before all of its heads were nominated: the next call goes on where it stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from webhook.queue.pending.queue import Entry, PendingQueue

N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class Suspended(Generic[N]):
    """What heads were nominated for, which holds while nothing changed since: `signature` tells.

    `tries` counts the calls that this took; a tree that changes all the time must come to an end too.
    """

    nominations: dict[Entry, N]
    signature: tuple[int, ...]
    tries: int


def signature_of(pending_queues: list[PendingQueue]) -> tuple[int, ...]:
    """Give numbers that change with whatever is held in some queues."""
    return tuple(pending_queue.generation for pending_queue in pending_queues)
