"""The entries of `status.admissionChecks`: which checks are required, reset after an eviction, retries. Pure.

The second phase of admission (KEP 993): a Workload with quota is admitted when each check that its ClusterQueue
requires for its flavors is Ready. Retry releases the quota, Rejected deactivates the Workload.

Whether all are Ready is asked in `webhook/queue/cycle/ready_checks.py`; `conditions.py` has the condition `Admitted`. A
check that is Rejected becomes a deactivation in `webhook/cluster/decision_writer.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from webhook.api.snapshot.queue_objects import checks_strategy
from webhook.kube.fields import at
from webhook.kube.times import milliseconds, time_text
from webhook.store.objects import Object

PENDING: Final = "Pending"
READY: Final = "Ready"
RETRY: Final = "Retry"
REJECTED: Final = "Rejected"
States = Sequence[dict[str, Any]]


def states_of(workload: Object) -> States:
    """Return the entries of `status.admissionChecks`."""
    rows = at(workload, ("status", "admissionChecks"))
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def asked(queue: Object | None, admission: Object) -> list[str]:
    """Return the checks that a ClusterQueue requires for the flavors of an admission, sorted by name."""
    flavors = {f for pods in admission.get("podSetAssignments") or () for f in (pods.get("flavors") or {}).values()}
    return checks_strategy(at(queue, ("spec",)) or {}).asked(flavors)


def always(queue: Object | None) -> list[str]:
    """Return the checks that a ClusterQueue requires whatever flavors it assigns, sorted by name."""
    spec = at(queue, ("spec",)) or {}
    flavors = {str(f.get("name")) for group in spec.get("resourceGroups") or () for f in group.get("flavors") or ()}
    return checks_strategy(spec).always(flavors)


def synced(states: States, names: Iterable[str], now: str) -> list[dict[str, Any]]:
    """Return the entries for these checks: existing ones are kept, new ones are Pending, others are removed."""
    known = {row.get("name"): row for row in states}
    return [known.get(name) or _pending(name, now) for name in sorted(names)]


def _pending(name: str, now: str) -> dict[str, Any]:
    return {"name": name, "state": PENDING, "message": "", "lastTransitionTime": now}


def reset(states: States, now: str) -> list[dict[str, Any]]:
    """Return the entries after an eviction: all Pending, with an increased `retryCount` if they were Retry.

    One that was Ready has no count afterwards. Source: resetChecksOnEviction in Kueue's pkg/workload/evict. One that
    was Rejected keeps its count, as Kueue's suite of provisioning expects of the object.
    """
    return [row if row.get("state") == PENDING else _reset(row, now) for row in states]


def _reset(row: dict[str, Any], now: str) -> dict[str, Any]:
    state = str(row.get("state"))
    new = {**_pending(str(row.get("name")), now), "message": f"Reset to Pending after eviction. Previously: {state}"}
    if row.get("requeueAfterSeconds") is not None:
        new["requeueAfterSeconds"] = row["requeueAfterSeconds"]
    if state == RETRY:
        new["retryCount"] = _count(row, "retryCount") + 1
    elif state == REJECTED and row.get("retryCount") is not None:
        new["retryCount"] = row["retryCount"]
    return new


def retry_at(states: States) -> str:
    """Return the time (RFC 3339) before which no retry is allowed; "" if no check is in the state Retry.

    An invalid `requeueAfterSeconds` (not an int32 from 0) counts as 0.
    """
    times = [
        milliseconds(row["lastTransitionTime"]) + 1000 * _count(row, "requeueAfterSeconds")
        for row in states
        if row.get("state") == RETRY and row.get("requeueAfterSeconds") is not None and row.get("lastTransitionTime")
    ]
    return stamp(max(times)) if times else ""


def stamp(at: int) -> str:
    """Format milliseconds since the epoch as RFC 3339 in whole seconds, rounded up."""
    return time_text(datetime.fromtimestamp(0, UTC) + timedelta(seconds=-(-at // 1000)))


def _count(row: dict[str, Any], field: str) -> int:
    """Return an integer field of an entry; 0 if it is missing or not valid in the API."""
    value = row.get(field)
    return value if type(value) is int and 0 <= value < 2**31 else 0


def message(states: States, state: str) -> str:
    """Return a message with the checks in a state and their messages; "" if there are none."""
    named = sorted((str(r.get("name")), str(r.get("message") or "")) for r in states if r.get("state") == state)
    parts = [f'"{name}" ({text})' if text else f'"{name}"' for name, text in named]
    return f"AdmissionCheck{'s' if len(parts) > 1 else ''} in {state} state: {'; '.join(parts)}" if parts else ""
