"""`plan`: the objects of a cluster and rules in, decisions out. The queue core decides; nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from webhook.queue import explain
from webhook.queue.cycle.until_stable import decide_until_stable
from webhook.queue.decisions import Admitted, Evicted, Pending, Preempted
from webhook.queue.model import Snapshot
from webhook.queue.rules import Rules
from webhook.queue.state import State


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """What was decided over `cycles` cycles or rounds. `stable`: one more would change nothing.

    `pending` is how things stand at the end; the other three are all that was decided on the way, in order.
    """

    admitted: tuple[Admitted, ...]
    preempted: tuple[Preempted, ...]
    evicted: tuple[Evicted, ...]
    pending: tuple[Pending, ...]
    cycles: int
    stable: bool


def make_plan(
    snapshot: Snapshot, rules: Rules, now: int, cycles: int | None = None, watch: Callable[[int], None] | None = None
) -> QueuePlan:
    """Decide at the time `now`, in milliseconds: for so many of Kueue's cycles, or in rounds until nothing changes.

    Between two decisions the preempted give their quota back and wait again, as they would in a cluster. `watch` hears
    the number of each.
    """
    return plan_of(State.from_snapshot(snapshot), rules, now, cycles, watch)


def plan_of(
    state: State, rules: Rules, now: int, cycles: int | None = None, watch: Callable[[int], None] | None = None
) -> QueuePlan:
    """Do the same on a state, which is left as it stands at the end."""
    taken, stable = decide_until_stable(state, rules, now, cycles, watch)
    return QueuePlan(
        tuple(a for d in taken for a in d.admitted),
        tuple(p for d in taken for p in d.preempted),
        tuple(e for d in taken for e in d.evicted),
        tuple(explain.pending(state)),
        len(taken),
        stable,
    )
