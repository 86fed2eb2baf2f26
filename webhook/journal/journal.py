"""Records the rounds of the queue core: the hooks that turn its events and decisions into journal records."""

from __future__ import annotations

from collections.abc import Callable

from webhook.journal.heading import Decider
from webhook.journal.records import Begin, decided
from webhook.journal.writer import JournalWriter
from webhook.queue.decisions import Decisions
from webhook.queue.events import Event
from webhook.queue.memory import memory_of
from webhook.queue.rules import Rules
from webhook.queue.state import State


class Journal:
    """Turns rounds into records; `decider` is asked when a file begins."""

    def __init__(self, writer: JournalWriter, decider: Callable[[], Decider], budget: int) -> None:
        self.writer, self._decider, self._budget = writer, decider, budget
        self._events: list[Event] = []
        """Changes since the last call of the core: the records of one call are written together."""

    def round(self, state: State, in_force: Rules, now: int) -> None:
        """Begin a file if one is due, before the core decides; not while a cycle is unfinished."""
        if self.writer.due(now) and not state.suspended:
            self._hand_over()
            state.bind(in_force, now)
            by, memory = self._decider(), memory_of(state)
            self.writer.begin(
                Begin(
                    at=now,
                    identity=by.identity,
                    epoch=by.epoch,
                    rules=by.rules.names,
                    parameters=by.rules.parameters,
                    settings=by.rules.settings,
                    digest=by.digest,
                    budget=self._budget,
                    snapshot=state.snapshot(),
                    memory=memory,
                    lease=by.lease,
                )
            )

    def event(self, event: Event) -> None:
        """Note an event."""
        self._events.append(event)

    def decided(self, now: int, made: Decisions) -> None:
        """Note a call of the core."""
        events, self._events = self._events, []
        self.writer.add(*events, decided(now, made))

    def end(self) -> None:
        """End the file, because another replica decides or the rules changed."""
        self._hand_over()
        self.writer.end()

    def _hand_over(self) -> None:
        events, self._events = self._events, []
        if events:
            self.writer.add(*events)
