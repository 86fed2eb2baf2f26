"""`decide`: rounds over the trees where something changed. A round is Kueue's cycle, repeated until nothing moves.

The state is changed by what was decided; the decisions say how.
"""

from __future__ import annotations

from webhook.queue.cycle.checks_and_evictions import set_alarms, settle
from webhook.queue.cycle.one_cycle import TreeCycle
from webhook.queue.cycle.round import Log, Round
from webhook.queue.decisions import Decisions
from webhook.queue.pending.queue import Entry, PendingQueue
from webhook.queue.pending.reorder import follow_usage
from webhook.queue.quota.tree import Tree
from webhook.queue.report import SILENT, Reporter
from webhook.queue.rules import Rules
from webhook.queue.state import State

UNLIMITED = 1 << 60


def decide(
    state: State,
    rules: Rules,
    now: int,
    reporter: Reporter = SILENT,
    budget: int | None = None,
    cycles: int | None = None,
) -> Decisions:
    """Decide for all queues of a state at a time (milliseconds).

    `budget` bounds the heads looked at, a hundred possible victims counting as one; where it runs out, `complete` is
    False, and the next call goes on. `cycles` bounds the cycles of each tree; who counts cycles counts turns, so even a
    look that can only repeat what is known takes one. Admitted work holds its quota in the state from now on; preempted
    work does until an event says that it gave it back.
    """
    state.bind(rules, now)
    state.awake(now, all_retried=cycles is not None)
    log = Log()
    settle(state, log)
    left = UNLIMITED if budget is None else budget
    first = last = state.cycle
    for tree in _trees(state, counted=cycles is not None):
        if left <= 0:
            break
        state.stirred[tree] = None
        this = Round(state, rules, tree, now, reporter, log, first, cycles is not None)
        left = _run(this, left, UNLIMITED if cycles is None else cycles)
        last = max(last, this.cycle)
    state.cycle = last
    set_alarms(state, log)
    if cycles is not None:
        state.cohort_retry.retry(state.by_tree, state.changes)
    return Decisions(
        tuple(log.admitted),
        tuple(log.preempted),
        tuple(log.evicted),
        tuple(log.ready),
        tuple(log.waits),
        left > 0,
        state.next_at(),
        tuple(log.failed),
    )


def _trees(state: State, *, counted: bool) -> list[Tree]:
    """Give the trees to decide in: where something changed, or all where cycles are counted."""
    if counted:
        return state.trees
    return [t for t in state.trees if t in state.ready] if len(state.ready) > 1 else list(state.ready)


def _run(this: Round, left: int, most: int) -> int:
    """Do up to `most` cycles, and end when `left` heads were looked at; give how many are left."""
    queues, last, goes_on = this.state.by_tree[this.tree], this.cycle + most, True
    searches = tries = len(this.tree.columns) + 1
    while goes_on and left > 0 and this.cycle < last:
        heads = _heads(this, queues)
        queues = [pending_queue for pending_queue, _ in heads]
        if goes_on := bool(heads):
            this.cycle += 1
            this.moved, this.searches_on, this.searched = False, False, searches <= 0
            this.reporter.cycle(this.cycle, len(heads))
            left -= TreeCycle(this).run(heads, left)
            searches = tries if this.moved else searches - 1
            goes_on = this.tree in this.state.suspended or this.moved or this.searches_on
    for pending_queue in this.state.by_tree[this.tree]:
        for entry in pending_queue.take_aside():
            this.state.push(entry)
    if not goes_on:
        this.state.ready.pop(this.tree, None)
    return left


def _heads(this: Round, queues: list[PendingQueue]) -> list[tuple[PendingQueue, Entry]]:
    follow_usage(this.state)
    return [(pending_queue, entry) for pending_queue in queues if (entry := pending_queue.head()) is not None]
