"""Reads objects that the local view does not have yet from the API server: limited, shared, cached for a second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from webhook.policy.facts import FactError, ObjectQuery, Unanswered
from webhook.store.errors import NotFound, StoreError
from webhook.store.objects import Object, ObjectStore

REMEMBER: Final = 1.0
"""Seconds for which a result is cached; by then the view has the object."""
TIMEOUT: Final = 2.0
"""Timeout of a read, in seconds."""
CONCURRENT_READS: Final = 16
REMEMBERED_READS: Final = 1024


class LiveReads:
    """Cached results and reads in progress; requests for the same object share one read."""

    def __init__(self, store: ObjectStore, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._answers: dict[ObjectQuery, tuple[Object | StoreError, float]] = {}
        self._reading: dict[ObjectQuery, asyncio.Task[None]] = {}
        self._room = asyncio.Semaphore(CONCURRENT_READS)

    def answer(self, query: ObjectQuery) -> Object:
        """Return the object from the cache. Raises Unanswered if not cached, FactError if missing or unreadable."""
        answer, until = self._answers.get(query, (None, 0.0))
        if answer is None or until < self._clock():
            raise Unanswered(query)
        if isinstance(answer, NotFound):
            raise FactError(str(answer), missing=True)
        if isinstance(answer, StoreError):
            raise FactError(f"Internal error occurred: {answer}")
        return answer

    async def fetch(self, query: ObjectQuery) -> None:
        """Read an object and cache the result for `answer`."""
        task = self._reading.get(query)
        if task is None:
            task = self._reading[query] = asyncio.create_task(self._read(query), name=f"read {query.name}")
            task.add_done_callback(lambda _: self._reading.pop(query, None))
        await asyncio.shield(task)

    async def _read(self, query: ObjectQuery) -> None:
        answer: Object | StoreError
        try:
            async with asyncio.timeout(TIMEOUT), self._room:
                answer = await self._store.get(query.gvk, query.name, query.namespace or None)
        except StoreError as error:
            answer = error
        except TimeoutError:
            answer = StoreError(f"the API server did not give {query.gvk.kind} {query.name} within {TIMEOUT:g} s")
        if len(self._answers) >= REMEMBERED_READS:
            self._answers.clear()
        self._answers[query] = answer, self._clock() + REMEMBER
