"""The queue core behind `protocol.Core`: applies changes of objects to its state, and decides.

The state is kept between rounds, so that parked workloads stay parked; objects always take precedence over it. The cost
of a round depends on the changes since the previous one: unchanged objects are not read again.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import islice
from typing import Final

from webhook.api.configuration.sections import QueueSettings
from webhook.api.snapshot.reader import Reader
from webhook.cluster.core import requested
from webhook.cluster.core.arrivals import Arrivals
from webhook.cluster.core.opt_in import LeftAlone
from webhook.cluster.core.protocol import CohortFacts, QueueFacts
from webhook.cluster.core.requested import Requested
from webhook.cluster.core.unwritten import Unwritten
from webhook.cluster.core.writes_in_flight import WritesInFlight
from webhook.cluster.pace import CHUNK, Pass, at_once, every
from webhook.journal.journal import Journal
from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import Decisions, Pending
from webhook.queue.events import AdmissionUnwritten, Event, WorkloadChanged, WorkloadGone
from webhook.queue.explain import Gathered, explain, in_order
from webhook.queue.model import History, PodSet, Snapshot, Workload
from webhook.queue.pending.queue import Entry, Status
from webhook.queue.quota.shares import CurrentShares, current_shares
from webhook.queue.report import SILENT, Reporter
from webhook.queue.rules import Rules
from webhook.queue.state import State
from webhook.store.objects import Object

log = logging.getLogger(__name__)

AWAKE: Final = 1_000
"""Milliseconds after which a replica that does not lead sees that time has passed."""
HEADS_PER_CALL: Final = 500
"""Heads considered in one call; admission requests are answered between two calls."""

_Key = tuple[str, str, str]


class QueueCore:
    """Keeps the state of the core equal to the objects of the view. The cost is that of the changed objects."""

    def __init__(
        self,
        rules: Rules,
        reporter: Reporter = SILENT,
        settings: QueueSettings | None = None,
        journal: Journal | None = None,
        left_alone: LeftAlone | None = None,
    ) -> None:
        """Take the rules in force; `left_alone` returns why the jobs of a namespace are not started."""
        self._left_alone = left_alone
        self._rules, self._reporter, self._settings = rules, reporter, settings or QueueSettings()
        self._journal = journal
        self._state = State()
        self._reader: Reader | None = None
        self._changes: OrderedDict[_Key, tuple[Object, bool]] = OrderedDict()
        self._steps: Iterator[Sequence[Event]] | None = None
        self._facts: dict[str, Workload] = {}
        self._requested: Requested = {}
        self._arrivals, self._unwritten = Arrivals(), Unwritten()
        self._logged: dict[str, str] = {}
        self._looked_at: dict[str, None] = {}
        self._redefined = self._unbound = False
        self.revision = 0

    @property
    def in_flight(self) -> WritesInFlight:
        """Which decisions are being written; kept by who writes them."""
        return self._unwritten.in_flight

    @property
    def state(self) -> State:
        """The state as of the last round; what-if questions need a copy."""
        return self._state

    @property
    def rules(self) -> Rules:
        """The rules in force."""
        return self._rules

    def snapshot(self) -> Snapshot:
        """Return a snapshot of the current state, for what-if questions; only lists are copied."""
        return self._state.accounting.kept(self._state.defined(tuple(self._facts.values())))

    def use(self, rules: Rules) -> None:
        """Decide by other rules from now on; this ends the journal. What was charged by the old ones stays charged."""
        self._rules = rules
        self._unwritten.forget_admissions()
        self.revision += 1
        if self._journal is not None:
            self._journal.end()

    def heard(self, old: Object | None, new: Object | None) -> None:
        """Record a change of an object; it is applied before the next decision."""
        obj = new if new is not None else old
        if obj is None:
            return
        self._changes[_key(obj)] = obj, new is None
        if obj.get("kind") == "Workload":
            self._arrivals.heard(obj, gone=new is None)

    def decide(self, now: int, *, goes_on: bool = False) -> Decisions:
        """Apply the changes and decide. If nothing changed or was considered, `revision` stays the same."""
        if not goes_on:
            at_once(self.catch_up(now))
        if self._journal is not None:
            self._journal.round(self._state, self._rules, now)
        made = decide(self._state, self._rules, now, self._reporter, HEADS_PER_CALL)
        self._bound()
        if self._journal is not None:
            self._journal.decided(now, made)
        if made.admitted or made.preempted or made.evicted or made.ready or made.waiting or not made.complete:
            self.revision += 1
        self._looked_at.update(dict.fromkeys((*self._unwritten.add(made), *made.waiting)))
        return made

    def _bound(self) -> None:
        """Note that definitions apply which were only recorded so far: whoever read the state meanwhile reads again."""
        if self._unbound:
            self._unbound, self._redefined = False, True
            self.revision += 1

    def follow(self, now: int) -> None:
        """Apply the changes, and what the time changes, without deciding: for a replica that does not lead.

        Its answers of what is pending are those of the leader, a second later at most, as an order by the time costs a
        look at all that wait; what changed is not kept for a decision.
        """
        at_once(self.catch_up(now))
        self._looked_at = {}
        self._state.bind(self._rules, now)
        self._bound()
        if now >= self._state.changes.now + AWAKE:
            self._state.awake(now)
        if self._journal is not None:
            self._journal.end()

    def knows(self, name: str, *, local: bool) -> bool:
        """Return whether a ClusterQueue, or the LocalQueue `namespace/name`, is in the state."""
        return name in (self._state.local_queues if local else self._state.cluster_queues)

    def inactive(self) -> Mapping[str, str]:
        """Return the reason why a ClusterQueue is inactive, by name; active ones are omitted."""
        return {name: line.inactive for name, line in self._state.by_queue.items() if line.inactive}

    def used(self, name: str, now: int, *, local: bool) -> History | None:
        """Return the recent usage of a ClusterQueue, or of the LocalQueue `namespace/name`; None if not recorded."""
        state = self._state
        queue = state.local_queues.get(name) if local else state.cluster_queues.get(name)
        if queue is None or state.rules is None:
            return None
        kept = state.accounting.history(queue, now)
        return kept if kept.at else None

    def shares(self) -> CurrentShares | None:
        """Return the shares of ClusterQueues and cohorts; None without fair sharing."""
        rules = self._state.rules
        return current_shares(self._state.trees, rules) if rules is not None and rules.fair else None

    def facts(self) -> Pass[QueueFacts]:
        """Return, in steps, the metrics that do not come from counting Workloads."""
        cohorts: dict[str, CohortFacts] = {}
        for tree in list(self._state.trees):
            yield
            for node in tree.nodes:
                if not node.is_queue:
                    cells = tree.cells[node.base : node.base + tree.width]
                    quota = {name: cells[column].subtree for name, column in tree.columns.items()}
                    cohorts[node.name] = CohortFacts(node.parent.name if node.parent else "", tree.root.name, quota)
        asked = {local: dict(amounts) for local, amounts in self._requested.items()}
        return QueueFacts(self.shares(), asked, self._usage(), cohorts)

    def _usage(self) -> dict[str, float]:
        """Return the weighted recent usage of every LocalQueue; empty without admission fair sharing."""
        if self._settings.admission_fair_sharing is None or self._state.rules is None:
            return {}
        accounting = self._state.accounting
        return {name: accounting.weighted_usage(name, local) for name, local in self._state.local_queues.items()}

    def front(self, most: int) -> Pass[list[str]]:
        """Return, in steps, the keys of up to `most` workloads at the heads of their queues, as many from each."""
        queues = [queue for queue in self._state.by_queue.values() if queue.classes]
        each = -(-most // max(1, len(queues)))
        keys: list[str] = []
        for queue in queues:
            place, heads = queue.place_of(), queue.heads()
            first: list[Entry] = []
            while chunk := list(islice(heads, CHUNK)):
                first = nsmallest(each, (*first, *chunk), key=place)
                yield
            keys += (entry.key for entry in queue.first(first, min(each, most - len(keys))))
        return keys

    def in_order(self, queue: str) -> list[str] | None:
        """Return the keys of the workloads pending in a ClusterQueue, in order; None if there is no such queue."""
        return in_order(self._state, queue)

    def pod_sets(self, key: str) -> Sequence[PodSet]:
        """Return the pod sets of a Workload with the requests that count; none if it cannot be read."""
        workload = self._facts.get(key)
        return () if workload is None else workload.pod_sets

    def workloads(self) -> list[str]:
        """Return the keys of all Workloads."""
        return list(self._state.entries)

    def stirred(self) -> Pass[list[str]]:
        """Return, in steps, the pending keys of trees that were decided on since the last call.

        An explanation depends on its whole tree. After a change of definitions, entries that are not waiting in a queue
        are returned as well.
        """
        trees, self._state.changed_trees = self._state.changed_trees, {}
        redefined, self._redefined = self._redefined, False
        keys: list[str] = []
        for queue in [queue for tree in trees for queue in self._state.by_tree.get(tree, ())]:
            for equivalence in list(queue.classes.values()):
                keys += equivalence.members
                yield
        for pause, entry in every(list(self._state.entries.values()) if redefined else ()):
            if entry.status is not Status.WAITING:
                keys.append(entry.key)
            if pause:
                yield
        return keys

    def looked_at(self) -> Iterable[str]:
        """Return the keys that changed, came, went or were considered since the last call."""
        considered, self._looked_at = self._looked_at, {}
        return considered

    def explain(self, key: str, gathered: Gathered | None = None) -> Pending | None:
        """Return the explanation of a workload as of the last decision; `gathered` keeps what calls share."""
        return explain(self._state, key, gathered)

    def catch_up(self, now: int) -> Pass[None]:
        """Apply the recorded changes, one object a step, including those recorded meanwhile.

        Decided workloads are then set to what their objects say, as a decision may not have been written; not while its
        write is in flight, as it may still succeed. Between two steps only some of the changes are applied.
        """
        reader = self._reader or self._begin(now)
        while self._steps is not None or self._changes:
            if self._steps is None:
                _, (obj, gone) = self._changes.popitem(last=False)
                self._steps = reader.in_steps(self._arrivals.in_order(obj), gone=gone)
            for step in self._steps:  # kept: if a pass is abandoned, the next one continues here
                self._apply(step)
                yield
            self._steps = None
        self._tell(reader)
        for key in self._unwritten.take():
            facts = self._facts.get(key)
            self._apply((WorkloadGone(key) if facts is None else WorkloadChanged(facts),))

    def _tell(self, reader: Reader) -> None:
        """Log each problem of an object once."""
        for name, problem in reader.problems.items():
            if self._logged.get(name) != problem:
                log.error("%s is malformed; its last good version stays in force: %s", name, problem)
        self._logged = dict(reader.problems)

    def _begin(self, now: int) -> Reader:
        """Build the state from the recorded definitions. Workloads are many, and are applied one by one afterwards."""
        self.revision += 1
        others = [key for key in self._changes if key[0] != "Workload"]
        changes = [self._changes.pop(key) for key in others]
        definitions = [obj for obj, gone in changes if not gone]
        reader = self._reader = Reader(definitions, tolerant=True, settings=self._settings, left_alone=self._left_alone)
        facts = reader.snapshot()
        self._state = State.from_snapshot(facts)
        self._state.bind(self._rules, now)
        self._facts, self._requested = {workload.key: workload for workload in facts.workloads}, {}
        for workload in facts.workloads:
            requested.add(self._requested, workload)
        return reader

    def _apply(self, step: Sequence[Event]) -> None:
        """Apply changes that belong together: those of Workloads all wait while one of these is being written."""
        self.revision += 1
        keys = [self._remember(event) for event in step if isinstance(event, WorkloadChanged | WorkloadGone)]
        self._looked_at.update(dict.fromkeys(keys))
        waiting = self._unwritten.keeps_back(keys)
        for event in step:
            if not isinstance(event, WorkloadChanged | WorkloadGone):
                self._unbound = True
            elif waiting:
                continue
            elif self._unwritten.is_taken_back(key_of_workload(event), event):
                self._change(AdmissionUnwritten(key_of_workload(event)))
            self._change(event)

    def _remember(self, event: WorkloadChanged | WorkloadGone) -> str:
        """Remember what the object of a Workload says, whatever was decided; return its key."""
        key = key_of_workload(event)
        if (before := self._facts.get(key)) is not None:
            requested.subtract(self._requested, before)
        if isinstance(event, WorkloadGone):
            self._facts.pop(key, None)
        else:
            self._facts[key] = event.workload
            requested.add(self._requested, event.workload)
        return key

    def _change(self, event: Event) -> None:
        """Change the state by one event, and note it in the journal."""
        self._state.apply(event)
        if self._journal is not None:
            self._journal.event(event)


def key_of_workload(event: WorkloadChanged | WorkloadGone) -> str:
    """Return the key of the Workload that an event is about."""
    return event.key if isinstance(event, WorkloadGone) else event.workload.key


def _key(obj: Object) -> _Key:
    metadata = obj["metadata"]
    return obj["kind"], metadata.get("namespace") or "", metadata["name"]
