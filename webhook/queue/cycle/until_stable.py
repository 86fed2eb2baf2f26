"""Decides until nothing changes any more, at one moment: for plans, forecasts and tests, where nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import Decisions
from webhook.queue.report import SILENT, Reporter
from webhook.queue.rules import Rules
from webhook.queue.state import State

MOST_ROUNDS: Final = 10_000
"""After so many rounds that still change something, it is not stable."""


def decide_until_stable(
    state: State,
    rules: Rules,
    now: int,
    cycles: int | None = None,
    watch: Callable[[int], None] | None = None,
    reporter: Reporter = SILENT,
) -> tuple[list[Decisions], bool]:
    """Decide until nothing changes any more: give the decisions on the way, and whether it came to that.

    What `watch` or the `reporter` raises ends it.
    """
    taken: list[Decisions] = []
    stable = False
    while not stable and len(taken) < (cycles or MOST_ROUNDS):
        for before in taken[-1:]:
            for key, why in before.gone():
                state.evict(key, why, now)
        made = decide(state, rules, now, reporter, cycles=1 if cycles else None)
        taken.append(made)
        stable = not (made.admitted or made.preempted or made.evicted or state.ready)
        if watch:
            watch(len(taken))
    return taken, stable
