"""`decide`, the entry point of the core: rounds over the cohort trees in which something changed.

A round repeats Kueue's scheduling cycle until nothing moves. The state is updated; the decisions say what changed.
"""

from __future__ import annotations

from dataclasses import replace

from webhook.queue.cycle.evictions import evict, schedule_evictions
from webhook.queue.cycle.one_cycle import MAX_CALLS, TreeCycle
from webhook.queue.cycle.ready_checks import admit_ready
from webhook.queue.cycle.round import Log, Round
from webhook.queue.decisions import Decisions
from webhook.queue.pending.queue import Entry, PendingQueue, Status
from webhook.queue.pending.reorder import follow_usage
from webhook.queue.pending.unfinished_cycle import Suspended, signature_of
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

    `budget` bounds the heads looked at (100 possible victims count as one head); when it runs out, `complete` is False
    and the next call continues. `cycles` bounds the cycles of each tree, as Kueue counts them: a cycle that can only
    repeat a known result counts too. Admitted workloads hold their quota in the state from now on; preempted workloads
    keep theirs until an event says that they released it.
    """
    state.bind(rules, now)
    state.awake(now, all_retried=cycles is not None)
    log = Log()
    due, state.due = state.due, {}
    evict(state, due, log)
    admit_ready(state, due, log)
    left = UNLIMITED if budget is None else budget
    first = last = state.cycle
    for tree in _trees(state, counted=cycles is not None):
        if left <= 0:
            break
        state.changed_trees[tree] = None
        current = Round(state, rules, tree, now, reporter, log, first, cycles is not None)
        left = _run(current, left, UNLIMITED if cycles is None else cycles)
        last = max(last, current.cycle)
    state.cycle = last
    schedule_evictions(state, log)
    if cycles is not None:
        state.retry_by_status.retry(state.by_tree, state.changes)
    return Decisions(
        tuple(log.admitted),
        tuple(log.preempted),
        tuple(log.evicted),
        tuple(log.ready),
        tuple(log.waits),
        left > 0,
        _next_at(state),
        tuple(log.failed),
    )


def _next_at(state: State) -> int | None:
    """Return the next time (milliseconds) to decide at even if nothing changes; None if there is none."""

    def is_to_go(at: int, key: str) -> bool:
        entry = state.entries.get(key)
        if entry is None or entry.victim is None or entry.victim.evicted:
            return False
        return entry.status == Status.HOLDING and entry.evict_at == at

    times = [state.backoff.next(state.backs_off), state.evictions.next(is_to_go)]
    times += state.timing.times(state.accounting, state.by_queue.values(), denied=bool(state.changes.denied))
    return min((at for at in times if at is not None), default=None)


def _trees(state: State, *, counted: bool) -> list[Tree]:
    """Return the trees to decide in: where something changed, or all where cycles are counted."""
    if counted:
        return state.trees
    return [t for t in state.trees if t in state.ready] if len(state.ready) > 1 else list(state.ready)


def _run(current: Round, left: int, most: int) -> int:
    """Run up to `most` cycles, or until `left` heads were looked at. Return how many heads may still be looked at."""
    queues, last, goes_on = current.state.by_tree[current.tree], current.cycle + most, True
    searches = tries = len(current.tree.columns) + 1
    restarts, spent = _resumed(current), 0
    most_heads = left if restarts < MAX_CALLS else UNLIMITED
    while goes_on and spent < most_heads and current.cycle < last:
        heads = _heads(current, queues)
        queues = [pending_queue for pending_queue, _ in heads]
        if goes_on := bool(heads):
            current.cycle += 1
            current.moved, current.searches_on, current.searched = False, False, searches <= 0
            current.reporter.cycle(current.cycle, len(heads))
            spent += TreeCycle(current).run(heads, most_heads - spent)
            searches = tries if current.moved else searches - 1
            goes_on = current.tree in current.state.suspended or current.moved or current.searches_on
    passed = [e for pending_queue in current.state.by_tree[current.tree] for e in pending_queue.take_aside()]
    for entry in passed:
        current.state.push(entry)
    if not goes_on:
        current.state.ready.pop(current.tree, None)
    elif spent >= most_heads:
        _suspend(current, passed, restarts)
    return left - spent


def _resumed(current: Round) -> int:
    """Go on with a round that an earlier call left. Return how often such a round had to begin again."""
    before = current.state.suspended.pop(current.tree, None)
    if before is None:
        return 0
    current.tries = before.tries
    if before.signature != signature_of(current.state.by_tree[current.tree]):
        return before.restarts + 1 if before.passed else 0
    current.nominations, current.passed = before.nominations, dict(before.passed)
    for entry, (verdict, held) in before.kept.items():
        if entry.status == Status.WAITING and entry.verdict is verdict:
            current.kept[entry] = held
    return before.restarts


def _suspend(current: Round, passed: list[Entry], restarts: int) -> None:
    """Leave a round to the next call, with the heads that let others pass: they would use up its budget too."""
    if not passed and not current.passed:
        return
    state, tree = current.state, current.tree
    before = state.suspended.get(tree) or Suspended({}, signature_of(state.by_tree[tree]))
    kept = {entry: (entry.verdict, held) for entry, held in current.kept.items()}
    seen = {**current.passed, **{entry: entry.verdict for entry in passed}}
    state.suspended[tree] = replace(before, passed=seen, kept=kept, restarts=restarts)


def _heads(current: Round, queues: list[PendingQueue]) -> list[tuple[PendingQueue, Entry]]:
    follow_usage(current.state)
    return [(pending_queue, entry) for pending_queue in queues if (entry := current.head(pending_queue)) is not None]
