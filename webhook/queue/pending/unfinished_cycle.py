"""A round whose call ran out of budget, in the middle of a cycle or between two; the next call continues it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from webhook.queue.pending.queue import Entry, HeadVerdict, PendingQueue

N = TypeVar("N")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Suspended(Generic[N, R]):
    """What a call leaves to the next one, valid while `signature_of` the queues still equals `signature`.

    `nominations` are those of a cycle that has not ended, `tries` the calls that shared it. `passed` are heads that let
    others pass, `kept` what they reserved, with the verdicts that they got: who has another one by now is looked at
    again. `restarts` counts the times that nothing of this was valid any more. Both numbers have a bound, so that a
    round ends even in a tree that changes all the time.
    """

    nominations: dict[Entry, N]
    signature: tuple[int, ...]
    tries: int = 0
    passed: dict[Entry, HeadVerdict | None] = field(default_factory=dict)
    kept: dict[Entry, tuple[HeadVerdict | None, R]] = field(default_factory=dict)
    restarts: int = 0


def signature_of(pending_queues: list[PendingQueue]) -> tuple[int, ...]:
    """Return numbers that change whenever the quota held in some queues changes."""
    return tuple(pending_queue.generation for pending_queue in pending_queues)
