"""Kueue's scheduling cycle over one cohort tree: nominate the head of each queue, order the heads, process each.

`decide` repeats it in rounds. Nomination is in `nominate.py`, the order of heads in `order_of_heads.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from webhook.queue.cycle.nominate import Nomination, Nominator, facts, refuse
from webhook.queue.cycle.not_admitted import keep_waiting, park_alone
from webhook.queue.cycle.order_of_heads import Callbacks, ordered
from webhook.queue.cycle.ready_checks import checks_ready
from webhook.queue.cycle.reservation import Reservation, begins
from webhook.queue.cycle.round import Round
from webhook.queue.decisions import Admitted, Preempted, Reason
from webhook.queue.flavors.search import Assignment
from webhook.queue.model import Admission, PodSetAssignment
from webhook.queue.pending.queue import Entry, FlavorProgress, HeadVerdict, PendingQueue, Status
from webhook.queue.pending.unfinished_cycle import Suspended, signature_of
from webhook.queue.preemption.victim_search import Target, without
from webhook.queue.quota.tree import Usage
from webhook.queue.rules import HeadOutcome, Mode, UsageFacts

MAX_CALLS = 100
"""How many calls of `decide` may share one cycle; the next call finishes it regardless of its budget."""
NO_FACTS = UsageFacts()
OVERLAPS = "Workload has overlapping preemption targets with another workload"
DEFERRED = f"{OVERLAPS}, but will fit after these preemptions complete"
NO_LONGER_FITS = "Workload no longer fits after processing another workload"


class TreeCycle:
    """A cycle of a round. `gone` are the victims of its preemptors, `usage` holds what its heads took or reserved."""

    __slots__ = ("gone", "round", "rules", "state", "tree", "usage")

    def __init__(self, of: Round) -> None:
        self.round, self.state, self.rules, self.tree = of, of.state, of.rules, of.tree
        self.gone: dict[str, Target] = {}
        self.usage: Usage = self.tree.usage.copy()
        for kept in of.kept.values():
            self.tree.add(kept.node, kept.amounts, self.usage)

    def run(self, heads: Iterable[tuple[PendingQueue, Entry]], left: int) -> int:
        """Nominate the heads and process them in the rules' order. Return the cost (see `cost_of`).

        If the cost exceeds `left` before all heads are nominated, the cycle is suspended and no head is processed.
        """
        nominations, cost = self._nominate_all(heads, left)
        if self.rules.hold or self.rules.fair:
            nominations = self._without_contest(nominations)
        callbacks = Callbacks(self._fail_in_contest, self._following, self._known)
        for nomination in ordered(nominations, self.rules, self.tree, self.usage, callbacks):
            self._process_safely(nomination)
        return cost

    def _nominate_all(self, heads: Iterable[tuple[PendingQueue, Entry]], left: int) -> tuple[list[Nomination], int]:
        usage, known, tries = self.usage.copy(), self.round.nominations, self.round.tries
        self.round.nominations, self.round.tries = {}, 0
        nominator = Nominator(self.state, usage, {}, self.round.cycle)
        nominations: list[Nomination] = []
        todo = deque(heads)
        cost = 0
        while todo:
            pending_queue, first = todo.popleft()
            if cost >= left and tries < MAX_CALLS:
                known.update((n.entry, n) for n in nominations)
                signature = signature_of(self.state.by_tree[self.tree])
                self.state.suspended[self.tree] = Suspended(known, signature, tries + 1)
                return [], cost
            entry: Entry | None = first
            while entry is not None and self._too_late(entry, pending_queue):
                entry = self.round.head(pending_queue)
            if entry is None:
                continue
            try:
                nomination = known.get(entry)
                if nomination is None:
                    cost += 1
                    nomination = self._nominate(nominator, entry, pending_queue)
                    cost += cost_of(nomination)
                if nomination is not None and not self._parked_at_once(nomination):
                    nominations.append(nomination)
                    continue
            except self.rules.failures as error:
                self._fail_rule(entry, pending_queue, error)
            if not self.round.counted and (following := self._behind(entry, pending_queue)) is not None:
                todo.append((pending_queue, following))
        return nominations, cost

    def _parked_at_once(self, nomination: Nomination) -> bool:
        """Park a head that cannot fit before any head is processed, so that it takes no turn and reserves nothing.

        Return whether it was parked. Where cycles are counted, it takes its turn as in Kueue.
        """
        assignment, entry = nomination.assignment, nomination.entry
        if self.round.counted or self.rules.hold or nomination.targets or assignment.mode == Mode.FIT:
            return False
        if assignment.tried and not self.round.searched:
            return False
        outcome = HeadOutcome.NO_FIT if assignment.mode == Mode.NO_FIT else HeadOutcome.NO_CANDIDATES
        queue = nomination.pending_queue
        if not self.rules.park(entry.workload, queue.queue, outcome.value):
            return False
        reason = assignment.reason if outcome == HeadOutcome.NO_FIT else Reason.WAITING_FOR_QUOTA
        entry.progress = None
        keep_waiting(self.round, entry, queue, HeadVerdict(reason, outcome, "", assignment), nomination, parks=True)
        return True

    def _without_contest(self, nominations: list[Nomination]) -> list[Nomination]:
        """Process at once the heads that cannot be placed and whose turn affects no other head. Return the rest.

        This keeps them out of the fair-sharing tournament, which costs more than a sort.
        """
        others = []
        for nomination in nominations:
            if nomination.targets or nomination.assignment.mode == Mode.FIT or self._needs_turn(nomination):
                others.append(nomination)
            else:
                self._process_safely(nomination)
        return others

    def _needs_turn(self, nomination: Nomination) -> bool:
        """Return whether a head that cannot be placed must wait for its turn, to reserve what is free by then.

        With `for: UntilAdmitted`, heads that cannot be placed reserve before any head is placed.
        """
        fits_nowhere = nomination.assignment.mode == Mode.NO_FIT
        if self.rules.hold:
            return fits_nowhere
        outcome = HeadOutcome.NO_FIT if fits_nowhere else HeadOutcome.NO_CANDIDATES
        try:
            return self.rules.reserves(nomination.entry.workload, nomination.pending_queue.queue, outcome.value)
        except self.rules.failures:
            return True  # It fails again when its turn comes, and is reported there.

    def _process_safely(self, nomination: Nomination) -> None:
        try:
            self._process(nomination)
        except self.rules.failures as error:
            self._fail_in_contest(nomination, error)

    def _nominate(self, nominator: Nominator, entry: Entry, pending_queue: PendingQueue) -> Nomination | None:
        """Nominate a head; None where it must not be considered."""
        if (known := self.round.waiting.get(entry)) is not None:
            return known
        self.round.reporter.considered(entry.key, pending_queue.queue.name)
        refusal = refuse(self.state, entry.workload, pending_queue, self.round.now)
        if refusal is not None:
            keep_waiting(self.round, entry, pending_queue, refusal)
            return None
        if (usage := self._open(entry, pending_queue, nominator.usage)) is not nominator.usage:
            nominator = Nominator(self.state, usage, {}, self.round.cycle)
        return nominator.nominate(entry, pending_queue)

    def _open(self, entry: Entry, pending_queue: PendingQueue, usage: Usage) -> Usage:
        """Return the usage without the reservations, or parts of them, that a workload may use.

        It may use one that is needed only after it ends, and of other queues' what their heads would borrow.
        """
        at, opened = self.round.now, usage
        for held in self.round.kept.values():
            yields = self.rules.yields(entry.workload, held.begins, at)
            free = held.amounts if yields else () if held.node is pending_queue.node else held.borrowed
            if free:
                opened = usage.copy() if opened is usage else opened
                self.tree.remove(held.node, free, opened)
        return opened

    def _following(self, nomination: Nomination) -> Nomination | None:
        """Nominate the next head of a queue whose head was just admitted, if it fits; None where cycles are counted."""
        if self.round.counted or nomination.entry.status != Status.HOLDING:
            return None
        pending_queue = nomination.pending_queue
        entry = self.round.head(pending_queue)
        if entry is None or entry in self.round.waiting:
            return None
        nominator = Nominator(self.state, self._without(), self.gone, self.round.cycle)
        try:
            refused = refuse(self.state, entry.workload, pending_queue, self.round.now) is not None
            return None if refused else nominator.fitting(entry, pending_queue)
        except self.rules.failures:
            return None  # It is reported in the next cycle.

    def _known(self, nomination: Nomination) -> UsageFacts:
        """Return the usage facts of a head, if rules read them to order the heads of different queues."""
        if not self.state.accounting.compared:
            return NO_FACTS
        return facts(self.state, nomination.entry.workload, nomination.pending_queue)

    def _too_late(self, entry: Entry, pending_queue: PendingQueue) -> bool:
        """Park a woken class again if the quota it was woken for is gone. Return whether it was parked."""
        equivalence, changes = entry.equivalence, self.state.changes
        if equivalence is None or equivalence.verdict is None or equivalence not in changes.by_watch:
            return False
        if any(self.tree.available(at, self.tree.usage) >= amount for at, amount in equivalence.watch):
            return False
        if changes.newcomers(equivalence, self.rules):
            return False
        entry.verdict = equivalence.verdict
        pending_queue.park(equivalence)
        self.state.note_waiting(equivalence)
        return True

    def _fail_rule(self, entry: Entry, pending_queue: PendingQueue, error: Exception) -> None:
        """Park a head that a rule failed on, with a message that names the rule."""
        park_alone(self.round, entry, self.rules.failed(error))

    def _fail_in_contest(self, nomination: Nomination, error: Exception) -> None:
        self._fail_rule(nomination.entry, nomination.pending_queue, error)

    def _behind(self, entry: Entry, pending_queue: PendingQueue) -> Entry | None:
        """Return the next head behind one that was just parked; None if that one stays at the head."""
        parked = entry.equivalence is None or entry.equivalence.parked
        return self.round.head(pending_queue) if parked else None

    def _process(self, nomination: Nomination) -> None:
        if self._overlaps(nomination):
            if not self.rules.recompute:
                self._skip(nomination, HeadOutcome.OVERLAP, OVERLAPS)
                return
            nomination = self._again(nomination)
            if nomination.assignment.mode == Mode.FIT:
                self._defer(nomination)
                return
        assignment = nomination.assignment
        if assignment.mode == Mode.NO_FIT:
            self._fail(nomination, HeadOutcome.NO_FIT, assignment.reason)
        elif assignment.mode != Mode.FIT and not nomination.targets:
            self._fail(nomination, HeadOutcome.NO_CANDIDATES, Reason.WAITING_FOR_QUOTA)
        elif self._overlaps(nomination):
            self._skip(nomination, HeadOutcome.OVERLAP, OVERLAPS)
        elif not self._fits(nomination):
            self._skip(nomination, HeadOutcome.NO_LONGER_FITS, NO_LONGER_FITS)
        elif nomination.targets:
            self._preempt(nomination)
        elif not self._refused_now(nomination):
            self._admit(nomination)

    def _refused_now(self, nomination: Nomination) -> bool:
        """Park a head that an `admit` rule denies after admissions of this cycle. Return whether it did."""
        if not self.rules.conditional or not self.round.log.admitted:
            return False
        entry, pending_queue = nomination.entry, nomination.pending_queue
        refusal = refuse(self.state, entry.workload, pending_queue, self.round.now)
        if refusal is None:
            return False
        keep_waiting(self.round, entry, pending_queue, refusal)
        return True

    def _overlaps(self, nomination: Nomination) -> bool:
        """Return whether a victim was already taken by another workload of this cycle."""
        targets, gone = nomination.targets, self.gone
        return bool(targets and gone) and any(t.entry.key in gone for t in targets)

    def _fits(self, nomination: Nomination) -> bool:
        usage = self._open(nomination.entry, nomination.pending_queue, self._without(nomination.targets))
        return self.tree.fits(nomination.pending_queue.node, nomination.assignment.amounts(), usage)

    def _without(self, targets: Sequence[Target] = ()) -> Usage:
        """Return the usage as it will be once all victims have released their quota."""
        if not self.gone and not targets:
            return self.usage
        return without(self.usage, [*self.gone.values(), *targets])

    def _again(self, nomination: Nomination) -> Nomination:
        """Search for victims again, without those already taken in this cycle, on the nominated flavors."""
        nominator = Nominator(self.state, self._without(), self.gone, self.round.cycle)
        return nominator.nominate(nomination.entry, nomination.pending_queue, nomination)

    def _admit(self, nomination: Nomination) -> None:
        entry, pending_queue, assignment = nomination.entry, nomination.pending_queue, nomination.assignment
        pod_sets = _assigned(assignment)
        ready = checks_ready(entry.workload, pending_queue.queue, pod_sets)
        admission = Admission(pending_queue.queue.name, pod_sets, self.round.now)
        amounts = tuple(assignment.usage.items())
        entry.admission, entry.admitted = admission, ready
        self.state.hold(entry, pending_queue, amounts)
        self.state.accounting.charge(entry.workload, admission)
        self.tree.add(pending_queue.node, amounts, self.usage)
        self.round.moved = True
        entry.verdict = None
        log = self.round.log
        log.waits.pop(entry.key, None)
        decision = Admitted(entry.key, pending_queue.queue.name, pod_sets, ready, assignment.borrow > 0)
        log.admitted.append(decision)
        self.round.reporter.admitted(decision)

    def _use(self, nomination: Nomination) -> None:
        self.tree.add(nomination.pending_queue.node, nomination.assignment.amounts(), self.usage)

    def _preempt(self, nomination: Nomination) -> None:
        entry = nomination.entry
        for target in nomination.targets:
            self.gone[target.entry.key] = target
            victim = target.entry.victim
            assert victim is not None
            if not victim.evicted:
                self._evict(entry, target)
        self._use(nomination)
        message = f"Pending the preemption of {len(nomination.targets)} workload(s)"
        self.round.waiting[entry] = nomination
        self._fail(nomination, HeadOutcome.PREEMPTING, Reason.WAITING_FOR_PREEMPTED, message)

    def _evict(self, preemptor: Entry, target: Target) -> None:
        assert target.entry.victim is not None
        target.entry.victim.evicted, target.entry.preemptor = True, preemptor.key
        target.pending_queue.generation += 1
        self.round.moved = True
        decision = Preempted(target.entry.key, target.pending_queue.queue.name, target.why, preemptor.key)
        self.round.log.preempted.append(decision)
        self.round.reporter.preempted(decision)

    def _defer(self, nomination: Nomination) -> None:
        """Let a head wait for the victims of other heads: once they are gone, it fits without victims of its own."""
        self._use(nomination)
        self._fail(nomination, HeadOutcome.DEFERRED, Reason.WAITING_FOR_PREEMPTED, DEFERRED)

    def _skip(self, nomination: Nomination, outcome: HeadOutcome, message: str) -> None:
        self.round.waiting.pop(nomination.entry, None)
        self._fail(nomination, outcome, Reason.WAITING_FOR_QUOTA, message)

    def _fail(self, nomination: Nomination, outcome: HeadOutcome, reason: Reason, message: str = "") -> None:
        entry, pending_queue, assignment = nomination.entry, nomination.pending_queue, nomination.assignment
        if self.rules.reserves(entry.workload, pending_queue.queue, outcome.value):
            self._reserve(nomination)
        entry.progress = None
        if (
            assignment.tried
            and not self.round.searched
            and outcome not in (HeadOutcome.PREEMPTING, HeadOutcome.DEFERRED)
        ):
            entry.progress = FlavorProgress(assignment.tried, self.round.cycle, nomination.generation)
            self.round.searches_on = True
            if outcome in (HeadOutcome.NO_FIT, HeadOutcome.NO_CANDIDATES):
                outcome = HeadOutcome.FLAVORS_LEFT
        keep_waiting(self.round, entry, pending_queue, HeadVerdict(reason, outcome, message, assignment), nomination)

    def _reserve(self, nomination: Nomination) -> None:
        """Reserve free quota for a head, for this cycle or for the whole round."""
        node, assignment = nomination.pending_queue.node, nomination.assignment
        amounts, borrowed = [], []
        for column, asked in assignment.usage.items():
            cell, used = self.tree.cells[node.base + column], self.usage[node.base + column]
            held = max(0, self.rules.reserved(cell, used, asked, assignment.borrow))  # less than none would free quota
            amounts.append((column, held))
            borrowed.append((column, min(held, max(0, used + held - cell.nominal_quota))))
        self.tree.add(node, amounts, self.usage)
        if self.rules.hold:
            pending_queues = self.state.by_tree[self.tree]
            start = begins(nomination, pending_queues, self.tree.usage, self.round.now)
            lent = tuple((column, amount) for column, amount in borrowed if amount)
            self.round.kept[nomination.entry] = Reservation(node, amounts, lent, start)


def cost_of(nomination: Nomination | None) -> int:
    """Return the cost of a nomination besides its head: one per 100 workloads looked at as victims."""
    candidates = nomination.candidates if nomination is not None else None
    return candidates.looked // 100 if candidates is not None else 0


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
