"""Cooperative scheduling: long work in short steps, so that it does not delay admission requests.

A pass is a generator: at each yield the event loop may run other tasks. What it reads may change in between; each pass
copies what has to be consistent. Work with awaits of its own gives way by a `Slice`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Iterator
from heapq import merge
from time import perf_counter
from typing import Any, Final, TypeVar

T = TypeVar("T")
Pass = Generator[None, None, T]
SLICE_SECONDS: Final = 0.002
"""Seconds for which work may block the event loop."""
CHUNK: Final = 500
"""Entries that are sorted, or processed, in one step."""


class Slice:
    """A share of time until work gives way; tasks that use the same one share it."""

    def __init__(self) -> None:
        self._end = perf_counter() + SLICE_SECONDS

    async def give_way(self, rest: float = 0.0) -> None:
        """If the time is used up, sleep for `rest` seconds, then start another slice."""
        end = self._end
        if perf_counter() >= end:
            await asyncio.sleep(rest)
            if self._end == end:  # no other task has started the next one
                self._end = perf_counter() + SLICE_SECONDS


async def in_slices(steps: Pass[T]) -> T:
    """Run a pass to its end, giving way between steps; return its result."""
    time_slice = Slice()
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result
        await time_slice.give_way()


def at_once(steps: Pass[T]) -> T:
    """Run a pass without giving way; return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result


def every(items: Iterable[T], chunk: int = CHUNK) -> Iterator[tuple[bool, T]]:
    """Yield each item with whether to give way after it."""
    for number, item in enumerate(items, 1):
        yield number % chunk == 0, item


def in_order(items: Iterable[T], key: Callable[[T], Any]) -> Pass[list[T]]:
    """Sort in steps: sort chunks, then merge. Returns the sorted list."""
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
