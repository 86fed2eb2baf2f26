"""Long passes over the state in short steps, so that a page never keeps an admission request waiting.

A pass is a generator: wherever it yields, the event loop may go on. What it reads may change in between; each pass says
what of it has to be of one moment, and takes a copy of that.
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
"""Seconds that a pass may keep the event loop."""
CHUNK: Final = 500
"""Entries that are sorted, or looked at, in one step."""


async def in_slices(steps: Pass[T]) -> T:
    """Run a pass to its end, and give what it returns."""
    end = perf_counter() + SLICE
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: T = done.value
            return found
        if perf_counter() >= end:
            await asyncio.sleep(0)
            end = perf_counter() + SLICE


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
