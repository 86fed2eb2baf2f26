"""A state that lives on in virtual time: admitted work runs for its run time, evicted work waits again.

The clock goes from event to event, and events of one time are taken in a fixed order, so the same state, rules and
arrivals always give the same. Simulations and forecasts are made of it; the state that is handed in is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final

from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import Admitted, Decisions
from webhook.queue.events import WorkloadChanged, WorkloadEvicted, WorkloadGone
from webhook.queue.model import Workload
from webhook.queue.report import SILENT, Reporter
from webhook.queue.rules import Rules
from webhook.queue.state import State

FINISH: Final = 0
ARRIVE: Final = 1
WAKE: Final = 2
PATIENCE: Final = 32 * 24 * 3_600_000
"""After so long in which nothing came or finished (milliseconds; a month), what waits for a time never starts."""
BACK_OFF: Final = 60_000
"""What is preempted twice at one time, or evicted by a rule, waits so long (milliseconds): else it might never end."""
UNLIMITED: Final = 1 << 60


class Witness:
    """Hears what happens, and does nothing; override what you need. `now` is in milliseconds."""

    __slots__ = ()

    def arrived(self, key: str, now: int) -> None:
        """Hear that a workload waits from now on."""

    def admitted(self, decision: Admitted, now: int) -> None:
        """Hear that a workload starts."""

    def evicted(self, key: str, now: int) -> None:
        """Hear that a workload that ran gave its quota back, and waits again."""

    def finished(self, key: str, now: int) -> None:
        """Hear that a workload has run its time."""

    def settled(self, now: int, *, moved: bool) -> None:
        """Hear that nothing is left to decide at a time; `moved`: something happened at it."""


NOBODY: Final = Witness()


class VirtualTime:
    """A state and what is about to happen to it. `left` bounds the heads looked at; at 0 or less nothing goes on.

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
        """Let a workload of this key come at a time; it is made then. Of one time the first to be told comes first."""
        self._arriving[key] = workload
        self._happen(at, ARRIVE, key)

    def run(self, key: str, until: int) -> None:
        """Let a workload that holds quota finish at a time."""
        self._runs[key] = self._happen(until, FINISH, key)

    def evict(self, key: str, requeue_at: int = 0) -> None:
        """Let a workload that holds quota stop now; it keeps the age that it was created with."""
        self._runs.pop(key, None)
        if key in self._stopped:
            requeue_at = max(requeue_at, self.now + BACK_OFF)
        self._stopped.add(key)
        self.state.apply(WorkloadEvicted(key, self.state.entries[key].workload.created, requeue_at))
        self.witness.evicted(key, self.now)

    def settle(self, now: int) -> None:
        """Go on to a time, and decide until nothing more changes at it."""
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
        """Go on to the next event and decide; False where none is left, or nothing may be looked at any more."""
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
        """Let what was decided happen; say whether something gave its quota back."""
        if made.admitted or made.preempted or made.evicted:
            self._moved = self.now
        for decision in made.admitted:
            run_time = self.state.entries[decision.workload].workload.run_time
            if run_time is not None:
                self.run(decision.workload, self.now + run_time)
            self.witness.admitted(decision, self.now)
        for preempted in made.preempted:
            self.evict(preempted.workload)
        for evicted in made.evicted:
            self.evict(evicted.workload, max(evicted.requeue_at, self.now + BACK_OFF))
        return bool(made.preempted or made.evicted)

    def _wake(self, at: int | None) -> None:
        """Go on at a time at which the rules may decide otherwise though nothing happens."""
        if at is not None and at != self._woken and self.now < at <= self._progress + PATIENCE:
            self._woken = at
            self._happen(at, WAKE, "")
