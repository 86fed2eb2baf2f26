"""Replays a journal: the same facts, events and times through the core, compared with the recorded decisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from webhook.journal.records import Begin, Decided, Record, decided
from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import Admitted, Evicted, Preempted
from webhook.queue.memory import remember
from webhook.queue.rules import Rules
from webhook.queue.state import State

_PARTS: Final = ("admitted", "preempted", "evicted", "ready")


@dataclass(frozen=True, slots=True)
class Replayed:
    """One call of the core: the recorded decisions, the replayed ones, and the state after it."""

    then: Decided
    now: Decided
    state: State

    @property
    def same(self) -> bool:
        """Whether both made the same decisions, in any order of the cohort trees."""
        return in_order(self.then) == in_order(self.now)


def in_order(made: Decided) -> Decided:
    """Return decisions sorted by workload."""
    parts = {name: tuple(sorted(getattr(made, name), key=_by_workload)) for name in _PARTS}
    return Decided(made.now, **parts)


def _by_workload(decision: Admitted | Preempted | Evicted) -> str:
    return decision.workload


def replay(records: Iterable[Record], rules: Rules) -> Iterator[Replayed]:
    """Replay the records of one file. All steps share one state, which changes as the replay proceeds."""
    state, budget = State(), 0
    for record in records:
        match record:
            case Begin():
                state, budget = state_at(record, rules), record.budget
            case Decided():
                yield Replayed(record, decided(record.now, decide(state, rules, record.now, budget=budget)), state)
            case _:
                state.apply(record)


def until(records: Iterable[Record], at: int) -> Iterator[Record]:
    """Yield the records up to the last call at or before a time, in milliseconds."""
    waiting: list[Record] = []
    for record in records:
        waiting.append(record)
        if isinstance(record, Decided):
            if record.now > at:
                return
            yield from waiting
            waiting = []


def state_at(begin: Begin, rules: Rules) -> State:
    """Build the state at the start of a file."""
    state = State.from_snapshot(begin.snapshot)
    state.bind(rules, begin.memory.now)
    remember(state, begin.memory)
    return state
