"""Tables of the definitions that a state is built from: queues, cohorts, flavors, namespaces and checks, by name.

The cohort trees and pending queues that follow from them are built in `redefine.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeVar

from webhook.queue.events import Definition
from webhook.queue.model import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    Flavor,
    LocalQueue,
    Namespace,
    Requeueing,
    Snapshot,
    StopPolicy,
    Workload,
)

T = TypeVar("T")
TABLES: Final[dict[type[Any], str]] = {
    Flavor: "flavors",
    ClusterQueue: "cluster_queues",
    Cohort: "cohorts",
    LocalQueue: "local_queues",
    Namespace: "namespaces",
    AdmissionCheck: "checks",
}


class Definitions:
    """Six tables. LocalQueues are keyed by `namespace/name`, all others by name. `requeueing` orders the evicted."""

    def __init__(self) -> None:
        self.flavors: dict[str, Flavor] = {}
        self.cluster_queues: dict[str, ClusterQueue] = {}
        self.cohorts: dict[str, Cohort] = {}
        self.local_queues: dict[str, LocalQueue] = {}
        self.namespaces: dict[str, Namespace] = {}
        self.checks: dict[str, AdmissionCheck] = {}
        self.requeueing = Requeueing()

    def define(self, snapshot: Snapshot) -> None:
        """Add all definitions of a snapshot."""
        self.requeueing = snapshot.requeueing
        queues: tuple[Definition, ...] = (*snapshot.cluster_queues, *snapshot.cohorts, *snapshot.local_queues)
        others: tuple[Definition, ...] = (*snapshot.flavors, *snapshot.namespaces, *snapshot.checks)
        for definition in (*queues, *others):
            self.put(definition)

    def defined(self, workloads: tuple[Workload, ...]) -> Snapshot:
        """Return the definitions, sorted by name, as a snapshot with these workloads."""
        return Snapshot(
            flavors=_sorted(self.flavors),
            cluster_queues=_sorted(self.cluster_queues),
            cohorts=_sorted(self.cohorts),
            local_queues=_sorted(self.local_queues),
            namespaces=_sorted(self.namespaces),
            checks=_sorted(self.checks),
            workloads=workloads,
            requeueing=self.requeueing,
        )

    def put(self, definition: Definition) -> Definition | None:
        """Add or replace a definition. Return the one that it replaced, or None."""
        table, key = self._table(type(definition)), key_of(definition)
        before = table.get(key)
        table[key] = definition
        return before

    def drop(self, kind: type[Definition], key: str) -> Definition | None:
        """Remove a definition and return it."""
        return self._table(kind).pop(key, None)

    def queues_of(self, flavor: str = "", check: str = "") -> Iterator[ClusterQueue]:
        """Yield the ClusterQueues that name a flavor, or a check."""
        for queue in self.cluster_queues.values():
            flavors = (quotas.name for group in queue.resource_groups for quotas in group.flavors)
            checks = (use.name for use in queue.admission_checks_strategy.admission_checks)
            if (flavor and flavor in flavors) or (check and check in checks):
                yield queue

    def why_not_queued(self, workload: Workload) -> str:
        """Return why a workload without quota is in no queue, "" if it can be in one."""
        if not workload.active:
            return "the workload is not active"
        if workload.evicted:
            return "the workload is being evicted"
        if workload.held:
            return f"the workload is {workload.held}"
        if not workload.queue_name:
            return "no queue name is set"
        local = self.local_queues.get(local_of(workload))
        if local is None:
            return f'LocalQueue "{workload.queue_name}" does not exist'
        if local.problem:
            return f"LocalQueue {local.name}: {local.problem}"
        if local.stop_policy != StopPolicy.NONE:
            return f"LocalQueue {local.name} is stopped"
        if not local.cluster_queue:
            return f"LocalQueue {local.name} names no ClusterQueue"
        if local.cluster_queue not in self.cluster_queues:
            return f'ClusterQueue "{local.cluster_queue}" does not exist'
        return ""

    def why_inactive(self, queue: ClusterQueue, *, in_cycle: bool) -> str:
        """Return why a queue admits nothing, "" if it does; `in_cycle`: its cohorts form a cycle."""
        if queue.problem:
            return queue.problem
        if queue.stop_policy != StopPolicy.NONE:
            return "it is stopped"
        if queue.cohort_name and in_cycle:
            return f"the parents of cohort {queue.cohort_name} form a cycle"
        if above := self._problem_above(queue.cohort_name):
            return above
        for group in queue.resource_groups:
            for flavor in group.flavors:
                if flavor.name not in self.flavors:
                    return f"ResourceFlavor {flavor.name} does not exist"
        for use in queue.admission_checks_strategy.admission_checks:
            check = self.checks.get(use.name)
            if check is None or not check.active:
                return f"AdmissionCheck {use.name} {'does not exist' if check is None else 'is not active'}"
            if check.problem:
                return f"AdmissionCheck {use.name}: {check.problem}"
        return ""

    def _problem_above(self, name: str) -> str:
        """Return what is wrong with the cohorts above a queue (which form no cycle), "" if nothing is."""
        while (cohort := self.cohorts.get(name)) is not None:
            if cohort.problem:
                return f"Cohort {name}: {cohort.problem}"
            name = cohort.parent
        return ""

    def _table(self, kind: type[Definition]) -> dict[str, Definition]:
        table: dict[str, Definition] = getattr(self, TABLES[kind])
        return table


def key_of(definition: Definition) -> str:
    """Return the key of a definition in its table."""
    if isinstance(definition, LocalQueue):
        return f"{definition.namespace}/{definition.name}"
    return definition.name


def local_of(workload: Workload) -> str:
    """Return the key of the LocalQueue that a workload names, whether there is one or not."""
    return f"{workload.namespace}/{workload.queue_name}"


def _sorted(table: dict[str, T]) -> tuple[T, ...]:
    return tuple(value for _, value in sorted(table.items()))
