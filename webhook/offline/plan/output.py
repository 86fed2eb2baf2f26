"""A plan as plain values for JSON and YAML, and in the form in which Kueue's cases and traces are compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from webhook.api.amounts import text, texts
from webhook.api.pending_message import message_of, start_unknown_of
from webhook.kube.condition_types import ADMITTED, QUOTA_RESERVED
from webhook.kube.times import time_text
from webhook.offline.plan.make_plan import QueuePlan
from webhook.queue.decisions import Admitted, Pending, Reason, Shortage


def document(plan: QueuePlan, jobs: Mapping[str, str]) -> dict[str, Any]:
    """Return a plan as a document; `jobs` names the job that a Workload was made of, where it was."""
    return {
        "admitted": [_named(_admitted(a), a.workload, jobs) for a in plan.admitted],
        "preempted": [
            {"workload": p.workload, "clusterQueue": p.cluster_queue, "reason": p.reason.value, "by": p.preemptor}
            for p in plan.preempted
        ],
        "evicted": [
            {"workload": e.workload, "clusterQueue": e.cluster_queue, "reason": e.reason} for e in plan.evicted
        ],
        "pending": pending_rows(plan.pending, jobs),
        "cycles": plan.cycles,
        "stable": plan.stable,
    }


def outcome(plan: QueuePlan) -> dict[str, Any]:
    """Return a plan in the form that Kueue's cases and the steps of its traces are judged in."""
    return {
        "admitted": {
            a.workload: {
                "clusterQueue": a.cluster_queue,
                "state": ADMITTED if a.admitted else QUOTA_RESERVED,
                "podSets": _pod_sets(a),
            }
            for a in plan.admitted
        },
        "preempted": {p.workload: p.reason.value for p in plan.preempted},
        "preemptedBy": {p.workload: p.preemptor for p in plan.preempted},
        "pending": sorted(p.workload for p in plan.pending),
        "pendingDetail": {
            p.workload: {"queue": p.place.value, "reason": _in_kueue(p.reason).value, "message": message_of(p)}
            for p in plan.pending
        },
    }


def _in_kueue(reason: Reason) -> Reason:
    """Return the nearest reason that Kueue has: it says of what stands behind a head only that it was not looked at."""
    return Reason.NOT_CONSIDERED if reason == Reason.BEHIND_HEAD else reason


def moment(milliseconds: int) -> str:
    """Write a time of the core as RFC 3339, in UTC."""
    return time_text(datetime.fromtimestamp(milliseconds / 1000, UTC))


def _named(made: dict[str, Any], workload: str, jobs: Mapping[str, str]) -> dict[str, Any]:
    return {"workload": workload, **({"job": jobs[workload]} if workload in jobs else {}), **made}


def _admitted(admitted: Admitted) -> dict[str, Any]:
    return {
        "clusterQueue": admitted.cluster_queue,
        "state": ADMITTED if admitted.admitted else QUOTA_RESERVED,
        "borrowing": admitted.borrowing,
        "podSets": _pod_sets(admitted),
    }


def _pod_sets(admitted: Admitted) -> list[dict[str, Any]]:
    return [
        {"name": p.name, "count": p.count, "flavors": dict(p.flavors), "resourceUsage": texts(p.resource_usage)}
        for p in admitted.pod_sets
    ]


def pending_rows(pending: Iterable[Pending], jobs: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what waits; workloads that wait for the same share what is told of it."""
    written: dict[tuple[str, str, int], dict[str, Any]] = {}
    rows = []
    for p in pending:
        shared = written.get(says := (p.message, p.outcome, id(p.shortages)))
        if shared is None:
            shared = {"message": message_of(p), "shortages": [_shortage(s) for s in p.shortages]}
            written[says] = shared
        rows.append(_named(_pending(p, start_unknown(p, jobs), **shared), p.workload, jobs))
    return rows


def start_unknown(pending: Pending, jobs: Mapping[str, str]) -> str:
    """Return why there is no estimated start, with the name of the job that it depends on; empty where there is one."""
    named, why = pending.start_job, start_unknown_of(pending.start_unknown, pending.start_blocked)
    return why.replace(named, jobs.get(named, named), 1) if named else why


def _pending(pending: Pending, unknown: str, message: str, shortages: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "clusterQueue": pending.cluster_queue,
        "queue": pending.place.value,
        "reason": pending.reason.value,
        "message": message,
        **({"position": pending.position} if pending.position else {}),
        **({"start": moment(pending.start)} if pending.start is not None else {}),
        **({"startUnknown": unknown} if unknown else {}),
        "shortages": shortages,
    }


def _shortage(shortage: Shortage) -> dict[str, Any]:
    numbers = {name: text(shortage.resource, getattr(shortage, name)) for name in ("asked", "free", "most", "nominal")}
    return {
        "podSet": shortage.pod_set,
        "flavor": shortage.flavor,
        "resource": shortage.resource,
        **numbers,
        "borrowed": text(shortage.resource, shortage.borrowed),
        **({"note": shortage.note} if shortage.note else {}),
        "holders": [
            {
                "workload": h.workload,
                "clusterQueue": h.cluster_queue,
                "amount": text(shortage.resource, h.amount),
                **({"ends": moment(h.ends)} if h.ends is not None else {}),
            }
            for h in shortage.holders
        ],
    }
