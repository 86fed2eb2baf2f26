"""The entries of `status.admissionChecks`: which are asked, how they are reset, what their answers come to. Pure.

The second phase of admission (KEP 993): a Workload with quota is admitted when each check that its ClusterQueue asks
for on its flavors is Ready. Retry gives the quota back, Rejected deactivates the Workload.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from webhook.api.snapshot.quota import milliseconds
from webhook.jobs.describe import at
from webhook.store.objects import Object

PENDING: Final = "Pending"
READY: Final = "Ready"
RETRY: Final = "Retry"
REJECTED: Final = "Rejected"
States = Sequence[dict[str, Any]]


def states_of(workload: Object) -> States:
    """Give the entries of a Workload."""
    found = at(workload, ("status", "admissionChecks"))
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def asked(queue: Object | None, admission: Object) -> list[str]:
    """Name the checks that a ClusterQueue asks for on the flavors of an admission, sorted."""
    flavors = {f for pods in admission.get("podSetAssignments") or () for f in (pods.get("flavors") or {}).values()}
    return sorted({name for name, only in _uses(queue) if not only or not flavors.isdisjoint(only)})


def _uses(queue: Object | None) -> Iterator[tuple[str, list[str]]]:
    spec = at(queue, ("spec",)) or {}
    for name in spec.get("admissionChecks") or ():
        yield str(name), []
    for use in at(spec, ("admissionChecksStrategy", "admissionChecks")) or ():
        yield str(use.get("name")), list(use.get("onFlavors") or ())


def synced(states: States, names: Iterable[str], now: str) -> list[dict[str, Any]]:
    """Give the entries for these checks: answers stay, what is new is Pending, what is not asked any more goes."""
    known = {row.get("name"): row for row in states}
    return [known.get(name) or _pending(name, now) for name in sorted(names)]


def _pending(name: str, now: str) -> dict[str, Any]:
    return {"name": name, "state": PENDING, "message": "", "lastTransitionTime": now}


def reset(states: States, now: str) -> list[dict[str, Any]]:
    """Give the entries after an eviction: all Pending, and how often each asked for another try."""
    return [row if row.get("state") == PENDING else _reset(row, now) for row in states]


def _reset(row: dict[str, Any], now: str) -> dict[str, Any]:
    state = str(row.get("state"))
    new = {**_pending(str(row.get("name")), now), "message": f"Reset to Pending after eviction. Previously: {state}"}
    if row.get("requeueAfterSeconds") is not None:
        new["requeueAfterSeconds"] = row["requeueAfterSeconds"]
    if row.get("retryCount") is not None:
        new["retryCount"] = _count(row, "retryCount")
    if state == RETRY:
        new["retryCount"] = _count(row, "retryCount") + 1
    return new


def retry_at(states: States) -> str:
    """Give the time before which nothing is to be tried again, as Kubernetes writes it; "" where no check says so.

    What is no number of seconds that the API allows (an int32 from 0 on) counts as 0.
    """
    times = [
        milliseconds(row["lastTransitionTime"]) + 1000 * _count(row, "requeueAfterSeconds")
        for row in states
        if row.get("state") == RETRY and row.get("requeueAfterSeconds") is not None and row.get("lastTransitionTime")
    ]
    return stamp(max(times)) if times else ""


def stamp(at: int) -> str:
    """Write a time to wait for (milliseconds since the epoch) as the API does: in whole seconds, never earlier."""
    return (datetime.fromtimestamp(0, UTC) + timedelta(seconds=-(-at // 1000))).strftime("%Y-%m-%dT%H:%M:%SZ")


def _count(row: dict[str, Any], field: str) -> int:
    """Give a number of an entry; 0 where it is none, or none that the API allows."""
    value = row.get(field)
    return value if type(value) is int and 0 <= value < 2**31 else 0


def message(states: States, state: str) -> str:
    """Say which checks are in a state, with what they say; "" where none is."""
    named = sorted((str(r.get("name")), str(r.get("message") or "")) for r in states if r.get("state") == state)
    parts = [f'"{name}" ({said})' if said else f'"{name}"' for name, said in named]
    return f"AdmissionCheck{'s' if len(parts) > 1 else ''} in {state} state: {'; '.join(parts)}" if parts else ""
