"""Nomination of a head: whether it may be considered, its flavors, its pod counts, and the victims it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from webhook.queue.decisions import Reason
from webhook.queue.flavors.partial_admission import with_largest_counts
from webhook.queue.flavors.request_plan import RequestPlan
from webhook.queue.flavors.search import Assignment, Search
from webhook.queue.model import Workload
from webhook.queue.pending.namespace_selector import takes
from webhook.queue.pending.queue import Entry, HeadVerdict, PendingQueue
from webhook.queue.preemption.candidates import Candidates
from webhook.queue.preemption.classic_victims import classic_victims
from webhook.queue.preemption.fair_victims import fair_victims
from webhook.queue.preemption.victim_search import Target, VictimSearch
from webhook.queue.quota.tree import Amounts, Usage
from webhook.queue.rules import HeadOutcome, Mode, UsageFacts
from webhook.queue.state import State


@dataclass(slots=True, eq=False)
class Nomination:
    """An assignment for a head, and its victims. `reclaimed` and `freed` are what the search for victims learned.

    `generation` is that of its queue when the search began; `continued`: the search resumed where the last one ended.
    """

    entry: Entry
    pending_queue: PendingQueue
    assignment: Assignment
    generation: int = 0
    targets: Sequence[Target] = ()
    searched: bool = False
    reclaimed: bool = False
    continued: bool = False
    freed: Mapping[int, int] | None = None
    candidates: Candidates | None = None


def refuse(state: State, workload: Workload, pending_queue: PendingQueue, now: int) -> HeadVerdict | None:
    """Return the verdict on a head that must not be considered at all; None if it may be.

    The admission gate asks the same about a workload that does not exist yet.
    """
    if workload.checks and any(c in ("Retry", "Rejected") for c in workload.checks.values()):
        return HeadVerdict(Reason.NOT_CONSIDERED, HeadOutcome.MISCONFIGURED, "an admission check failed")
    if pending_queue.inactive:
        return HeadVerdict(Reason.SUSPENDED, HeadOutcome.SUSPENDED, pending_queue.inactive_message())
    if not takes(pending_queue.queue, workload.namespace, state):
        message = "workload namespace doesn't match ClusterQueue selector"
        return HeadVerdict(Reason.MISCONFIGURED, HeadOutcome.NAMESPACE_MISMATCH, message)
    if workload.problem:
        return HeadVerdict(Reason.MISCONFIGURED, HeadOutcome.MISCONFIGURED, workload.problem)
    rules = state.rules
    assert rules is not None
    if rules.conditional and (
        denial := rules.admit(workload, pending_queue.queue, facts(state, workload, pending_queue), now)
    ):
        waits = denial.reason == Reason.WAITING_FOR_PODS_READY
        reason = Reason.WAITING_FOR_PODS_READY if waits else Reason.DENIED_BY_RULE
        return HeadVerdict(reason, HeadOutcome.DENIED, denial.message or denial.reason)
    return None


def facts(state: State, workload: Workload, pending_queue: PendingQueue) -> UsageFacts:
    """Collect the usage facts that `admit` rules may read."""
    return state.accounting.facts(workload, pending_queue.queue, state.namespaces.get(workload.namespace))


@dataclass(slots=True, eq=False)
class Nominator:
    """Nominates heads of one tree against one usage list. `gone` are victims that count as evicted already."""

    state: State
    usage: Usage
    gone: Mapping[str, Target]
    cycle: int = 0

    def nominate(self, entry: Entry, pending_queue: PendingQueue, before: Nomination | None = None) -> Nomination:
        """Find flavors and victims for a head; `before` holds it to the flavors that it was nominated to then."""
        rules, equivalence = self.state.rules, entry.equivalence
        assert rules is not None
        assert equivalence is not None
        oracle = _Memo(self, entry, pending_queue, before)
        search = Search(pending_queue.node, self.usage, rules, oracle, pending_queue.seen)
        if before is not None:
            search.keep = _flavors(before)
        if not search.keep:
            search.after = self._progress(entry, pending_queue)
        assignment = search.assign(equivalence.plan)
        nomination = Nomination(entry, pending_queue, assignment, pending_queue.generation)
        nomination.searched, nomination.continued = oracle.asked, bool(search.after)
        if assignment.mode not in (Mode.FIT, Mode.NO_FIT):
            nomination.targets = oracle.targets(assignment)
        if assignment.mode != Mode.FIT and not nomination.targets and rules.partial and equivalence.plan.shrinks:
            placed = with_largest_counts(equivalence.plan, partial(self._try, search, oracle, equivalence.plan))
            if placed is not None:
                nomination.assignment, nomination.targets = placed
        if oracle.asked:
            nomination.candidates = oracle.victims.candidates
            nomination.reclaimed, nomination.freed = oracle.victims.reclaimed, oracle.victims.freed
        return nomination

    def victims(self, entry: Entry, pending_queue: PendingQueue, before: Nomination | None) -> VictimSearch:
        """Return a victim search for a head, with the candidates that an earlier nomination (`before`) collected."""
        rules, state = self.state.rules, self.state
        assert rules is not None
        candidates = before.candidates if before is not None else None
        if candidates is None:
            now, apart = state.changes.now, state.accounting.apart
            candidates = Candidates(entry.workload, pending_queue.queue, rules, state.share_of, apart, now)
        return VictimSearch(pending_queue, self.usage, rules, state.pending_queues, self.gone, candidates)

    def fitting(self, entry: Entry, pending_queue: PendingQueue) -> Nomination | None:
        """Nominate a head only if it fits without preemption on the first flavors tried; None otherwise."""
        assert self.state.rules is not None
        assert entry.equivalence is not None
        asked: list[int] = []

        def oracle(column: int, _: int) -> tuple[int, int]:
            asked.append(column)
            return Mode.NO_CANDIDATES, 0

        search = Search(pending_queue.node, self.usage, self.state.rules, oracle, pending_queue.seen)
        search.after = self._progress(entry, pending_queue)
        assignment = search.assign(entry.equivalence.plan)
        if asked or assignment.mode != Mode.FIT:
            return None
        return Nomination(entry, pending_queue, assignment, pending_queue.generation)

    def _progress(self, entry: Entry, pending_queue: PendingQueue) -> Mapping[tuple[str, int], int]:
        """Return the flavors after which the search resumes; empty if the noted progress is out of date."""
        progress = entry.progress
        if progress is None or (self.cycle - progress.cycle > 1 and pending_queue.generation > progress.generation):
            return {}
        return progress.tried

    def _try(
        self, search: Search, oracle: _Memo, plan: RequestPlan, counts: Sequence[int]
    ) -> tuple[Assignment, list[Target]] | None:
        assignment = search.assign(plan, counts)
        if assignment.mode == Mode.FIT:
            return assignment, []
        if assignment.mode == Mode.NO_FIT:
            return None
        targets = oracle.targets(assignment)
        return (assignment, targets) if targets else None


def _flavors(nomination: Nomination) -> dict[tuple[str, int], str]:
    return {
        (plan.name, group.index): choice.flavor
        for plan, _, chosen in nomination.assignment.pod_sets
        for group in plan.groups
        for choice, _ in chosen.values()
        if choice in group.choices
    }


class _Memo:
    """A victim search with a memo: the victims for one column are often those for the whole request."""

    __slots__ = ("_for", "_known", "_victims")

    def __init__(
        self, nominator: Nominator, entry: Entry, pending_queue: PendingQueue, before: Nomination | None
    ) -> None:
        self._for = nominator, entry, pending_queue, before
        self._victims: VictimSearch | None = None
        self._known: dict[tuple[int, int], list[Target]] = {}

    @property
    def asked(self) -> bool:
        """Whether a victim search ran."""
        return self._victims is not None

    @property
    def victims(self) -> VictimSearch:
        """The search, created on first use: most heads fit and need none."""
        if self._victims is None:
            nominator, entry, pending_queue, before = self._for
            self._victims = nominator.victims(entry, pending_queue, before)
        return self._victims

    def __call__(self, column: int, amount: int) -> tuple[int, int]:
        victims = self.victims
        key = (column, amount)
        if key not in self._known:
            self._known[key] = _targets(victims, (key,), (column,))
        return victims.outcome(self._known[key], column, amount)

    def targets(self, assignment: Assignment) -> list[Target]:
        amounts, short = assignment.amounts(), sorted(assignment.short)
        if len(amounts) == 1 and amounts[0] in self._known:
            return list(self._known[amounts[0]])
        return _targets(self.victims, amounts, short)


def _targets(search: VictimSearch, amounts: Amounts, short: Sequence[int]) -> list[Target]:
    return fair_victims(search, amounts, short) if search.rules.fair else classic_victims(search, amounts, short)
