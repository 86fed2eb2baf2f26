"""What a head that was not admitted waits for: a change of the amounts it failed on, or the end of its victims."""

from __future__ import annotations

from webhook.queue.cycle.nominate import Nomination
from webhook.queue.pending.queue import EquivalenceClass
from webhook.queue.rules import HeadOutcome, Mode, Rules

WAITS_FOR_CHANGE = frozenset(
    {
        HeadOutcome.NO_FIT,
        HeadOutcome.NO_CANDIDATES,
        HeadOutcome.MISCONFIGURED,
        HeadOutcome.NAMESPACE_MISMATCH,
        HeadOutcome.SUSPENDED,
        HeadOutcome.DENIED,
    }
)
WAITS_FOR_VICTIMS = frozenset({HeadOutcome.PREEMPTING, HeadOutcome.DEFERRED})


def watch(equivalence: EquivalenceClass, nomination: Nomination | None, rules: Rules) -> None:
    """Record what must change before a class is looked at again."""
    equivalence.preempts = equivalence.reclaims = equivalence.barred = equivalence.volatile = False
    equivalence.watch = ()
    if nomination is None:
        return
    assignment, base = nomination.assignment, nomination.pending_queue.node.base
    equivalence.preempts, equivalence.reclaims = nomination.searched, nomination.reclaimed
    fair = rules.fair and nomination.searched
    unsure = nomination.continued or assignment.mode >= Mode.PREEMPT or len(assignment.lacks) > 8
    # If pod sets compete for one flavor, any change may move one of them to another flavor.
    crowded = any(lack.beside for lack in assignment.lacks)
    equivalence.volatile = fair or unsure or crowded or bool(equivalence.plan.shrinks)
    numbers, freed = [], nomination.freed or {}
    for lack in assignment.lacks:
        if lack.column < 0 or lack.asked > lack.most:
            continue
        equivalence.barred |= lack.mode == Mode.NO_FIT
        best = max(lack.free, freed.get(lack.column, lack.free))
        numbers.append((base + lack.column, lack.free + max(1, lack.asked - best)))
    equivalence.watch = tuple(numbers)
