"""The real queue core behind `core.Core`: objects to a snapshot, the differences to its state, then its decisions.

The state lives on between rounds, so that what is parked stays parked; what the objects say always wins over it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from webhook.api.snapshot import snapshot
from webhook.cluster.steps import ARRIVAL
from webhook.queue.cycle import decide
from webhook.queue.decisions import Decisions, Pending
from webhook.queue.events import Definition, DefinitionChanged, DefinitionGone, WorkloadChanged, WorkloadGone
from webhook.queue.explain import pending
from webhook.queue.model import Snapshot
from webhook.queue.report import SILENT, Reporter
from webhook.queue.rules import Rules
from webhook.queue.state import State
from webhook.store.objects import Object

BUDGET: Final = 500
"""Heads considered in one call; between two calls, admission requests are answered."""


class QueueCore:
    """Keeps the state of the core equal to the objects of the view."""

    def __init__(self, rules: Rules, reporter: Reporter = SILENT) -> None:
        self._rules, self._reporter = rules, reporter
        self._state = State()
        self._known: dict[tuple[type[Any], str], Definition] = {}
        self.revision = 0

    @property
    def state(self) -> State:
        """The state as of the last round; whoever asks what would be works on a copy."""
        return self._state

    @property
    def rules(self) -> Rules:
        """The rules in force."""
        return self._rules

    def use(self, rules: Rules) -> None:
        """Decide by other rules from now on."""
        self._rules = rules

    def decide(self, objects: Sequence[Object], now: int) -> Decisions:
        """Bring the state up to date and decide."""
        self.revision += 1
        self._follow(snapshot(map(in_order_of_arrival, objects)))
        return decide(self._state, self._rules, now, self._reporter, BUDGET)

    def follow(self, objects: Sequence[Object], now: int) -> None:
        """Bring the state up to date without deciding anything: what a replica does that does not lead."""
        self._follow(snapshot(map(in_order_of_arrival, objects)))
        self._state.bind(self._rules, now)

    def waiting(self) -> Iterator[Pending]:
        """Explain what waits, queue by queue in order, as of the last decision."""
        return pending(self._state)

    def _follow(self, facts: Snapshot) -> None:
        """Apply what differs. A workload is always told: the state may have decided what was never written."""
        seen: dict[tuple[type[Any], str], Definition] = {}
        queues: tuple[Definition, ...] = (*facts.cohorts, *facts.cluster_queues, *facts.local_queues)
        for definition in (*facts.flavors, *queues, *facts.namespaces, *facts.checks):
            seen[type(definition), _key(definition)] = definition
        for key, definition in seen.items():
            if self._known.get(key) != definition:
                self._state.apply(DefinitionChanged(definition))
        for kind, name in self._known.keys() - seen.keys():
            self._state.apply(DefinitionGone(kind, name))
        self._known = seen
        present = {workload.key for workload in facts.workloads}
        for gone in self._state.entries.keys() - present:
            self._state.apply(WorkloadGone(gone))
        for workload in facts.workloads:
            self._state.apply(WorkloadChanged(workload))


def in_order_of_arrival(obj: Object) -> Object:
    """Give a Workload with the age of its job; among those of one second the uid, by which ties end, has the order."""
    metadata = obj.get("metadata") or {}
    created, _, version = str((metadata.get("annotations") or {}).get(ARRIVAL) or "").partition(" ")
    if obj.get("kind") != "Workload" or not version:
        return obj
    uid = f"{version:0>20} {metadata.get('uid') or ''}"
    return {**obj, "metadata": {**metadata, "creationTimestamp": created, "uid": uid}}


def _key(definition: Any) -> str:
    namespace = getattr(definition, "namespace", None)
    return f"{namespace}/{definition.name}" if namespace is not None else str(definition.name)
