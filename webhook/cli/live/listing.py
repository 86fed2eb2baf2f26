"""Queues, Workloads and flavors of a cluster as rows, from what their status says. Pure: objects in, text out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from webhook.api.amounts import amount, text
from webhook.api.state_of_workload import workload_state
from webhook.api.workload_owner import owner_of
from webhook.kube.conditions import find

Object = Mapping[str, Any]
ACTIVE = "Active"


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table: the columns, those of them that only `-o wide` shows, and the rows."""

    columns: tuple[str, ...]
    wide: frozenset[str]
    rows: tuple[tuple[str, ...], ...]


def queues(cluster_queues: Iterable[Object], local_queues: Iterable[Object]) -> Sheet:
    """Return a row for each ClusterQueue, with the LocalQueues that lead to it."""
    leading = defaultdict(list)
    for local in local_queues:
        leading[local["spec"].get("clusterQueue")].append(
            f"{local['metadata']['namespace']}/{local['metadata']['name']}"
        )
    rows = []
    for queue in cluster_queues:
        name, spec, status = queue["metadata"]["name"], queue["spec"], queue.get("status") or {}
        rows.append((
            name,
            _cohort(spec),
            str(status.get("pendingWorkloads", 0)),
            str(status.get("admittedWorkloads", 0)),
            ", ".join(_used(spec, status)) or "-",
            _queue_state(queue),
            str(spec.get("queueingStrategy") or "BestEffortFIFO"),
            ", ".join(sorted(leading[name])) or "-",
        ))  # fmt: skip
    columns = ("Name", "Cohort", "Pending", "Admitted", "Used", "State", "Strategy", "Local queues")
    return Sheet(columns, frozenset({"Strategy", "Local queues"}), tuple(sorted(rows)))


def workloads(objects: Iterable[Object], now: datetime) -> Sheet:
    """Return a row for each Workload, those that wait last."""
    rows = []
    for workload in objects:
        metadata, spec, status = workload["metadata"], workload["spec"], workload.get("status") or {}
        _, kind, name = owner_of(dict(workload))
        state, why = workload_state(workload)
        rows.append((
            metadata["namespace"],
            metadata["name"],
            f"{kind}/{name}" if kind else "-",
            str(spec.get("queueName") or "-"),
            str((status.get("admission") or {}).get("clusterQueue") or "-"),
            state,
            _age(metadata.get("creationTimestamp"), now),
            str(spec.get("priority") or 0),
            why or "-",
        ))  # fmt: skip
    columns = ("Namespace", "Name", "Job", "Queue", "Cluster queue", "State", "Age", "Priority", "Message")
    return Sheet(columns, frozenset({"Priority", "Message"}), tuple(sorted(rows)))


def flavors(objects: Iterable[Object], cluster_queues: Sequence[Object], cohorts: Iterable[Object]) -> Sheet:
    """Return a row for each ResourceFlavor: its labels, what all queues and cohorts own of it, and what is used."""
    owned: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    used: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for owner in (*cluster_queues, *cohorts):
        for flavor, resource, number in _quotas(owner.get("spec") or {}):
            owned[flavor][resource] += number
    for queue in cluster_queues:
        for flavor, resource, number in _reserved(queue.get("status") or {}):
            used[flavor][resource] += number
    rows = []
    for obj in objects:
        name, spec = obj["metadata"]["name"], obj.get("spec") or {}
        parts = (f"{r} {text(r, used[name][r])}/{text(r, number)}" for r, number in sorted(owned[name].items()))
        labels = ",".join(f"{key}={value}" for key, value in sorted((spec.get("nodeLabels") or {}).items()))
        taints = ",".join(f"{t['key']}:{t.get('effect', '')}" for t in spec.get("nodeTaints") or ())
        rows.append((name, ", ".join(parts) or "-", labels or "-", taints or "-"))
    return Sheet(("Name", "Used", "Node labels", "Taints"), frozenset({"Taints"}), tuple(sorted(rows)))


def _queue_state(queue: Object) -> str:
    policy = queue["spec"].get("stopPolicy") or "None"
    if policy != "None":
        return f"Stopped ({policy})"
    condition = find(dict(queue), ACTIVE) or {}
    if condition.get("status") == "False":
        return str(condition.get("reason") or "Inactive")
    return "Active"


def _cohort(spec: Mapping[str, Any]) -> str:
    return str(spec.get("cohortName") or spec.get("cohort") or "-")


def _used(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Iterator[str]:
    """Yield `resource used/owned`, all flavors together."""
    owned: dict[str, int] = defaultdict(int)
    used: dict[str, int] = defaultdict(int)
    for _, resource, number in _quotas(spec):
        owned[resource] += number
    for _, resource, number in _reserved(status):
        used[resource] += number
    for resource in sorted(owned):
        yield f"{resource} {text(resource, used[resource])}/{text(resource, owned[resource])}"


def _quotas(spec: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    for group in spec.get("resourceGroups") or ():
        for flavor in group["flavors"]:
            for resource in flavor["resources"]:
                yield flavor["name"], resource["name"], amount(resource["name"], resource["nominalQuota"])


def _reserved(status: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    for flavor in status.get("flavorsReservation") or ():
        for resource in flavor.get("resources") or ():
            yield flavor["name"], resource["name"], amount(resource["name"], resource.get("total") or 0)


UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def _age(created: object, now: datetime) -> str:
    """Return a time as kubectl does: its largest unit."""
    if not isinstance(created, str):
        return "-"
    seconds = int((now - datetime.fromisoformat(created).astimezone(UTC)).total_seconds())
    unit, letter = next(((size, letter) for size, letter in UNITS if seconds >= size), (1, "s"))
    return f"{max(seconds, 0) // unit}{letter}"
