"""Processes for work that is split. Ctrl-C is their parent's to handle."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any, Final

FORKS: Final = "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"
"""Whether a process gets all that its parent has in memory."""


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start(work: Callable[..., None], *args: object) -> BaseProcess:
    """Start a process that does `work`, and never learns of Ctrl-C."""
    context: Any = multiprocessing.get_context("fork" if FORKS else "spawn")
    process: BaseProcess = context.Process(target=_do, args=(work, args))
    with _interruption_held_back():
        process.start()
    return process


@contextmanager
def _interruption_held_back() -> Iterator[None]:
    """Deliver Ctrl-C afterwards: a process that has just begun would end with a traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _do(work: Callable[..., None], args: tuple[object, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work(*args)
