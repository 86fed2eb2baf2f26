"""Discrete-event simulation of a state: admitted workloads run for their run time, evicted ones wait again.

The clock moves from event to event, and events of one time have a fixed order, so the same state, rules and arrivals
always give the same result. Used by simulations and forecasts; it changes the state that it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final

from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import Admitted, Decisions
from webhook.queue.events import WorkloadChanged, WorkloadGone
from webhook.queue.model import Workload
from webhook.queue.report import SILENT, Reporter
from webhook.queue.rules import Rules
from webhook.queue.state import State

FINISH: Final = 0
ARRIVE: Final = 1
WAKE: Final = 2
GIVES_UP_AFTER: Final = 32 * 24 * 3_600_000
"""After so long without an arrival or an end (milliseconds; a month), the run gives up on what still waits."""
BACK_OFF: Final = 60_000
"""The back-off of a workload preempted twice at one time, or evicted by a rule (milliseconds): ends endless loops."""
UNLIMITED: Final = 1 << 60


class Witness:
    """Called for each event; does nothing. Override the methods you need. `now` is in milliseconds."""

    __slots__ = ()

    def arrived(self, key: str, now: int) -> None:
        """Called when a workload arrives and waits."""

    def admitted(self, decision: Admitted, now: int) -> None:
        """Called when a workload starts."""

    def evicted(self, key: str, now: int) -> None:
        """Called when a running workload is evicted and waits again."""

    def finished(self, key: str, now: int) -> None:
        """Called when a workload has finished."""

    def settled(self, now: int, *, moved: bool) -> None:
        """Called when nothing is left to decide at a time; `moved`: something happened at that time."""


NOBODY: Final = Witness()


class VirtualTime:
    """A state and its future events. `left` is how many heads may still be looked at; at 0 or less the run stops.

    `calls` counts the calls of the core so far.
    """

    def __init__(
        self,
        state: State,
        rules: Rules,
        witness: Witness = NOBODY,
        reporter: Reporter = SILENT,
        budget: int = UNLIMITED,
    ) -> None:
        self.state, self.rules, self.witness, self.reporter = state, rules, witness, reporter
        self.left, self.calls, self.now = budget, 0, 0
        self._events: list[tuple[int, int, int, str]] = []
        self._arriving: dict[str, Callable[[], Workload]] = {}
        self._runs: dict[str, int] = {}
        self._stopped: set[str] = set()
        self._tick = 0
        self._moved = self._progress = self._woken = -1

    def arrive(self, at: int, key: str, workload: Callable[[], Workload]) -> None:
        """Schedule an arrival; the workload is made then. Arrivals of one time come in the order of the calls."""
        self._arriving[key] = workload
        self._happen(at, ARRIVE, key)

    def run(self, key: str, until: int) -> None:
        """Schedule the end of a workload that holds quota."""
        self._runs[key] = self._happen(until, FINISH, key)

    def evict(self, key: str, reason: str = "", requeue_at: int = 0) -> None:
        """Evict a workload that holds quota now; the reason may say that it waits as of now."""
        self._runs.pop(key, None)
        if key in self._stopped:
            requeue_at = max(requeue_at, self.now + BACK_OFF)
        self._stopped.add(key)
        self.state.evict(key, reason, self.now, requeue_at)
        self.witness.evicted(key, self.now)

    def settle(self, now: int) -> None:
        """Advance to a time, and decide until nothing more changes at it."""
        self.now, self._stopped = now, set()
        if self._progress < 0:
            self._progress = now
        while self.left > 0:
            self.calls += 1
            made = decide(self.state, self.rules, now, self.reporter, None if self.left == UNLIMITED else self.left)
            if self.left != UNLIMITED:
                self.left -= 1 + len(made.admitted) + len(made.waiting)
            if not self._take(made) and made.complete:
                self._wake(made.next_at)
                break
        self.witness.settled(now, moved=self._moved == now)

    def go_on(self) -> bool:
        """Advance to the next event and decide. Return False if none is left or the budget is used up."""
        if not self._events or self.left <= 0:
            return False
        self.now = self._events[0][0]
        while self._events and self._events[0][0] == self.now:
            self._meet(*heappop(self._events)[1:])
        self.settle(self.now)
        return True

    def _happen(self, at: int, what: int, key: str) -> int:
        self._tick += 1
        heappush(self._events, (at, what, self._tick, key))
        return self._tick

    def _meet(self, what: int, tick: int, key: str) -> None:
        if what == ARRIVE:
            self._moved = self._progress = self.now
            self.state.apply(WorkloadChanged(self._arriving.pop(key)()))
            self.witness.arrived(key, self.now)
        elif what == FINISH and self._runs.get(key) == tick:
            self._moved = self._progress = self.now
            del self._runs[key]
            self.state.apply(WorkloadGone(key))
            self.witness.finished(key, self.now)

    def _take(self, made: Decisions) -> bool:
        """Carry out decisions. Return whether any workload released its quota."""
        if made.admitted or made.preempted or made.evicted:
            self._moved = self.now
        for decision in made.admitted:
            run_time = self.state.entries[decision.workload].workload.run_time
            if run_time is not None:
                self.run(decision.workload, self.now + run_time)
            self.witness.admitted(decision, self.now)
        for preempted in made.preempted:
            self.evict(preempted.workload, preempted.reason)
        for evicted in made.evicted:
            self.evict(evicted.workload, evicted.reason, max(evicted.requeue_at, self.now + BACK_OFF))
        return bool(made.preempted or made.evicted)

    def _wake(self, at: int | None) -> None:
        """Advance to a time at which the rules may decide differently though nothing happens."""
        if at is not None and at != self._woken and self.now < at <= self._progress + GIVES_UP_AFTER:
            self._woken = at
            self._happen(at, WAKE, "")
