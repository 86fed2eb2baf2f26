"""What the cycles of a round share: a round is cycles over one tree until nothing moves.

Between two cycles of a round nobody gives quota back, so what cannot have changed is not searched for again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from webhook.queue.cycle.nominate import Nomination
from webhook.queue.cycle.reservation import Reservation
from webhook.queue.decisions import Admitted, Evicted, FailedRule, Preempted
from webhook.queue.pending.queue import Entry
from webhook.queue.quota.tree import Tree
from webhook.queue.report import Reporter
from webhook.queue.rules import Rules
from webhook.queue.state import State


@dataclass(slots=True)
class Log:
    """What a call decided so far; `waits` are the heads that were looked at and not admitted."""

    admitted: list[Admitted] = field(default_factory=list)
    preempted: list[Preempted] = field(default_factory=list)
    evicted: list[Evicted] = field(default_factory=list)
    ready: list[Admitted] = field(default_factory=list)
    failed: list[FailedRule] = field(default_factory=list)
    waits: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Round:
    """A round over one tree. `cycle` numbers its cycles on, over all trees and calls alike; `counted`: one by one.

    `waiting` are nominations that stand over: of preemptors, and of heads that nobody passes. `kept` is what heads
    hold that made way for those behind them (a QueuePolicy's `reserve` with `for: UntilAdmitted`). `moved`: in this
    cycle somebody was admitted, named victims or was parked, so that another cycle may decide something else;
    `searches_on`: some head has other flavors left to try. `searched`: it has tried them long enough, and nothing
    moved: two pod sets may lead each other from flavor to flavor for ever.
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
    kept: list[Reservation] = field(default_factory=list)
    moved: bool = False
    searches_on: bool = False
    searched: bool = False
