"""When the jobs of a list start: the queues that have a part in it are run forward, in a thread, over a bounded copy.

One run tells of a whole list. It is used again for a while: a queue that changes ten times a second is not run forward
as often.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from webhook.cluster.pace import Pass, every, in_order, in_slices
from webhook.dashboard.sources import Sources
from webhook.queue.explain import jobs_ahead
from webhook.queue.forecast import Start, concerned, facts_at, starts
from webhook.queue.model import Snapshot
from webhook.queue.pending.queue import Entry, PendingQueue

JOBS: Final = 500
"""Workloads that are copied, at most."""
HEADS: Final = 4_000
"""Heads that are looked at, at most."""
REUSE_SECONDS: Final = 5.0
"""Seconds for which an answer is used again, though the queues have changed."""
KEPT: Final = 200
"""Lists whose answers are kept."""


@dataclass(frozen=True, slots=True)
class _Made:
    at: float
    revision: int
    starts: dict[str, Start]


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is run forward, and what is known without it."""

    snapshot: Snapshot
    late: dict[str, Start]


@dataclass(slots=True)
class Forecasts:
    """Answers for workloads that wait in one queue. `clock` is in seconds."""

    sources: Sources
    clock: Callable[[], float]
    _made: OrderedDict[tuple[str, tuple[str, ...]], _Made] = field(default_factory=OrderedDict, init=False)
    _running: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def of(self, queue: str, keys: Sequence[str]) -> dict[str, Start]:
        """Return when each of some workloads starts, or why that is not known."""
        asked = queue, tuple(keys)
        if (found := self._known(asked)) is not None:
            return found
        async with self._running:
            if (found := self._known(asked)) is not None:
                return found
            revision, rules, now = self.sources.revision, self.sources.core.rules, self.sources.now()
            facts = await in_slices(self._facts(queue, keys))
            rest = [key for key in keys if key not in facts.late]
            told = await asyncio.to_thread(starts, facts.snapshot, rules, rest, now, HEADS) if rest else {}
            self._made[asked] = _Made(self.clock(), revision, {**told, **facts.late})
            if len(self._made) > KEPT:
                self._made.popitem(last=False)
            return self._made[asked].starts

    def _known(self, asked: tuple[str, tuple[str, ...]]) -> dict[str, Start] | None:
        found = self._made.get(asked)
        if found is None or (found.at + REUSE_SECONDS < self.clock() and found.revision != self.sources.revision):
            return None
        return found.starts

    def _facts(self, queue: str, keys: Sequence[str]) -> Pass[_Facts]:
        """Copy what runs, and the first that wait in each queue; those that are further behind are too many to tell."""
        state = self.sources.state
        pending_queue = state.by_queue.get(queue)
        if pending_queue is None:
            return _Facts(Snapshot(), dict.fromkeys(keys, Start(None)))
        queues = concerned(state, pending_queue)
        work = {entry.key: entry for one in queues for entry in one.holders.values()}
        yield
        each = max(1, (JOBS - len(work)) // len(queues))
        wanted = set(keys)
        late: dict[str, Start] = {}
        for one in queues:
            entries = yield from in_order(list(one.waiting()), _order(one))
            for pause, (place, entry) in every(enumerate(entries)):
                if place < each and one.has_waiting(entry):
                    work[entry.key] = entry
                elif entry.key in wanted:
                    late[entry.key] = Start(None, jobs_ahead(place))
                if pause:
                    yield
        late |= {key: Start(None) for key in keys if key not in work and key not in late}
        return _Facts(facts_at(state, queues, work.values()), late)


def _order(pending_queue: PendingQueue) -> Callable[[Entry], tuple[object, ...]]:
    place = pending_queue.place_of()
    return lambda entry: place(entry) if pending_queue.has_waiting(entry) else ()
