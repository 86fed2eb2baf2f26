"""What becomes of a head that was not admitted: it stays in front, makes way, or is parked until something changes."""

from __future__ import annotations

from dataclasses import replace

from webhook.queue.cycle.nominate import Nomination
from webhook.queue.cycle.parking import WAITS_FOR_CHANGE, WAITS_FOR_VICTIMS, watch
from webhook.queue.cycle.round import Round
from webhook.queue.decisions import PendingPlace, Reason
from webhook.queue.pending.queue import Entry, HeadVerdict, PendingQueue
from webhook.queue.rules import HeadOutcome
from webhook.queue.state import State


def leave(
    this: Round,
    entry: Entry,
    pending_queue: PendingQueue,
    verdict: HeadVerdict,
    nomination: Nomination | None = None,
    *,
    parks: bool | None = None,
) -> None:
    """Leave a head unplaced. Parked, its whole class is; who stays active is the first to be looked at again.

    `parks` is what the rules say of it, where they were asked already.
    """
    equivalence, outcome, rules = entry.equivalence, verdict.outcome, this.rules
    assert equivalence is not None
    if parks is None:
        parks = rules.park(entry.workload, pending_queue.queue, outcome.value)
    verdict.stuck = not parks and rules.strict(entry.workload, pending_queue.queue)
    # An inactive queue is not looked at, so what waits in it is not parked either.
    verdict.place = PendingPlace.INADMISSIBLE if parks and outcome != HeadOutcome.SUSPENDED else PendingPlace.ACTIVE
    entry.verdict = verdict
    this.log.waits[entry.key] = None
    _keep_place(this, entry, pending_queue, outcome)
    if outcome not in WAITS_FOR_CHANGE:
        return
    equivalence.verdict = verdict
    if parks:
        watch(equivalence, nomination, rules)
        pending_queue.block(equivalence)
        this.moved = True
    elif verdict.stuck:
        if nomination is not None:
            this.waiting[entry] = nomination
    else:
        pending_queue.set_aside(entry)
        this.moved = True
    this.state.left(equivalence)


def _keep_place(this: Round, entry: Entry, pending_queue: PendingQueue, outcome: HeadOutcome) -> None:
    """Let who waits for victims come first in its queue, until it is admitted, found not to fit, or deleted.

    Where cycles are counted, what was found not to fit stays first, until another one of its queue waits for victims.
    """
    if entry.workload.first:
        if outcome in WAITS_FOR_CHANGE and outcome != HeadOutcome.SUSPENDED and not this.counted:
            this.state.put_first(entry, False)
    elif outcome in WAITS_FOR_VICTIMS:
        if this.counted:
            _follow(this.state, pending_queue)
        this.state.put_first(entry, True)


def _follow(state: State, pending_queue: PendingQueue) -> None:
    """Take its place from whichever entry of a queue was first; that alone wakes no class that is parked."""
    waiting = (entry for each in pending_queue.classes.values() for entry in each.members.values())
    for entry in [entry for entry in waiting if entry.workload.first]:
        entry.workload = replace(entry.workload, first=False)
        entry.rank = state.rank(entry)
        state.move(entry)


def set_apart(this: Round, entry: Entry, message: str) -> None:
    """Park a head alone that a rule failed on: others that ask the same may do better."""
    verdict = HeadVerdict(Reason.RULE_FAILED, HeadOutcome.RULE_FAILED, message, None, PendingPlace.INADMISSIBLE)
    this.state.set_apart(entry, verdict)
    this.log.waits[entry.key] = None
    this.moved = True
