"""The queue core behind `protocol.Core`: applies changes of objects to its state, and decides.

The state is kept between rounds, so that parked workloads stay parked; objects always take precedence over it. The cost
of a round depends on the changes since the previous one: unchanged objects are not read again.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import islice
from typing import Final

from webhook.api.configuration.sections import QueueSettings
from webhook.api.snapshot.reader import Reader
from webhook.api.snapshot.workload import ARRIVAL
from webhook.cluster.core.opt_in import LeftAlone
from webhook.cluster.core.protocol import CohortFacts, QueueFacts
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
from webhook.store.objects import Object, key_of, uid_of, version_of

log = logging.getLogger(__name__)

AWAKE: Final = 1_000
"""Milliseconds after which a replica that does not lead sees that time has passed."""
BUDGET: Final = 500
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
        self._asked: dict[str, Counter[str]] = {}
        self._arrivals: dict[str, str] = {}
        self._doubtful: set[str] = set()
        self._unwritten: set[str] = set()
        self._logged: dict[str, str] = {}
        self._looked_at: dict[str, None] = {}
        self._redefined = self._unbound = False
        self.revision = 0
        self.under_way: Collection[str] = ()
        self.outdated: Callable[[str], None] = _no_write

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
        self._unwritten.clear()
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
            self._note_arrival(obj, gone=new is None)

    def _note_arrival(self, workload: Object, *, gone: bool) -> None:
        """Keep the first known version of a Workload: it orders those created within the same second."""
        uid = uid_of(workload)
        if gone:
            self._arrivals.pop(uid, None)
        else:
            self._arrivals.setdefault(uid, version_of(workload))

    def _in_order(self, obj: Object) -> Object:
        return in_order_of_arrival(obj, self._arrivals.get(str((obj.get("metadata") or {}).get("uid")), ""))

    def decide(self, now: int, *, goes_on: bool = False) -> Decisions:
        """Apply the changes and decide. If nothing changed or was considered, `revision` stays the same."""
        if not goes_on:
            at_once(self.catch_up(now))
        if self._journal is not None:
            self._journal.round(self._state, self._rules, now)
        made = decide(self._state, self._rules, now, self._reporter, BUDGET)
        self._bound()
        if self._journal is not None:
            self._journal.decided(now, made)
        if made.admitted or made.preempted or made.evicted or made.ready or made.waiting or not made.complete:
            self.revision += 1
        decided = {d.workload for part in (made.admitted, made.preempted, made.evicted, made.ready) for d in part}
        self._doubtful |= decided
        self._unwritten.update(admitted.workload for admitted in made.admitted)
        self._looked_at.update(dict.fromkeys((*decided, *made.waiting)))
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
        asked = {local: dict(amounts) for local, amounts in self._asked.items()}
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
                self._steps = reader.in_steps(self._in_order(obj), gone=gone)
            for step in self._steps:  # kept: if a pass is abandoned, the next one continues here
                for event in step:
                    self._apply(event)
                yield
            self._steps = None
        self._tell(reader)
        doubtful = self._doubtful.difference(self.under_way)
        self._doubtful -= doubtful
        for key in doubtful:
            facts = self._facts.get(key)
            self._apply(WorkloadGone(key) if facts is None else WorkloadChanged(facts))

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
        self._facts, self._asked = {workload.key: workload for workload in facts.workloads}, {}
        for workload in facts.workloads:
            self._ask(workload, 1)
        return reader

    def _apply(self, event: Event) -> None:
        self.revision += 1
        key = ""
        if isinstance(event, WorkloadChanged):
            key = event.workload.key
            self._ask(self._facts.get(key), -1)
            self._ask(event.workload, 1)
            self._facts[key] = event.workload
        elif isinstance(event, WorkloadGone):
            key = event.key
            self._ask(self._facts.pop(key, None), -1)
        else:
            self._unbound = True
        if key:
            self._looked_at[key] = None
        if key in self.under_way:
            self._doubtful.add(key)
            self.outdated(key)
            return
        if key in self._unwritten:
            self._unwritten.remove(key)
            if not (isinstance(event, WorkloadChanged) and event.workload.admission is not None):
                self._change(AdmissionUnwritten(key))
        self._change(event)

    def _change(self, event: Event) -> None:
        """Change the state by one event, and note it in the journal."""
        self._state.apply(event)
        if self._journal is not None:
            self._journal.event(event)

    def _ask(self, workload: Workload | None, sign: int) -> None:
        """Add (`sign` 1) or subtract (-1) the requests of a pending Workload; as in Kueue, only of one in a queue."""
        if workload is None or workload.finished or workload.admission is not None:
            return
        if not workload.active or workload.held:
            return
        local = f"{workload.namespace}/{workload.queue_name}"
        amounts = self._asked.setdefault(local, Counter())
        for pods in workload.pod_sets:
            for resource, amount in pods.requests.items():
                amounts[resource] += sign * pods.count * amount
        if sign < 0 and not any(amounts.values()):
            del self._asked[local]


def in_order_of_arrival(obj: Object, heard: str = "") -> Object:
    """Return a Workload with the creation time of its job, and a uid that orders those of the same second.

    The uid breaks ties in the queue order. Without a recorded job, it begins with `heard`, the version at which the
    Workload was first seen, and has its name instead of the random uid, so that no random number decides.
    """
    metadata = obj.get("metadata") or {}
    if obj.get("kind") != "Workload":
        return obj
    created, _, version = str((metadata.get("annotations") or {}).get(ARRIVAL) or "").partition(" ")
    if not version:
        name = "/".join(key_of(obj))
        uid = f"{heard:0>20} {name}" if heard else name
        arrival = {ARRIVAL: f"{metadata.get('creationTimestamp') or ''} {heard}"} if heard else {}
        annotations = {**(metadata.get("annotations") or {}), **arrival}
        return {**obj, "metadata": {**metadata, "annotations": annotations, "uid": uid}}
    uid = f"{version:0>20} {metadata.get('uid') or ''}"
    return {**obj, "metadata": {**metadata, "creationTimestamp": created, "uid": uid}}


def _no_write(key: str) -> None:
    """Ask for nothing: nothing is written."""


def _key(obj: Object) -> _Key:
    metadata = obj["metadata"]
    return obj["kind"], metadata.get("namespace") or "", metadata["name"]
