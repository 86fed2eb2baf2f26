"""When the passing of time alone may change a decision: by rules that read the clock or decayed usage.

An answer that changes only at multiples of a step is asked for again after the next multiple.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Final

from webhook.queue.pending.queue import SLACK, PendingQueue
from webhook.queue.quota.usage_by_owner import Accounting
from webhook.queue.rules import Rules

LOOK: Final = 60_000
"""How often an answer that may change at any time is asked for if nothing else happens (milliseconds)."""


class Timers:
    """Times at which something is due for a workload, in a heap; the caller says which still count.

    Many may be set before the first of them comes, so the heap is rebuilt from those that count when it has doubled.
    """

    __slots__ = ("_heap", "_most")

    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []
        self._most = SLACK

    def set(self, at: int, key: str) -> None:
        """Schedule a workload at a time (milliseconds)."""
        heappush(self._heap, (at, key))

    def passed(self, now: int) -> list[tuple[int, str]]:
        """Remove and return what is due by now."""
        due = []
        while self._heap and self._heap[0][0] <= now:
            due.append(heappop(self._heap))
        return due

    def next(self, counts: Callable[[int, str], bool]) -> int | None:
        """Return the first time that still counts."""
        if len(self._heap) > self._most:
            self._heap = sorted({item for item in self._heap if counts(*item)})
            self._most = 2 * len(self._heap) + SLACK
        while self._heap and not counts(*self._heap[0]):
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None


class RuleTiming:
    """The clock steps of the rules in force, and the time up to which they were applied."""

    __slots__ = ("_asks", "_evicts", "_now", "_orders", "_preempts")

    def __init__(self, rules: Rules | None = None, now: int = 0) -> None:
        clock = rules.clock if rules is not None else {}
        self._orders, self._asks = clock.get("order", 0), clock.get("admit", 0)
        self._preempts = clock.get("candidate", 0)
        self._evicts = clock.get("evict", 0)
        self._now = now

    def passed(self, now: int, *, sampled: bool) -> tuple[bool, bool, bool, bool]:
        """Advance to a time. Return whether answers of `order`, `admit`, `candidate` and `evict` may have changed.

        `sampled`: decayed usage changed.
        """
        before, self._now = self._now, now
        asked = sampled or _crossed(before, now, self._asks)
        ordered, preempted = _crossed(before, now, self._orders), _crossed(before, now, self._preempts)
        return ordered, asked, preempted, _crossed(before, now, self._evicts)

    def times(self, accounting: Accounting, queues: Iterable[PendingQueue], *, denied: bool) -> list[int | None]:
        """Return the next times to decide at, given the queues; `denied`: an `admit` rule denied some workload."""
        queues = list(queues)
        waits = [pending_queue.queue for pending_queue in queues if pending_queue.classes]
        steps = [self._asks] if denied else []
        steps += [self._orders, self._preempts] if waits else []
        steps += [self._evicts] if self._evicts and any(pending_queue.holders for pending_queue in queues) else []
        ordered = any(map(accounting.apart, waits))
        return [
            accounting.next_sample(denied=denied, ordered=ordered),
            *(self._now + LOOK if step == 1 else (self._now // step + 1) * step for step in steps if step),
        ]


def _crossed(before: int, now: int, step: int) -> bool:
    return step > 0 and before // step < now // step
