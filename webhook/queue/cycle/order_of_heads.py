"""The order in which the heads of different queues are processed: by the rules' keys, or by fair-sharing tournament.

The keys are the rule `across` in `policies/queue/kueue/policy.yaml`; those of the tournament are `tournament` in
`policies/queue/kueue-fair/policy.yaml`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from webhook.queue.cycle.nominate import Nomination
from webhook.queue.quota.shares import Tournament
from webhook.queue.quota.tree import Tree, Usage
from webhook.queue.rules import Key, Placement, Rules, UsageFacts
from webhook.queue.workload_facts import tie


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Functions of the cycle that ordering calls.

    `failed` is called with a head that a rule failed on; the head drops out. `following` returns the nomination that
    takes the place of a placed head, or None. `known` returns the usage facts of a head's queue, user and namespace.
    """

    failed: Callable[[Nomination, Exception], None]
    following: Callable[[Nomination], Nomination | None]
    known: Callable[[Nomination], UsageFacts]


def ordered(
    nominations: Sequence[Nomination], rules: Rules, tree: Tree, usage: Usage, cycle: Callbacks
) -> Iterable[Nomination]:
    """Return the heads of one tree in the order of the rules; ties go to the earlier workload.

    `usage` is that of the cycle and changes as heads are placed. A tournament reads it before each head, and enters the
    next head of a queue whose head was placed, so that queues get their shares by weight.
    """
    if len(nominations) < 2:
        return nominations
    if rules.fair and not tree.root.is_queue:
        return _by_tournament(nominations, rules, tree, usage, cycle)
    ranked = []
    for n in nominations:
        try:
            keys = rules.across(n.entry.workload, n.pending_queue.queue, _placement(n), cycle.known(n))
            ranked.append((keys, tie(n.entry.workload), n))
        except rules.failures as error:
            cycle.failed(n, error)
    ranked.sort(key=_rank)
    return [n for _, _, n in ranked]


def _by_tournament(
    nominations: Sequence[Nomination], rules: Rules, tree: Tree, usage: Usage, cycle: Callbacks
) -> Iterable[Nomination]:
    by_node = {n.pending_queue.node: n for n in nominations}
    tournament, seen = Tournament(rules), usage.copy()
    for node, n in by_node.items():
        tournament.enter(node, n.entry.workload, n.assignment.amounts(), cycle.known(n))
    while tournament.heads:
        stale = seen != usage
        if stale:
            seen = usage.copy()
        try:
            winner = tournament.pop(tree.root, usage, stale)
        except rules.failures as error:
            # Without this share no remaining head can be compared, so all of them wait.
            for node in tournament.heads:
                cycle.failed(by_node[node], error)
            return
        yield by_node[winner]
        if (nomination := cycle.following(by_node[winner])) is not None:
            by_node[winner] = nomination
            tournament.enter(
                winner, nomination.entry.workload, nomination.assignment.amounts(), cycle.known(nomination)
            )


def _rank(ranked: tuple[Key, tuple[int, str, str], Nomination]) -> tuple[Key, tuple[int, str, str]]:
    return ranked[:2]


def _placement(nomination: Nomination) -> Placement:
    return Placement(nomination.assignment.mode, nomination.assignment.borrow)
