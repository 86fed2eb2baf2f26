"""Who listens for changes: one look at the state in a while for all of them, and none while nobody does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Final, Literal

from webhook.dashboard.model.session import ChangeNotice

LOOK_EVERY: Final = 0.25
"""Seconds between two looks; behind a change, twice that."""
HEARTBEAT: Final = 15.0
"""Seconds after which a listener hears something, changed or not."""
LISTENERS: Final = 200

Marks = tuple[int, str]
"""What the queues and the policies are told apart by: the core's revision, and a text of the policies in force."""
Part = Literal["cluster", "queues", "workloads", "policies"]


class Listeners:
    """Gives changes to all who listen. `marks` are looked at; `close` ends every stream."""

    def __init__(self, marks: Callable[[], Marks]) -> None:
        self._marks, self._number, self._closed = marks, 0, False
        self._moved = asyncio.Condition()
        self._now: Marks = (-1, "")
        self._task: asyncio.Task[None] | None = None

    @property
    def full(self) -> bool:
        """Whether no one else can listen."""
        return self._number >= LISTENERS

    async def changes(self) -> AsyncGenerator[ChangeNotice | None, None]:
        """Yield what changed since the stream began, again and again; None where there was nothing to tell for long."""
        self._number += 1
        if self._task is None:
            self._now = self._marks()
            self._task = asyncio.create_task(self._look(), name="changes for the page")
        try:
            seen = self._now
            yield ChangeNotice(seen[0], ("cluster", "queues", "workloads", "policies"))
            while not self._closed:
                async with self._moved:
                    try:
                        async with asyncio.timeout(HEARTBEAT):
                            await self._moved.wait_for(lambda: self._closed or self._now != seen)  # noqa: B023
                    except TimeoutError:
                        pass
                before, seen = seen, self._now
                if not self._closed:
                    yield _changed(before, seen)
        finally:
            self._number -= 1
            if not self._number and self._task is not None:
                self._task.cancel()
                self._task = None

    async def close(self) -> None:
        """End all streams."""
        self._closed = True
        async with self._moved:
            self._moved.notify_all()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            marks = self._marks()
            if marks != self._now:
                async with self._moved:
                    self._now = marks
                    self._moved.notify_all()
                await asyncio.sleep(LOOK_EVERY)


def _changed(before: Marks, after: Marks) -> ChangeNotice | None:
    parts: list[Part] = []
    if before[0] != after[0]:
        parts += ["cluster", "queues", "workloads"]
    if before[1] != after[1]:
        parts.append("policies")
    return ChangeNotice(after[0], tuple(parts)) if parts else None
