"""Waiting for a state: what a test expects may take as long as a busy machine needs, only what hangs fails."""

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 600.0
"""How long a test waits for a state before it gives up, in seconds."""


async def until(condition: Callable[[], Any], what: str, pause: float = 0.01) -> Any:
    """Ask `condition` (plain or a coroutine function) until it gives something true, and give that."""
    end = time.monotonic() + PATIENCE
    while True:
        answer = condition()
        if inspect.isawaitable(answer):
            answer = await answer
        if answer:
            return answer
        assert time.monotonic() < end, f"waited in vain until {what}"
        await asyncio.sleep(pause)


def wait(condition: Callable[[], Any], what: str, seconds: float = PATIENCE, pause: float = 0.05) -> Any:
    """Do the same outside of a loop; raises TimeoutError naming `what`."""
    end = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:.0f} s in vain until {what}")
        time.sleep(pause)
    return answer
