"""How long a review may take: by the clock, as long as the API server waits; by processor time, a second.

Some of what an expression does is free by the cost model (`x in list` of an untyped list is), so an object made for it
could keep the one thread that answers busy for hours. A timer of the process's own processor time interrupts it: the
expression fails, as one does in the API server whose request's deadline has passed, and the policy's failurePolicy
decides. Nothing is asked of a review that is quick.

The time by the clock is given by `seconds_left` and kept in `routes/admission.py`, where a review waits for facts.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import Final

from aiohttp import web

from webhook.admission.verdict import NeedsFacts, Verdict
from webhook.cel.errors import Interrupted
from webhook.server.limits import Limits

Review = Callable[..., Verdict | NeedsFacts]

RING_SECONDS: Final = 0.05
"""Seconds of processor time between two rings."""
MAX_RINGS: Final = 20
"""So many rings a review may outlast; each further one ends the expression that is evaluated then."""
_left = [0]
"""Rings until the review that runs is interrupted; 0 while none runs."""
_report = [sys.unraisablehook]
"""What reports an exception that Python cannot raise."""


def seconds_left(call: web.BaseRequest, limits: Limits) -> float:
    """Return the seconds that a request may wait: the API server says in the URL how long it does (`?timeout=10s`).

    After that the answer is 504 (`app.py`).
    """
    text = call.query.get("timeout", "").removesuffix("s")
    asked = float(text) if text.isascii() and text.isdigit() else limits.seconds
    return max(0.5, min(asked - 0.5, limits.seconds))


def with_deadline(review: Review) -> Review:
    """Return the review, to be interrupted where it takes too long. Calls raise Interrupted outside of expressions."""

    def run(request: object) -> Verdict | NeedsFacts:
        _left[0] = MAX_RINGS
        try:
            return review(request)
        finally:
            _left[0] = 0

    return run


def start_timer(tick: float = RING_SECONDS) -> None:
    """Start the timer. Only the main thread can, and only what it reviews is interrupted."""
    if sys.unraisablehook is not _unraisable:
        _report[0], sys.unraisablehook = sys.unraisablehook, _unraisable
    signal.signal(signal.SIGVTALRM, _ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, tick, tick)


def stop_timer() -> None:
    """Stop the timer: once the interpreter has let go of its handlers, the next ring would kill the process."""
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    signal.signal(signal.SIGVTALRM, signal.SIG_IGN)
    if sys.unraisablehook is _unraisable:
        sys.unraisablehook = _report[0]


def _ring(*_: object) -> None:
    if _left[0] > 1:
        _left[0] -= 1
    elif _left[0]:
        raise Interrupted(
            f"operation interrupted: the review took more than {RING_SECONDS * MAX_RINGS:g} s of processor time"
        )


def _unraisable(what: sys.UnraisableHookArgs) -> None:
    """Report an exception that cannot be raised, unless it is a ring: while a generator is closed, say.

    Python goes on then, and the next ring ends the expression.
    """
    if what.exc_type is not Interrupted:
        _report[0](what)
