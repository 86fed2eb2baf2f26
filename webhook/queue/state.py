"""The state of the core: trees with their usage, what holds quota and what waits, kept up to date by events.

Built from a snapshot, changed by events and by `cycle.decide`; a state built anew from the same facts is equal.
Definitions may change any time: the trees are then built again at the next use.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from heapq import heappop, heappush

from webhook.queue.defaults import KueueRules
from webhook.queue.definitions import Definitions, key_of
from webhook.queue.events import (
    Definition,
    DefinitionChanged,
    DefinitionGone,
    Event,
    WorkloadChanged,
    WorkloadEvicted,
    WorkloadGone,
)
from webhook.queue.facts import facts_of, helps_others, replace_workload
from webhook.queue.flavors.request_plan import Plan, Shape, make_plan, shape_of
from webhook.queue.model import Admission, Namespace, Snapshot, StopPolicy, Workload
from webhook.queue.pending.echo import Echo
from webhook.queue.pending.memory import Edits, remember, restore
from webhook.queue.pending.queue import Entry, EquivalenceClass, PendingQueue, Status, Verdict
from webhook.queue.pending.wakeup import Changes
from webhook.queue.quota.forest import grow
from webhook.queue.quota.history import Histories
from webhook.queue.quota.tree import Node, Tree
from webhook.queue.rules import Outcome, Rules, Victim


class State(Definitions):
    """Everything the core knows. Times are milliseconds; `bind` must be called before anything is decided."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[str, Entry] = {}
        self.rules: Rules | None = None
        self.trees: list[Tree] = []
        self.pending_queues: dict[Node, PendingQueue] = {}
        self.by_queue: dict[str, PendingQueue] = {}
        self.by_tree: dict[Tree, list[PendingQueue]] = {}
        self.ready: dict[Tree, None] = {}
        self.cycle = 0
        self.echo = Echo()
        self.edits = Edits()
        self.changes = Changes()
        self.histories = Histories()
        self.backoff: list[tuple[int, str]] = []
        self.deadlines: list[tuple[int, str]] = []
        self.due: dict[str, None] = {}
        self._stale = True
        self._seq = 0
        self._plans: dict[tuple[PendingQueue, Shape], Plan] = {}
        self._shapes: dict[int, tuple[object, Shape]] = {}

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> State:
        """Build a state from a snapshot; the order of its parts does not matter."""
        state = cls()
        state.define(snapshot)
        for workload in sorted(snapshot.workloads, key=lambda w: w.key):
            state.entries[workload.key] = Entry(workload, workload.key)
        return state

    def snapshot(self) -> Snapshot:
        """Give the facts that this state was built from and came to, sorted by name."""
        return self.defined(tuple(facts_of(e) for _, e in sorted(self.entries.items())))

    def copy(self) -> State:
        """Give an independent state of the same facts and the same memory, for a what-if."""
        copied = State.from_snapshot(self.snapshot())
        if self.rules is not None:
            self.bind(self.rules, self.changes.now)
            self.awake(self.changes.now)
            copied.bind(self.rules, self.changes.now)
            restore(remember(self.pending_queues.values()), copied.by_tree, Edits(), copied.changes)
            copied.cycle = self.cycle
            for key, entry in copied.entries.items():
                entry.progress = self.entries[key].progress
        return copied

    def apply(self, event: Event) -> None:
        """Change the state by one event."""
        match event:
            case WorkloadChanged(workload):
                self._changed(workload)
            case WorkloadGone(key):
                if (entry := self.entries.pop(key, None)) is not None:
                    self._leave(entry)
                    entry.status = Status.OUT
            case WorkloadEvicted():
                self._evicted(event)
            case DefinitionChanged(definition):
                before = self.known(definition)
                if self.put(definition):
                    self._redefined(type(definition), key_of(definition))
                    self.edits.note(before, definition)
            case DefinitionGone(kind, key):
                if self.drop(kind, key):
                    self._redefined(kind, key)
                    self.edits.everything()

    def bind(self, rules: Rules, now: int = 0) -> None:
        """Make the state ready to decide by these rules: trees and queues are built where they are not yet."""
        if self.rules is rules and not self._stale:
            return
        if self.rules is not rules:
            self.edits.everything()
        self.edits.retry(self.changes.retry)
        parked = remember(self.pending_queues.values())
        self.rules, self._stale = rules, False
        self.trees, self.pending_queues, self.by_tree = [], {}, {}
        for root in grow(self.cluster_queues, self.cohorts):
            tree, why = _tree(root, rules)
            self.trees.append(tree)
            self.by_tree[tree] = [PendingQueue(n, why) for n in tree.nodes if n.is_queue]
            self.pending_queues.update((pending_queue.node, pending_queue) for pending_queue in self.by_tree[tree])
        self.by_queue = {pending_queue.queue.name: pending_queue for pending_queue in self.pending_queues.values()}
        self.ready = dict.fromkeys(self.trees)
        self.changes, self.backoff, self.deadlines, self.due = Changes(), [], [], {}
        self.changes.now = now
        self._plans, self._shapes = {}, {}
        for pending_queue in self.pending_queues.values():
            pending_queue.inactive = pending_queue.inactive or self.why_inactive(
                pending_queue.queue, circle=pending_queue.node.parent is None
            )
        for entry in self.entries.values():
            if entry.victim is not None and entry.victim.evicted:
                entry.workload = replace(entry.workload, evicted=True)
            entry.pending_queue = entry.equivalence = entry.victim = None
            entry.amounts = ()
            self._enter(entry)
        restore(parked, self.by_tree, self.edits, self.changes)
        self.edits = Edits()

    def _redefined(self, kind: type[Definition], key: str) -> None:
        """Take note of a definition that is another now.

        No tree is made of namespaces, and their quotas change with every pod: what waits there is looked at again.
        """
        if kind is not Namespace:
            self._stale = True
        elif not self._stale:
            for classes in (pending_queue.blocked for pending_queue in self.pending_queues.values()):
                here = (k for k in classes if (head := k.head()) is not None and head.workload.namespace == key)
                self.changes.always.update(dict.fromkeys(here))

    def _changed(self, workload: Workload) -> None:
        entry = self.entries.get(workload.key)
        if entry is not None and entry.workload.first and workload.admission is None:
            workload = replace(workload, first=True)
        if entry is None:
            entry = self.entries[workload.key] = Entry(workload, workload.key)
        elif facts_of(entry) == workload:
            return
        else:
            self._leave(entry, retry=helps_others(entry, workload))
            entry.verdict = None
        entry.workload, entry.admission, entry.admitted = workload, None, False
        if not self._stale:
            self._enter(entry)

    def _evicted(self, event: WorkloadEvicted) -> None:
        entry = self.entries.get(event.key)
        if entry is None:
            return
        before = entry.workload
        count = before.requeue_count + (1 if event.requeue_at else 0)
        self._leave(entry)
        entry.workload = replace_workload(before, event.queued_at, event.requeue_at, count)
        entry.admission, entry.admitted, entry.verdict, entry.preemptor = None, False, None, ""
        if not self._stale:
            self._enter(entry)

    def _enter(self, entry: Entry) -> None:
        workload = entry.workload
        entry.status, entry.why_out, entry.failed = Status.OUT, "", False
        admission = entry.admission or workload.admission
        if workload.finished:
            return
        if admission is not None:
            if (pending_queue := self.by_queue.get(admission.cluster_queue)) is not None:
                self.hold(entry, pending_queue, admission, workload.admitted or entry.admitted)
            else:
                entry.admission, entry.why_out = admission, f"ClusterQueue {admission.cluster_queue} not found"
            return
        entry.why_out = self._why_out(workload)
        if not entry.why_out:
            assert self.rules is not None
            try:
                self._wait(entry)
            except self.rules.failures as error:
                self._fail(entry, error)

    def _fail(self, entry: Entry, error: Exception) -> None:
        """Leave an entry out that a rule failed on, until it or the rules change."""
        assert self.rules is not None
        entry.status, entry.equivalence, entry.failed = Status.OUT, None, True
        entry.why_out = self.rules.failed(error)

    def _why_out(self, workload: Workload) -> str:
        if not workload.active:
            return "the workload is not active"
        if workload.evicted:
            return "the workload is being evicted"
        if workload.held:
            return f"the workload is not to be queued again yet: {workload.held}"
        local = self.local_queues.get(f"{workload.namespace}/{workload.queue}")
        if local is None:
            return f'LocalQueue "{workload.queue}" is not there' if workload.queue else "no queue is named"
        if local.problem:
            return f"LocalQueue {local.name}: {local.problem}"
        if local.stop_policy != StopPolicy.NONE:
            return f"LocalQueue {local.name} is stopped"
        if local.cluster_queue not in self.by_queue:
            return f'ClusterQueue "{local.cluster_queue}" is not there'
        return ""

    def _wait(self, entry: Entry) -> None:
        workload, rules = entry.workload, self.rules
        assert rules is not None
        pending_queue = self.by_queue[self.local_queues[f"{workload.namespace}/{workload.queue}"].cluster_queue]
        entry.pending_queue = pending_queue
        if (until := rules.requeue(workload, workload.evicted_at)) > self.changes.now:
            entry.status = Status.BACKOFF
            heappush(self.backoff, (until, entry.key))
            return
        self.queue(entry)

    def queue(self, entry: Entry) -> None:
        """Let an entry wait in its queue."""
        workload, pending_queue, rules = entry.workload, entry.pending_queue, self.rules
        assert pending_queue is not None
        assert rules is not None
        entry.status = Status.WAITING
        entry.equivalence = self._class_of(
            workload, pending_queue, entry.key if rules.conditional or workload.problem else ""
        )
        entry.rank = rules.order(workload, pending_queue.queue, self.changes.now, self.histories.usage(entry, self))
        self.push(entry)

    def set_apart(self, entry: Entry, verdict: Verdict) -> None:
        """Park an entry that a rule failed on, alone: others that ask the same may do better."""
        pending_queue, equivalence = entry.pending_queue, entry.equivalence
        assert pending_queue is not None
        assert equivalence is not None
        own = (Outcome.RULE_FAILED, entry.key)
        if equivalence.key != own:
            entry.equivalence = pending_queue.classes[own] = equivalence = EquivalenceClass(
                own, equivalence.plan, pending_queue
            )
        self.push(entry)
        entry.verdict = equivalence.verdict = verdict
        equivalence.volatile = True
        pending_queue.block(equivalence)

    def put_first(self, entry: Entry, first: bool) -> None:
        """Say whether an entry waits for victims of its own; it takes the place that the rules give it."""
        assert self.rules is not None
        assert entry.pending_queue is not None
        entry.workload, entry.seq = replace(entry.workload, first=first), -1
        usage = self.histories.usage(entry, self)
        entry.rank = self.rules.order(entry.workload, entry.pending_queue.queue, self.changes.now, usage)
        self.push(entry)

    def push(self, entry: Entry) -> None:
        """Put a waiting entry into its queue's heap."""
        assert entry.pending_queue is not None
        self._seq += 1
        entry.pending_queue.push(entry, self._seq)
        self.ready[entry.pending_queue.node.tree] = None

    def _class_of(self, workload: Workload, pending_queue: PendingQueue, only: str) -> EquivalenceClass:
        cached = self._shapes.get(id(workload.pod_sets))
        if cached is None:
            cached = self._shapes[id(workload.pod_sets)] = workload.pod_sets, shape_of(workload.pod_sets)
        shape = cached[1]
        key: Hashable = (shape, workload.priority, workload.namespace, only)
        if (equivalence := pending_queue.classes.get(key)) is None:
            equivalence = pending_queue.classes[key] = EquivalenceClass(
                key, self.plan(workload, pending_queue, shape), pending_queue
            )
        return equivalence

    def plan(self, workload: Workload, pending_queue: PendingQueue, shape: Shape) -> Plan:
        """Give what a workload asks of a queue; worked out once per shape."""
        assert self.rules is not None
        if (plan := self._plans.get((pending_queue, shape))) is None:
            plan = make_plan(workload.pod_sets, pending_queue.node, self.flavors, self.rules)
            self._plans[pending_queue, shape] = plan
        return plan

    def hold(self, entry: Entry, pending_queue: PendingQueue, admission: Admission, admitted: bool) -> None:
        """Let an entry hold the quota of an admission."""
        tree, workload = pending_queue.node.tree, entry.workload
        sums: dict[int, int] = {}
        for pod_set in admission.pod_sets:
            for resource, flavor in pod_set.flavors.items():
                column = tree.columns.get((flavor, resource))
                if column is not None:
                    sums[column] = sums.get(column, 0) + pod_set.usage.get(resource, 0)
        if workload.first:
            entry.workload = workload = replace(workload, first=False)
        entry.status, entry.pending_queue, entry.equivalence = Status.HOLDING, pending_queue, None
        entry.progress = None
        entry.admission, entry.admitted = admission, admitted
        entry.amounts = tuple(sums.items())
        entry.victim = Victim(
            workload,
            pending_queue.queue.name,
            workload.priority,
            workload.queued_at,
            admission.reserved_at,
            workload.uid or entry.key,
            workload.evicted,
        )
        pending_queue.holders[entry.key] = entry
        pending_queue.generation += 1
        tree.add(pending_queue.node, entry.amounts, tree.usage)
        self.histories.held(entry, self)
        self.changes.held(entry, pending_queue)
        self.due[entry.key] = None
        if workload.deadline:
            heappush(self.deadlines, (workload.deadline, entry.key))

    def _leave(self, entry: Entry, *, retry: bool = True) -> None:
        pending_queue = entry.pending_queue
        if entry.status == Status.HOLDING and pending_queue is not None:
            pending_queue.node.tree.remove(pending_queue.node, entry.amounts, pending_queue.node.tree.usage)
            del pending_queue.holders[entry.key]
            self.histories.released(entry, self)
            self.changes.released(pending_queue)
            pending_queue.generation += 1
            self.ready[pending_queue.node.tree] = None
            entry.victim = None
        elif entry.equivalence is not None and pending_queue is not None:
            self.ready[pending_queue.node.tree] = None
        if retry and pending_queue is not None:
            self.changes.retry[pending_queue.node.tree] = None
        entry.status, entry.pending_queue, entry.equivalence, entry.seq = Status.OUT, None, None, -1
        entry.progress = None

    def awake(self, now: int, *, all_retried: bool = False) -> None:
        """Take back into their queues whose back-off ended, and look again at classes that a change may help.

        `all_retried`: at every class of a tree where quota came free, as Kueue does.
        """
        self.changes.now = max(now, self.changes.now)
        while self.deadlines and self.deadlines[0][0] <= now:
            self.due[heappop(self.deadlines)[1]] = None
        while self.backoff and self.backoff[0][0] <= now:
            _, key = heappop(self.backoff)
            entry = self.entries.get(key)
            if entry is not None and entry.status == Status.BACKOFF:
                assert self.rules is not None
                try:
                    self.queue(entry)
                except self.rules.failures as error:
                    self._fail(entry, error)
        assert self.rules is not None
        if all_retried:
            self.hear_echo()
        for pending_queue in self.changes.wake(self.rules, self.by_tree, all_retried=all_retried):
            self.ready[pending_queue.node.tree] = None

    def hear_echo(self) -> None:
        """Let statuses that changed retry their trees, as Kueue's controllers do after events and after a cycle."""
        for tree in self.echo.heard(self.pending_queues.values()):
            self.changes.retry[tree] = None
            for pending_queue in self.by_tree[tree]:
                pending_queue.generation += 1

    def next_at(self) -> int | None:
        """Give the next time at which something must be decided though nothing changes, None where there is none."""
        return min((heap[0][0] for heap in (self.backoff, self.deadlines) if heap), default=None)


def _tree(root: Node, rules: Rules) -> tuple[Tree, str]:
    """Build a tree; where a rule fails on its quotas, by Kueue's rules, with why nothing may be decided in it."""
    try:
        return Tree(root, rules), ""
    except rules.failures as error:
        return Tree(root, KueueRules()), rules.failed(error)


def waiting(pending_queues: Iterable[PendingQueue]) -> Iterator[Entry]:
    """Give all that waits in some queues."""
    for pending_queue in pending_queues:
        yield from pending_queue.waiting()
