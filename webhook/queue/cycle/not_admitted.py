"""A head that was not admitted: it stays at the head, lets others pass, or is parked until something changes."""

from __future__ import annotations

from dataclasses import replace

from webhook.queue.cycle.nominate import Nomination
from webhook.queue.cycle.parking import WAITS_FOR_CHANGE, WAITS_FOR_VICTIMS, watch
from webhook.queue.cycle.round import Round
from webhook.queue.decisions import PendingPlace, Reason
from webhook.queue.pending.queue import Entry, HeadVerdict, PendingQueue
from webhook.queue.rules import HeadOutcome
from webhook.queue.state import State


def keep_waiting(
    current: Round,
    entry: Entry,
    pending_queue: PendingQueue,
    verdict: HeadVerdict,
    nomination: Nomination | None = None,
    *,
    parks: bool | None = None,
) -> None:
    """Leave a head waiting: park its whole class, or keep it active so that it is looked at again first.

    `parks` is the answer of the `park` rule, if it was already asked.
    """
    equivalence, outcome, rules = entry.equivalence, verdict.outcome, current.rules
    assert equivalence is not None
    if parks is None:
        parks = rules.park(entry.workload, pending_queue.queue, outcome.value)
    verdict.stuck = not parks and rules.strict(entry.workload, pending_queue.queue)
    # An inactive queue is not looked at, so its workloads need not be parked.
    verdict.place = PendingPlace.INADMISSIBLE if parks and outcome != HeadOutcome.SUSPENDED else PendingPlace.ACTIVE
    entry.verdict = verdict
    current.log.waits[entry.key] = None
    _keep_place(current, entry, pending_queue, outcome)
    if outcome not in WAITS_FOR_CHANGE:
        return
    equivalence.verdict = verdict
    if parks:
        watch(equivalence, nomination, rules)
        pending_queue.park(equivalence)
        current.moved = True
    elif verdict.stuck:
        if nomination is not None:
            current.waiting[entry] = nomination
    else:
        pending_queue.set_aside(entry)
        current.moved = True
    current.state.note_waiting(equivalence)


def _keep_place(current: Round, entry: Entry, pending_queue: PendingQueue, outcome: HeadOutcome) -> None:
    """Put a head that waits for victims first in its queue, until it is admitted, found not to fit, or gone.

    Where cycles are counted (as in Kueue), it stays first until another workload of its queue waits for victims.
    """
    if entry.workload.first:
        if outcome in WAITS_FOR_CHANGE and outcome != HeadOutcome.SUSPENDED and not current.counted:
            current.state.put_first(entry, False)
    elif outcome in WAITS_FOR_VICTIMS:
        if current.counted:
            _follow(current.state, pending_queue)
        current.state.put_first(entry, True)


def _follow(state: State, pending_queue: PendingQueue) -> None:
    """Make no entry of a queue first any more. This wakes no parked class."""
    waiting = (entry for each in pending_queue.classes.values() for entry in each.members.values())
    for entry in [entry for entry in waiting if entry.workload.first]:
        entry.workload = replace(entry.workload, first=False)
        entry.rank = state.rank(entry)
        state.move(entry)


def park_alone(current: Round, entry: Entry, message: str) -> None:
    """Park a head that a rule failed on, without its class: the rule may succeed for the others."""
    verdict = HeadVerdict(Reason.RULE_FAILED, HeadOutcome.RULE_FAILED, message, None, PendingPlace.INADMISSIBLE)
    current.state.park_alone(entry, verdict)
    current.log.waits[entry.key] = None
    current.moved = True
