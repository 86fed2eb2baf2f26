"""The state of the core: cohort trees with their usage, and all workloads, kept up to date by events.

Built from a snapshot, changed by events and by `decide`; a state rebuilt from the same facts and memory (see
`memory.py`) is equal. Changed definitions are applied at the next `bind` (see `redefine.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from webhook.queue.definitions import Definitions, key_of, local_of
from webhook.queue.events import Definition, DefinitionChanged, DefinitionGone, Event, WorkloadEvicted
from webhook.queue.flavors.request_plan import RequestPlan
from webhook.queue.model import ClusterQueue, LocalQueue, Snapshot, Workload
from webhook.queue.pending.equivalence import fields_read, key_of_class
from webhook.queue.pending.plan_cache import PlanCache
from webhook.queue.pending.queue import Entry, EquivalenceClass, HeadVerdict, PendingQueue, Status
from webhook.queue.pending.reorder import follow_usage, reorder
from webhook.queue.pending.retry_by_status import RetryByStatus, retried
from webhook.queue.pending.timing import RuleTiming, Timers
from webhook.queue.pending.unfinished_cycle import Suspended
from webhook.queue.pending.wakeup import Changes
from webhook.queue.quota.forest import Forest
from webhook.queue.quota.tree import Amounts, Tree, TreeNode
from webhook.queue.quota.usage_by_owner import Accounting
from webhook.queue.redefine import Redefined, follow
from webhook.queue.rules import HeadOutcome, Key, Rules
from webhook.queue.workload_events import told
from webhook.queue.workload_facts import facts_of, tie, victim_of


class State(Definitions):
    """Everything the core knows. Times are milliseconds; `bind` must be called before anything is decided.

    `ready` are the trees to decide in, `changed_trees` those that were decided in since a reader cleared it, `outside`
    the unfinished entries in no queue: a changed ClusterQueue, Cohort, flavor or LocalQueue of theirs may open one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[str, Entry] = {}
        self.by_local: dict[str, dict[str, Entry]] = {}
        self.outside: dict[str, Entry] = {}
        self.rules: Rules | None = None
        self.forest = Forest()
        self.trees: list[Tree] = self.forest.trees
        self.pending_queues: dict[TreeNode, PendingQueue] = {}
        self.by_queue: dict[str, PendingQueue] = {}
        self.by_tree: dict[Tree, list[PendingQueue]] = {}
        self.ready: dict[Tree, None] = {}
        self.changed_trees: dict[Tree, None] = {}
        self.cycle = 0
        self.suspended: dict[Tree, Suspended[Any, Any]] = {}
        self.retry_by_status = RetryByStatus()
        self.changes = Changes()
        self.accounting = Accounting()
        self.timing = RuleTiming()
        self.plans = PlanCache()
        self.backoff, self.evictions = Timers(), Timers()
        self.due: dict[str, None] = {}
        self._redefined = Redefined()
        self._seq = 0
        self._fields: tuple[str, ...] | None = ()

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> State:
        """Build a state from a snapshot; the order of its parts does not matter."""
        state = cls()
        state.define(snapshot)
        for workload in sorted(snapshot.workloads, key=lambda w: w.key):
            state.add(Entry(workload, workload.key))
        return state

    def snapshot(self) -> Snapshot:
        """Return the current facts as a snapshot, sorted by name."""
        return self.accounting.kept(self.defined(tuple(facts_of(e) for _, e in sorted(self.entries.items()))))

    def apply(self, event: Event) -> None:
        """Change the state by one event."""
        match event:
            case DefinitionChanged(definition):
                self._redefine(self.put(definition), definition)
            case DefinitionGone(kind, key):
                self._redefine(self.drop(kind, key), None)
            case _:
                told(self, event)

    def evict(self, key: str, reason: str, at: int, requeue_at: int = 0) -> None:
        """Let a workload that was evicted at a time wait again, where nothing but this state carries it out."""
        queued_at = self.requeueing.queued_at(self.entries[key].workload.created, (reason, at))
        self.apply(WorkloadEvicted(key, queued_at, requeue_at))

    def bind(self, rules: Rules, now: int = 0) -> None:
        """Make the state ready to decide by these rules, and apply changed definitions."""
        if self.rules is not rules or self.accounting.misses(self):
            self.rules = rules
            self.changes.now = max(now, self.changes.now)
            self._begin(rules)
        elif self._redefined:
            redefined, self._redefined = self._redefined, Redefined()
            follow(self, redefined)

    def _begin(self, rules: Rules) -> None:
        """Rebuild everything by new rules; decayed usage stays."""
        for entry in self.entries.values():
            if entry.victim is not None:
                entry.workload = replace(entry.workload, evicted=entry.victim.evicted)
            entry.pending_queue = entry.equivalence = entry.victim = entry.verdict = None
            entry.status, entry.amounts, entry.seq = Status.OUT, (), -1
            entry.progress = None
        now = self.changes.now
        self.changes, self.timing = Changes(), RuleTiming(rules, now)
        self.changes.now = now
        self.suspended = {}
        self.ready, self.backoff, self.evictions, self.due = {}, Timers(), Timers(), {}
        self.plans, self._fields = PlanCache(), fields_read(rules)
        self.trees.clear()
        self.pending_queues.clear()
        self.by_queue.clear()
        self.by_tree.clear()
        self.accounting.begin(rules, self, now)
        self._redefined = Redefined()
        follow(self, self._redefined)
        for entry in self.entries.values():
            self.enter(entry)

    def _redefine(self, before: Definition | None, after: Definition | None) -> None:
        """Note a definition that changed, for the next `bind`."""
        if self.rules is None or before == after:
            return
        definition = after or before
        assert definition is not None
        if isinstance(definition, LocalQueue | ClusterQueue):
            self.accounting.redefine(definition, before, gone=after is None)
        self._redefined.note(before, after, key_of(definition))

    def add(self, entry: Entry) -> None:
        """Make an entry known; `enter` gives it its place."""
        self.entries[entry.key] = entry
        self.by_local.setdefault(local_of(entry.workload), {})[entry.key] = entry

    def remove(self, entry: Entry) -> None:
        """Forget an entry that was withdrawn."""
        del self.entries[entry.key]
        self.outside.pop(entry.key, None)
        self.due.pop(entry.key, None)
        local = local_of(entry.workload)
        del self.by_local[local][entry.key]
        if not self.by_local[local]:
            del self.by_local[local]

    def enter(self, entry: Entry) -> None:
        """Let an entry hold the quota of its admission, or queue it; before the first `bind` nothing happens."""
        if self.rules is not None:
            self.outside.pop(entry.key, None)
            self._enter(entry, self.rules)
            if entry.status == Status.OUT and not entry.workload.finished:
                self.outside[entry.key] = entry

    def _enter(self, entry: Entry, rules: Rules) -> None:
        workload = entry.workload
        entry.status, entry.why_not_queued, entry.failed = Status.OUT, "", False
        admission = entry.admission or workload.admission
        if workload.finished:
            return
        if admission is not None:
            entry.admission, entry.admitted = admission, workload.admitted or entry.admitted
            if (pending_queue := self.by_queue.get(admission.cluster_queue)) is not None:
                self.hold(entry, pending_queue)
                self.ready[pending_queue.node.tree] = None
            else:
                entry.why_not_queued = f"ClusterQueue {admission.cluster_queue} not found"
            return
        if why := self.why_not_queued(workload):
            entry.why_not_queued, entry.workload = why, replace(workload, first=False) if workload.first else workload
            return
        try:
            self._wait(entry)
        except rules.failures as error:
            self.fail(entry, error)

    def fail(self, entry: Entry, error: Exception) -> None:
        """Take an entry whose rule failed out of its queue, until it, the rules, a queue, Cohort or flavor change."""
        assert self.rules is not None
        self.withdraw(entry)
        self.outside[entry.key] = entry
        entry.failed, entry.why_not_queued = True, self.rules.failed(error)

    def _wait(self, entry: Entry) -> None:
        workload, rules = entry.workload, self.rules
        assert rules is not None
        entry.pending_queue = self.by_queue.get(self.local_queues[local_of(workload)].cluster_queue)
        if entry.pending_queue is None:
            return  # The queue is new and gets the workload at the next `bind`.
        entry.until = rules.requeue(workload, workload.evicted_at)
        if entry.until > self.changes.now:
            entry.status = Status.BACKOFF
            self.backoff.set(entry.until, entry.key)
            return
        self.queue(entry)

    def queue(self, entry: Entry) -> None:
        """Put an entry into its queue."""
        pending_queue = entry.pending_queue
        assert pending_queue is not None
        entry.rank = self.rank(entry)
        entry.status = Status.WAITING
        entry.equivalence = self._class_of(entry.workload, pending_queue)
        self.push(entry)

    def rank_among(self, entry: Entry) -> Key:
        """Return the sort keys of an entry among all of its ClusterQueue."""
        assert self.rules is not None
        return self.rank(entry, within=False) if self.rules.usage_apart else entry.rank

    def rank(self, entry: Entry, *, within: bool = True) -> Key:
        """Return the sort keys of an entry within its LocalQueue; they are unique."""
        rules, pending_queue, workload = self.rules, entry.pending_queue, entry.workload
        assert rules is not None
        assert pending_queue is not None
        usage = 0.0 if within and rules.usage_apart else self.share_of(entry)
        keys = rules.order(workload, pending_queue.queue, self.changes.now, usage)
        return (*keys, *tie(workload))

    def share_of(self, entry: Entry) -> float:
        """Return the decayed share of an entry's LocalQueue; 0 if its queue does not use it."""
        assert entry.pending_queue is not None
        local = self.local_queues.get(local_of(entry.workload))
        return self.accounting.share(entry.workload, entry.pending_queue.queue, local)

    def park_alone(self, entry: Entry, verdict: HeadVerdict) -> None:
        """Park an entry that a rule failed on, without its class: the rule may succeed for the others."""
        pending_queue, equivalence = entry.pending_queue, entry.equivalence
        assert pending_queue is not None
        assert equivalence is not None
        own = (HeadOutcome.RULE_FAILED, entry.key)
        if equivalence.key != own:
            apart = EquivalenceClass(own, equivalence.plan, pending_queue, equivalence.lane)
            self._forget(entry)
            entry.equivalence = pending_queue.classes[own] = equivalence = apart
        self.push(entry)
        entry.verdict = equivalence.verdict = verdict
        equivalence.volatile = True
        pending_queue.park(equivalence)
        self.note_waiting(equivalence)

    def note_waiting(self, equivalence: EquivalenceClass) -> None:
        """Note a class that was parked, or whose head stays active, and what may change its verdict."""
        self.changes.note_parked(equivalence)
        verdict = equivalence.verdict
        if verdict is not None and verdict.outcome in (HeadOutcome.DENIED, HeadOutcome.RULE_FAILED):
            owners = self.accounting.owners(equivalence.any(), equivalence.pending_queue.queue)
            self.changes.deny(equivalence, owners)

    def put_first(self, entry: Entry, first: bool) -> None:
        """Set whether an entry waits for victims of its own, and move it to its new place."""
        entry.workload, entry.seq = replace(entry.workload, first=first), -1
        entry.rank = self.rank(entry)
        self.push(entry)

    def push(self, entry: Entry) -> None:
        """Put a waiting entry into its queue's heap."""
        assert entry.pending_queue is not None
        self._seq += 1
        entry.pending_queue.push(entry, self._seq)
        self.ready[entry.pending_queue.node.tree] = None

    def _class_of(self, workload: Workload, pending_queue: PendingQueue) -> EquivalenceClass:
        lane = local_of(workload) if self.accounting.apart(pending_queue.queue) else ""
        key = key_of_class(workload, self.plans.shape(workload.pod_sets), self._fields, lane)
        if (equivalence := pending_queue.classes.get(key)) is None:
            plan = self.plan(workload, pending_queue)
            equivalence = pending_queue.classes[key] = EquivalenceClass(key, plan, pending_queue, lane)
        return equivalence

    def plan(self, workload: Workload, pending_queue: PendingQueue) -> RequestPlan:
        """Return the request plan of a workload in a queue."""
        assert self.rules is not None
        return self.plans.plan(workload.pod_sets, pending_queue, self.flavors, self.rules)

    def hold(self, entry: Entry, pending_queue: PendingQueue, amounts: Amounts = ()) -> None:
        """Let an entry hold the quota of its admission; `amounts` is its usage, if it is known."""
        tree, workload, admission = pending_queue.node.tree, entry.workload, entry.admission
        assert admission is not None
        if entry.equivalence is not None:
            self._forget(entry)
        if workload.first:
            entry.workload = workload = replace(workload, first=False)
        entry.status, entry.pending_queue = Status.HOLDING, pending_queue
        entry.progress, entry.evict_at = None, 0
        entry.amounts = amounts or tree.amounts_of(admission)
        entry.victim = victim_of(workload, admission, pending_queue.queue.name)
        pending_queue.holders[entry.key] = entry
        pending_queue.generation += 1
        tree.hold(pending_queue.node, entry.amounts)
        self.changes.used(self.accounting.hold(workload, admission))
        self.changes.held(entry, pending_queue)
        self.due[entry.key] = None

    def withdraw(self, entry: Entry, *, retry: bool = True) -> None:
        """Release what an entry holds, or remove it from its queue; `retry` wakes its tree, as in Kueue."""
        pending_queue = entry.pending_queue
        if entry.status == Status.HOLDING and pending_queue is not None:
            pending_queue.node.tree.remove(pending_queue.node, entry.amounts, pending_queue.node.tree.usage)
            del pending_queue.holders[entry.key]
            assert entry.admission is not None
            self.changes.used(self.accounting.hold(entry.workload, entry.admission, -1))
            self.changes.released(pending_queue)
            pending_queue.generation += 1
            entry.victim = None
        elif entry.equivalence is not None:
            self._forget(entry)
        if pending_queue is not None and pending_queue.node.tree in self.by_tree:
            self.ready[pending_queue.node.tree] = None
            if retry:
                self.changes.retry[pending_queue.node.tree] = None
        entry.status, entry.pending_queue, entry.seq, entry.progress = Status.OUT, None, -1, None

    def _forget(self, entry: Entry) -> None:
        equivalence = entry.equivalence
        assert equivalence is not None
        if equivalence.pending_queue.remove(entry):
            self.changes.forget(equivalence)

    def awake(self, now: int, *, all_retried: bool = False) -> None:
        """Queue entries whose back-off ended, and wake classes that a change may help.

        `all_retried`: wake every class of a tree where quota was released, as Kueue does.
        """
        assert self.rules is not None
        self.changes.now = now = max(now, self.changes.now)
        self.due.update(dict.fromkeys(key for _, key in self.evictions.passed(now)))
        for until, key in self.backoff.passed(now):
            if self.backs_off(until, key):
                self.enter(self.entries[key])
        sampled = self.accounting.advance(now)
        ordered, asked, preempted, evicted = self.timing.passed(now, sampled=sampled)
        if asked:
            self.changes.always.update(dict.fromkeys(self.changes.denied))
        if preempted:
            self.ready.update(dict.fromkeys(self.changes.time_passed(self.by_tree)))
        if evicted:
            self.due.update((key, None) for queue in self.by_queue.values() for key in queue.holders)
        if ordered:
            reorder(self, self.entries.values())
        follow_usage(self)
        if all_retried:
            self.retry_by_status.retry(self.by_tree, self.changes)
        as_kueue = retried(self) if all_retried else None
        for pending_queue in self.changes.wake(self.rules, self.by_tree, retried=as_kueue):
            self.ready[pending_queue.node.tree] = None

    def move(self, entry: Entry) -> None:
        """Move a waiting entry to its new rank."""
        assert entry.pending_queue is not None
        self._seq += 1
        entry.pending_queue.move(entry, self._seq)
        self.ready[entry.pending_queue.node.tree] = None

    def backs_off(self, until: int, key: str) -> bool:
        """Return whether a workload still backs off until then."""
        entry = self.entries.get(key)
        return entry is not None and entry.status == Status.BACKOFF and entry.until == until
