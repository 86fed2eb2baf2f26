"""`decide`: heads of the queues are nominated, ordered among each other, and admitted, or preempt, or wait.

One round looks at one head of each queue; rounds go on until nothing more can be placed, or until the rules' number
of heads is reached. The state is changed by what was decided; the decisions say how.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from webhook.queue.cycle.checks_and_evictions import checks_ready, settle
from webhook.queue.cycle.nominate import Nomination, Nominator, refuse
from webhook.queue.cycle.order import ordered
from webhook.queue.decisions import Admitted, Decisions, Evicted, Pending, Place, Preempted, Reason
from webhook.queue.explain import describe
from webhook.queue.flavors.search import Assignment
from webhook.queue.model import Admission, PodSetAssignment
from webhook.queue.pending.parking import WAITS_FOR_CHANGE, WAITS_FOR_VICTIMS, watch
from webhook.queue.pending.queue import Entry, PendingQueue, Verdict
from webhook.queue.preemption.classic import Target, without
from webhook.queue.quota.tree import Tree, Usage
from webhook.queue.report import SILENT, Reporter
from webhook.queue.rules import Mode, Outcome, Rules
from webhook.queue.state import State

UNLIMITED = 1 << 60
NOT_PLACED = frozenset({Outcome.NO_FIT, Outcome.NO_CANDIDATES})


@dataclass(slots=True)
class Log:
    """What a call decided so far; `waits` are the heads that were looked at and not admitted."""

    admitted: list[Admitted] = field(default_factory=list)
    preempted: list[Preempted] = field(default_factory=list)
    evicted: list[Evicted] = field(default_factory=list)
    ready: list[Admitted] = field(default_factory=list)
    waits: dict[str, Entry] = field(default_factory=dict)


def decide(state: State, rules: Rules, now: int, reporter: Reporter = SILENT, budget: int | None = None) -> Decisions:
    """Decide for all queues of a state at a time (milliseconds).

    `budget` bounds the heads looked at; where it runs out, `complete` is False, and the next call goes on. Admitted
    work holds its quota in the state from now on; preempted work does until an event says that it gave it back.
    """
    state.bind(rules, now)
    state.awake(now)
    log = Log()
    settle(state, log.ready, log.evicted)
    left = UNLIMITED if budget is None else budget
    for tree in _trees(state):
        if left <= 0:
            break
        left = _Call(state, rules, tree, now, reporter, log).run(left)
    return Decisions(
        tuple(log.admitted),
        tuple(log.preempted),
        tuple(log.evicted),
        tuple(log.ready),
        _pending(state, log),
        left > 0,
        state.next_at(),
    )


def _trees(state: State) -> list[Tree]:
    wanted = {pending_queue.node.tree for pending_queue in state.ready}
    return [t for t in state.trees if t in wanted] if len(wanted) > 1 else list(wanted)


def _pending(state: State, log: Log) -> tuple[Pending, ...]:
    return tuple(describe(state, entry) for entry in log.waits.values())


class _Call:
    """Rounds over one tree.

    `base` is its usage with what preemptors reserved, `usage` that of the round with what other heads hold as well.
    Both still hold the victims, who are `gone` for whoever comes after.
    """

    __slots__ = ("base", "gone", "log", "now", "pending_queues", "reporter", "round", "rules", "state", "tree", "usage")

    def __init__(self, state: State, rules: Rules, tree: Tree, now: int, reporter: Reporter, log: Log) -> None:
        self.state, self.rules, self.tree, self.now, self.reporter, self.log = state, rules, tree, now, reporter, log
        self.pending_queues = [pending_queue for pending_queue in state.by_tree[tree] if pending_queue in state.ready]
        self.base: Usage = tree.usage.copy()
        self.usage: Usage = self.base
        self.gone: dict[str, Target] = {}
        self.round = 0

    def run(self, left: int) -> int:
        """Do rounds until nothing is active, or `left` heads were looked at; give how many are left."""
        limit = self.rules.heads or UNLIMITED
        pending_queues = self.pending_queues
        while left > 0 and self.round < limit:
            if self.rules.ordered_by_usage:
                self._reorder()
            heads = [
                (pending_queue, entry)
                for pending_queue in self.pending_queues
                if (entry := pending_queue.head()) is not None
            ]
            if not heads:
                break
            self.round += 1
            self.reporter.cycle(self.round, len(heads))
            left -= self._one_round(heads)
        for pending_queue in pending_queues:
            for entry in pending_queue.take_aside():
                self.state.push(entry)
            if pending_queue.head() is None:
                self.state.ready.pop(pending_queue, None)
        return left

    def _reorder(self) -> None:
        for pending_queue in self.pending_queues:
            if pending_queue.queue.admission_mode:
                for entry in pending_queue.waiting():
                    usage = self.state.histories.usage(entry, self.state)
                    try:
                        entry.rank = self.rules.order(entry.workload, pending_queue.queue, self.now, usage)
                    except self.rules.failures:
                        continue  # It keeps its place.
                pending_queue.reorder()

    def _without(self, targets: Iterable[Target] = ()) -> Usage:
        """Give the usage as it will be when all victims are gone."""
        away = [*self.gone.values(), *targets]
        return without(self.usage, away) if away else self.usage

    def _one_round(self, heads: Iterable[tuple[PendingQueue, Entry]]) -> int:
        """Nominate a head of each queue and process them in the rules' order; give how many were looked at."""
        self.usage = self.base
        nominator = Nominator(self.state, self._without(), self.gone)
        nominations, looked = [], 0
        for pending_queue, first in heads:
            entry: Entry | None = first
            while entry is not None:
                looked += 1
                nomination = None
                try:
                    nomination = self._look(nominator, entry, pending_queue)
                except self.rules.failures as error:
                    self._park_failed(entry, pending_queue, error)
                if nomination is not None:
                    nominations.append(nomination)
                    break
                entry = None if self.rules.heads else pending_queue.head()
        self.usage = self.base.copy()
        for nomination in ordered(nominations, self.rules, self.tree, self.usage, self._fail_rule):
            try:
                self._process(nomination)
            except self.rules.failures as error:
                self._park_failed(nomination.entry, nomination.pending_queue, error)
        return looked

    def _park_failed(self, entry: Entry, pending_queue: PendingQueue, error: Exception) -> None:
        """Park a head that a rule failed on, with which rule it was; no rule is asked about it any more."""
        message = self.rules.failed(error)
        self.state.set_apart(entry, Verdict(Reason.RULE_FAILED, Outcome.RULE_FAILED, message, None, Place.INADMISSIBLE))
        self.log.waits[entry.key] = entry

    def _fail_rule(self, nomination: Nomination, error: Exception) -> None:
        self._park_failed(nomination.entry, nomination.pending_queue, error)

    def _look(self, nominator: Nominator, entry: Entry, pending_queue: PendingQueue) -> Nomination | None:
        """Nominate a head; None where it is out of the contest already.

        Without a limit of heads, one that cannot be placed makes way for the next of its queue at once, and holds
        nothing: a state that was built anew, and looks at it again, must decide as one that parked it long ago.
        """
        if self._too_late(entry, pending_queue):
            return None
        self.reporter.considered(entry.key, pending_queue.queue.name)
        refusal = refuse(self.state, entry, pending_queue, self.now)
        if refusal is not None:
            self._wait(entry, pending_queue, Verdict(refusal.reason, refusal.outcome, refusal.message))
            return None
        nomination = nominator.nominate(entry, pending_queue)
        assignment = nomination.assignment
        placeable = assignment.mode == Mode.FIT or bool(nomination.targets)
        if placeable or self.rules.heads or self.rules.hold:
            return nomination
        if assignment.mode == Mode.NO_FIT:
            self._fail(nomination, Outcome.NO_FIT, assignment.reason)
        else:
            self._fail(nomination, Outcome.NO_CANDIDATES, Reason.WAITING_FOR_QUOTA, reserve=False)
        return None

    def _too_late(self, entry: Entry, pending_queue: PendingQueue) -> bool:
        """Set a woken class aside again, unseen, where the quota that spoke for it went to others meanwhile."""
        equivalence = entry.equivalence
        changes = self.state.changes
        if equivalence is None or equivalence.verdict is None or self.gone or equivalence not in changes.by_watch:
            return False
        if any(self.tree.available(at, self.usage) >= amount for at, amount in equivalence.watch):
            return False
        entry.verdict = equivalence.verdict
        pending_queue.block(equivalence, equivalence.verdict.place == Place.ACTIVE)
        changes.blocked(equivalence)
        return True

    def _process(self, nomination: Nomination) -> None:
        if any(t.entry.key in self.gone for t in nomination.targets):
            if not self.rules.recompute:
                self._fail(nomination, Outcome.OVERLAP, Reason.WAITING_FOR_QUOTA, "its victims go for another workload")
                return
            nomination = self._again(nomination)
            if nomination.assignment.mode == Mode.FIT:
                self._defer(nomination)
                return
        assignment, pending_queue = nomination.assignment, nomination.pending_queue
        if assignment.mode == Mode.NO_FIT:
            self._fail(nomination, Outcome.NO_FIT, assignment.reason)
        elif assignment.mode != Mode.FIT and not nomination.targets:
            self._fail(nomination, Outcome.NO_CANDIDATES, Reason.WAITING_FOR_QUOTA)
        elif not self.tree.fits(pending_queue.node, assignment.amounts(), self._without(nomination.targets)):
            message = "it no longer fits after another workload of this cycle"
            self._fail(nomination, Outcome.NO_LONGER_FITS, Reason.WAITING_FOR_QUOTA, message)
        elif nomination.targets:
            self._preempt(nomination)
        elif self.gone and not self.tree.fits(pending_queue.node, assignment.amounts(), self.tree.usage):
            self._defer(nomination)
        else:
            self._admit(nomination)

    def _again(self, nomination: Nomination) -> Nomination:
        """Look for victims again as if those of this cycle were gone, on the flavors nominated before."""
        keep = {
            (plan.name, group.index): choice.flavor
            for plan, _, chosen in nomination.assignment.pod_sets
            for group in plan.groups
            for choice, _ in chosen.values()
            if choice in group.choices
        }
        nominator = Nominator(self.state, self._without(), self.gone)
        return nominator.nominate(nomination.entry, nomination.pending_queue, keep)

    def _admit(self, nomination: Nomination) -> None:
        entry, pending_queue, assignment = nomination.entry, nomination.pending_queue, nomination.assignment
        pod_sets = _assigned(assignment)
        ready = checks_ready(entry.workload, pending_queue.queue, pod_sets)
        self.state.hold(entry, pending_queue, Admission(pending_queue.queue.name, pod_sets, self.now), ready)
        self.state.histories.charge(entry, self.state)
        self._use(nomination)
        entry.verdict = None
        self.log.waits.pop(entry.key, None)
        decision = Admitted(entry.key, pending_queue.queue.name, pod_sets, ready, assignment.borrow > 0)
        self.log.admitted.append(decision)
        self.reporter.admitted(decision)

    def _use(self, nomination: Nomination) -> None:
        amounts, node = nomination.assignment.amounts(), nomination.pending_queue.node
        self.tree.add(node, amounts, self.usage)
        self.tree.add(node, amounts, self.base)

    def _preempt(self, nomination: Nomination) -> None:
        entry = nomination.entry
        for target in nomination.targets:
            self.gone[target.entry.key] = target
            victim = target.entry.victim
            assert victim is not None
            if not victim.evicted:
                victim.evicted = True
                target.entry.preemptor = entry.key
                decision = Preempted(target.entry.key, target.pending_queue.queue.name, target.why, entry.key)
                self.log.preempted.append(decision)
                self.reporter.preempted(decision)
        self._use(nomination)
        message = f"waits for {len(nomination.targets)} workload(s) to give their quota back"
        self._fail(nomination, Outcome.PREEMPTING, Reason.WAITING_FOR_PREEMPTED, message)

    def _defer(self, nomination: Nomination) -> None:
        """Let a head wait for victims of others: when they are gone, it fits without any of its own."""
        assignment = nomination.assignment
        if not self.tree.fits(nomination.pending_queue.node, assignment.amounts(), self._without()):
            message = "it no longer fits after another workload of this cycle"
            self._fail(nomination, Outcome.NO_LONGER_FITS, Reason.WAITING_FOR_QUOTA, message)
            return
        self._use(nomination)
        message = "waits for workloads that were preempted already"
        self._fail(nomination, Outcome.DEFERRED, Reason.WAITING_FOR_PREEMPTED, message)

    def _fail(
        self, nomination: Nomination, outcome: Outcome, reason: Reason, message: str = "", reserve: bool = True
    ) -> None:
        entry, pending_queue, assignment = nomination.entry, nomination.pending_queue, nomination.assignment
        if reserve and self.rules.reserves(entry.workload, pending_queue.queue, outcome.value):
            self._reserve(nomination)
        entry.tried, left = assignment.tried if outcome in NOT_PLACED else {}, False
        if entry.tried:
            entry.tries += 1
            left = entry.tries <= sum(len(g.choices) for p in entry.plan().pod_sets for g in p.groups)
        if left:
            outcome = Outcome.FLAVORS_LEFT
        else:
            nomination.continued = entry.tries > 0
            entry.tried, entry.tries = {}, 0
        self._wait(entry, pending_queue, Verdict(reason, outcome, message, assignment), nomination)

    def _reserve(self, nomination: Nomination) -> None:
        node, assignment = nomination.pending_queue.node, nomination.assignment
        amounts = []
        for column, asked in assignment.usage.items():
            at = node.base + column
            held = self.rules.reserved(self.tree.cells[at], self.usage[at], asked, assignment.borrow)
            amounts.append((column, max(0, held)))  # a rule that gives less than nothing must not make room
        self.tree.add(node, amounts, self.usage)
        if self.rules.hold:
            self.tree.add(node, amounts, self.base)

    def _wait(
        self, entry: Entry, pending_queue: PendingQueue, verdict: Verdict, nomination: Nomination | None = None
    ) -> None:
        """Leave a head unplaced: parked until a change, out for this call, or to be looked at in the next round."""
        equivalence, outcome = entry.equivalence, verdict.outcome
        assert equivalence is not None
        parks = self.rules.park(entry.workload, pending_queue.queue, outcome.value)
        strict = self.rules.strict(entry.workload, pending_queue.queue)
        # An inactive queue is not looked at, so what waits in it is not parked either.
        verdict.place = Place.INADMISSIBLE if parks and outcome != Outcome.SUSPENDED else Place.ACTIVE
        entry.verdict = verdict
        self.log.waits[entry.key] = entry
        if entry.workload.first != (outcome in WAITS_FOR_VICTIMS):
            self.state.put_first(entry, outcome in WAITS_FOR_VICTIMS)
        if outcome in WAITS_FOR_CHANGE:
            equivalence.verdict = verdict
            if parks or strict:
                watch(equivalence, verdict, nomination, self.rules)
                pending_queue.block(equivalence, strict and not parks)
                self.state.changes.blocked(equivalence)
            else:
                pending_queue.set_aside(entry)
        elif outcome in WAITS_FOR_VICTIMS:
            pending_queue.set_aside(entry)
        if strict and not parks and outcome in WAITS_FOR_VICTIMS:
            self.pending_queues = [other for other in self.pending_queues if other is not pending_queue]


def _assigned(assignment: Assignment) -> tuple[PodSetAssignment, ...]:
    return tuple(
        PodSetAssignment(
            plan.name,
            {resource: choice.flavor for resource, (choice, _) in chosen.items()},
            {resource: amount * count for resource, (_, amount) in chosen.items()},
            count,
        )
        for plan, count, chosen in assignment.pod_sets
    )
