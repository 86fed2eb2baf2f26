"""The real queue core behind `core.Core`: objects to a snapshot, the differences to its state, then its decisions.

The state lives on between rounds, so that what is parked stays parked; what the objects say always wins over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from webhook.api.snapshot import snapshot
from webhook.queue.cycle import decide
from webhook.queue.decisions import Decisions
from webhook.queue.events import DefinitionChanged, DefinitionGone, WorkloadChanged, WorkloadGone
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
        self._known: dict[tuple[type[Any], str], object] = {}

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
        self._follow(snapshot(objects))
        return decide(self._state, self._rules, now, self._reporter, BUDGET)

    def _follow(self, facts: Snapshot) -> None:
        """Apply what differs. A workload is always told: the state may have decided what was never written."""
        seen: dict[tuple[type[Any], str], object] = {}
        for part in (facts.flavors, facts.cohorts, facts.cluster_queues, facts.local_queues, facts.namespaces):
            for definition in part:
                seen[type(definition), _key(definition)] = definition
        for check in facts.checks:
            seen[type(check), check.name] = check
        for key, definition in seen.items():
            if self._known.get(key) != definition:
                self._state.apply(DefinitionChanged(definition))  # type: ignore[arg-type]
        for kind, name in self._known.keys() - seen.keys():
            self._state.apply(DefinitionGone(kind, name))
        self._known = seen
        present = {workload.key for workload in facts.workloads}
        for gone in self._state.entries.keys() - present:
            self._state.apply(WorkloadGone(gone))
        for workload in facts.workloads:
            self._state.apply(WorkloadChanged(workload))


def _key(definition: Any) -> str:
    namespace = getattr(definition, "namespace", None)
    return f"{namespace}/{definition.name}" if namespace is not None else str(definition.name)
