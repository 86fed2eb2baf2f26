"""A limit of five seconds of processor time per policy: some operations of expressions cost nothing in the cost model.

For example, comparing two lists with many shared parts costs one unit and takes hours (decision 0065).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from webhook.cel.errors import Interrupted

POLICY_SECONDS: Final = 5.0
"""Seconds of processor time of one policy, on all samples together."""
INTERRUPTED: Final = "operation interrupted"
_RING: Final = 0.05
_waiting = [False]


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt what is evaluated after so many seconds. Only the main thread can; in others nothing is interrupted."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _ring)
    _waiting[0] = True
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, max(seconds, _RING), _RING)
        yield
    finally:
        _waiting[0] = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def _ring(*_: object) -> None:
    if _waiting[0]:
        raise Interrupted(f"{INTERRUPTED}: more than {POLICY_SECONDS:g} s of processor time")
