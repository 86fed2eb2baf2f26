"""The state shared by the cycles of one round: a round repeats cycles over one tree until nothing moves.

No quota is released between two cycles of a round, so results that cannot have changed are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from webhook.queue.cycle.nominate import Nomination
from webhook.queue.cycle.reservation import Reservation
from webhook.queue.decisions import Admitted, Evicted, FailedRule, Preempted
from webhook.queue.pending.queue import Entry, HeadVerdict, PendingQueue
from webhook.queue.quota.tree import Tree
from webhook.queue.report import Reporter
from webhook.queue.rules import Rules
from webhook.queue.state import State


@dataclass(slots=True)
class Log:
    """The decisions of one call so far; `waits` are heads that were looked at and not admitted."""

    admitted: list[Admitted] = field(default_factory=list)
    preempted: list[Preempted] = field(default_factory=list)
    evicted: list[Evicted] = field(default_factory=list)
    ready: list[Admitted] = field(default_factory=list)
    failed: list[FailedRule] = field(default_factory=list)
    waits: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Round:
    """A round over one tree. `cycle` numbers cycles over all trees and calls; `counted`: they are counted as in Kueue.

    `waiting` are nominations kept for later cycles: of preemptors, and of heads that block their queue. `kept` are
    reservations of heads that let others pass (a QueuePolicy's `reserve` with `for: UntilAdmitted`). `passed` are those
    that an earlier call of the same round looked at, with the verdicts that they got. `moved`: a head
    of this cycle was admitted, named victims or was parked, so another cycle may decide differently.
    `nominations` and `tries` are those of a cycle that an earlier call began, until this call begins its first one.
    `searches_on`: some head has flavors left to try. `searched`: heads have searched long enough without any move (two
    pod sets can send each other from flavor to flavor forever).
    """

    state: State
    rules: Rules
    tree: Tree
    now: int
    reporter: Reporter
    log: Log
    cycle: int
    counted: bool = False
    waiting: dict[Entry, Nomination] = field(default_factory=dict)
    kept: dict[Entry, Reservation] = field(default_factory=dict)
    passed: dict[Entry, HeadVerdict | None] = field(default_factory=dict)
    nominations: dict[Entry, Nomination] = field(default_factory=dict)
    tries: int = 0
    moved: bool = False
    searches_on: bool = False
    searched: bool = False

    def head(self, pending_queue: PendingQueue) -> Entry | None:
        """Return the first active entry of a queue that was not looked at in this round, or None."""
        while (entry := pending_queue.head()) is not None and entry in self.passed:
            if self.passed.pop(entry) is not entry.verdict:
                return entry
            pending_queue.set_aside(entry)
        return entry
