"""Why a job of a cluster waits: what its Workload says, then what the core says on a copy of the cluster's objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from webhook.api.amounts import text
from webhook.api.snapshot.reader import snapshot
from webhook.api.state_of_workload import workload_state
from webhook.api.workload_owner import owner_of
from webhook.cli.live.rules_in_force import InForce
from webhook.cli.paths import shorter
from webhook.cluster.workloads.conditions import WAITING
from webhook.jobs.finish import finish_of
from webhook.jobs.job import Job
from webhook.jobs.read_job import QUEUE, read_job
from webhook.kube.condition_types import ADMITTED, EVICTED, FINISHED, QUOTA_RESERVED
from webhook.kube.conditions import find, holds
from webhook.offline.plan.objects import named_workload
from webhook.offline.plan.output import moment, pending_rows
from webhook.policy.queue_rules.deciding_clause import RuleClause, clause_of
from webhook.queue.cycle.until_stable import decide_until_stable
from webhook.queue.decisions import Pending
from webhook.queue.explain import explain, in_order
from webhook.queue.forecast import with_start
from webhook.queue.state import State
from webhook.store.objects import Object

SAID: Final = (QUOTA_RESERVED, ADMITTED, WAITING)
"""Conditions that are shown whatever they say."""
IF_TRUE: Final = (EVICTED, FINISHED)
NEXT_ROUND: Final = "it can be admitted in the next round"


def record(workload: Object, jobs: Mapping[str, str]) -> dict[str, Any]:
    """Return the state of a Workload as plain values; `jobs` names the job of one that was made here."""
    metadata = workload["metadata"]
    key = f"{metadata['namespace']}/{metadata['name']}"
    namespace, kind, name = owner_of(workload)
    named = f"{kind} {namespace}/{name}" if kind else jobs.get(key, f"Workload {key}")
    shown = [find(workload, type_) for type_ in SAID]
    shown += [find(workload, type_) for type_ in IF_TRUE if holds(workload, type_)]
    fields = ("type", "status", "reason", "message")
    return {
        "job": named,
        "workload": key,
        "localQueue": str(workload["spec"].get("queueName") or ""),
        "state": workload_state(workload)[0],
        "conditions": [{field: str(row.get(field) or "") for field in fields} for row in shown if row],
    }


def decided(objects: Iterable[Object], key: str, force: InForce, now: datetime) -> dict[str, Any]:
    """Return why the core lets a pending Workload wait: place, numbers, holders, clause and estimate, as plain values.

    Raises ValueError where the objects cannot be read.
    """
    objects = tuple(objects)
    state, at = State.from_snapshot(snapshot(objects, force.settings)), int(now.timestamp() * 1000)
    decide_until_stable(state, force.rules, at)
    told, entry, jobs = explain(state, key), state.entries.get(key), _jobs(objects)
    if told is None or entry is None:
        return {"message": NEXT_ROUND}
    told = with_start(state, told, at)
    (row,) = pending_rows([told], jobs)
    clause = clause_of(state, entry, told)
    waiting = in_order(state, told.cluster_queue) or []
    found = {
        **row,
        "waiting": len(waiting),
        "clause": _named(clause) if clause is not None else "",
        "holders": list(_holders(told, jobs)),
    }
    return {name: value for name, value in found.items() if value not in ("", None) and name != "job"}


def unqueued(objects: Iterable[Object], name: str, namespace: str) -> str:
    """Return why no queue holds a job, or that there is none of the name (`[KIND/]NAME`)."""
    kind, _, plain = name.rpartition("/")
    for obj in objects:
        there = obj["metadata"].get("namespace"), obj["metadata"]["name"]
        if there != (namespace, plain) or (kind and obj["kind"].lower() != kind.lower()):
            continue
        if (job := read_job(obj)) is not None:
            return f"no queue holds {obj['kind']} {namespace}/{plain}: {_why_unqueued(obj, job)}"
    return f'no queued job or Workload "{name}" in namespace {namespace}'


def _why_unqueued(obj: Object, job: Job) -> str:
    if finish_of(obj) is not None:
        return "it has ended"
    if named := named_workload(obj):  # the prebuilt one, or that of a group that is not complete
        return f'it waits for Workload "{named}"'
    return "it has no pods" if job.queue and not job.pod_sets else f"it names none (label {QUEUE})"


def lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Yield the explanation in a few lines: first the record, then what the core says."""
    queue = f" in LocalQueue {told['localQueue']}" if told["localQueue"] and told["state"] == "Pending" else ""
    yield f"{told['job']}: {told['state'].lower() if queue else told['state']}{queue}"
    for row in told["conditions"]:
        said = ": ".join(part for part in (row["reason"], row["message"]) if part)
        yield f"  {row['type']}={row['status']}  {said}"
    if not told["conditions"]:
        yield "  no condition yet: its reason has not been written"
    if "decision" in told:
        waiting: Mapping[str, str] = next((row for row in told["conditions"] if row["type"] == WAITING), {})
        yield from _decision(told["decision"], (waiting.get("reason"), waiting.get("message")))


def _decision(found: Mapping[str, Any], said: tuple[str | None, str | None]) -> Iterator[str]:
    """Yield what the core says; reason and message only where the Workload does not say the same."""
    if "clusterQueue" not in found:
        yield f"  {found['message']}"
        return
    place = f"position {found['position']} of {found['waiting']}" if found.get("position") else "pending"
    yield f"  {place} in ClusterQueue {found['clusterQueue']}"
    if (found["reason"], found.get("message")) != said:
        yield f"  {': '.join(filter(None, (found['reason'], found.get('message'))))}"
    for holder in found["holders"]:
        until = f", expected to end {holder['ends']}" if holder.get("ends") else ""
        yield f"  must end first: {holder['job']} holds {holder['amount']} {holder['resource']}{until}"
    if found.get("clause"):
        yield f"  decided by: {found['clause']}"
    if found.get("start"):
        yield f"  estimated start: {found['start']}"
    elif found.get("startUnknown"):
        yield f"  estimated start: unknown, {found['startUnknown']}"


def _named(clause: RuleClause) -> str:
    """Return a clause by its rule and point, and where it is written."""
    where = f" ({shorter(Path(clause.file))}:{clause.line})" if clause.file else ""
    return f"rule {clause.rule}, {clause.point}{where}"


def _jobs(objects: Iterable[Object]) -> dict[str, str]:
    """Name the job of each Workload."""
    found = {}
    for workload in (obj for obj in objects if obj["kind"] == "Workload"):
        space, kind, name = owner_of(workload)
        if kind:
            found[f"{space}/{workload['metadata']['name']}"] = f"{kind} {space}/{name}"
    return found


def _holders(pending: Pending, jobs: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for shortage in pending.shortages:
        for holder in shortage.holders:
            ends = {"ends": moment(holder.ends)} if holder.ends is not None else {}
            held = {"amount": text(shortage.resource, holder.amount), "resource": shortage.resource}
            yield {"job": jobs.get(holder.workload, f"Workload {holder.workload}"), **held, **ends}
