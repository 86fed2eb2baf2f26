"""Long work in short steps, so that neither the queues nor a page keep an admission request waiting.

A pass is a generator: wherever it yields, the event loop may go on. What it reads may change in between; each pass says
what of it has to be of one moment, and takes a copy of that. Work that waits for writes gives way by a `Slice`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Iterator
from heapq import merge
from time import perf_counter
from typing import Any, Final, TypeVar

T = TypeVar("T")
Pass = Generator[None, None, T]
SLICE: Final = 0.002
"""Seconds for which work may keep the event loop."""
CHUNK: Final = 500
"""Entries that are sorted, or looked at, in one step."""


class Slice:
    """The time that work has until it gives way; tasks that share one have it together, not each."""

    def __init__(self) -> None:
        self._end = perf_counter() + SLICE

    async def give_way(self, rest: float = 0.0) -> None:
        """Where the time is over, let others go on, `rest` seconds at least; then begin another slice."""
        end = self._end
        if perf_counter() >= end:
            await asyncio.sleep(rest)
            if self._end == end:  # no other task has begun the next one
                self._end = perf_counter() + SLICE


async def in_slices(steps: Pass[T]) -> T:
    """Run a pass to its end, and give what it returns."""
    this = Slice()
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: T = done.value
            return found
        await this.give_way()


def at_once(steps: Pass[T]) -> T:
    """Run a pass without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: T = done.value
            return found


def every(items: Iterable[T], chunk: int = CHUNK) -> Iterator[tuple[bool, T]]:
    """Give items, each with whether it is time to yield."""
    for number, item in enumerate(items, 1):
        yield number % chunk == 0, item


def in_order(items: Iterable[T], key: Callable[[T], Any]) -> Pass[list[T]]:
    """Sort in steps: parts first, then merged."""
    parts: list[list[tuple[Any, int, T]]] = [[]]
    for number, item in enumerate(items):
        if len(parts[-1]) == CHUNK:
            parts[-1].sort()
            parts.append([])
            yield
        parts[-1].append((key(item), number, item))
    parts[-1].sort()
    ordered: list[T] = []
    for pause, row in every(merge(*parts)):
        ordered.append(row[2])
        if pause:
            yield
    return ordered
