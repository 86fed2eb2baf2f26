"""What people read about a workload that waits: the core's message, its numbers written as quantities."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from webhook.api import amounts
from webhook.queue.decisions import Pending, Shortage


def message_of(pending: Pending) -> str:
    """Give the message with `6` or `1500m` for thousandths of a CPU and `64Gi` for bytes; the core counts units."""
    message = pending.message
    for shortage in pending.shortages:
        core, people = (_numbers(shortage, how) for how in (str, partial(amounts.text, shortage.resource)))
        for said, better in zip(core, people, strict=True):
            message = message.replace(said, better)
    return message


def _numbers(shortage: Shortage, text: Callable[[int], str]) -> tuple[str, str]:
    """Give the core's two sentences about a shortage, in its words: too much now, and too much for ever."""
    asks = f"requests {text(shortage.asked)} {shortage.resource} of flavor {shortage.flavor}, "
    return (
        f"{asks}{text(max(0, shortage.free))} free",
        f"{asks}the queue can use at most {text(shortage.most)}",
    )
