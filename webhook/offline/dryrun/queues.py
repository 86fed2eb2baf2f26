"""The queue decisions for all objects of a dry-run together: one plan over the cluster and the jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from webhook.api.configuration.sections import QueueSettings
from webhook.api.pending_message import message_of
from webhook.api.shortage_sentence import sentence_of
from webhook.api.snapshot.reader import snapshot
from webhook.jobs.read_job import read_job
from webhook.kube.fields import at
from webhook.offline.dryrun.evaluate import Trial
from webhook.offline.dryrun.outcome import ObjectOutcome, QueueOutcome
from webhook.offline.plan.make_plan import QueuePlan, plan_of
from webhook.offline.plan.objects import Cluster, cluster_of
from webhook.queue.decisions import Pending
from webhook.queue.pending.impossible import impossible
from webhook.queue.pending.queue import Status
from webhook.queue.rules import Rules
from webhook.queue.state import State

_BYPASSES: Final = "bypasses its queue"
PAST: Final = QueueOutcome(_BYPASSES, message="it sets spec.nodeName, so a scheduling gate cannot hold it")
UNGATED: Final = QueueOutcome(
    _BYPASSES, message="no policy adds the scheduling gate that holds a Pod; add the policy suspend-pods"
)
_DOORS: Final = frozenset({"LocalQueue", "Queue"})


def with_queues(
    trial: Trial, known: Iterable[dict[str, Any]], rules: Rules, now: float, settings: QueueSettings | None = None
) -> Trial:
    """Add to each job that is let in what its queue would do, at a time in seconds; nothing where no queue is known.

    `known` are the objects of the cluster; those that were tried stand in as they would be stored. `settings`
    count where no Configuration is among them.
    """
    tried = {(o.ref.kind, o.ref.namespace, o.ref.name) for o in trial.outcomes}
    objects = [o for o in known if _key(o) not in tried]
    admitted = [o.after for o in trial.outcomes if o.allowed and o.after is not None]
    if not any(str(o.get("kind")) in _DOORS for o in (*objects, *admitted)):
        return trial
    cluster = cluster_of([*objects, *(o for o in admitted if not goes_past(o))], stored=True, settings=settings)
    state = State.from_snapshot(snapshot(cluster.objects, settings))
    found = decisions(cluster, plan_of(state, rules, int(now * 1000)), state)
    return replace(trial, outcomes=tuple(_with(o, found) for o in trial.outcomes))


def decisions(cluster: Cluster, plan: QueuePlan, state: State) -> dict[str, QueueOutcome]:
    """Return what a plan decided by job, named `Kind namespace/name`; `state` is how it stands afterwards."""
    found: dict[str, QueueOutcome] = {}
    for admitted in plan.admitted:
        victims = [cluster.jobs.get(p.workload, p.workload) for p in plan.preempted if p.preemptor == admitted.workload]
        found[cluster.jobs.get(admitted.workload, "")] = QueueOutcome(
            "admitted, borrowing" if admitted.borrowing else "admitted", admitted.cluster_queue, preempts=tuple(victims)
        )
    for pending in plan.pending:
        found[cluster.jobs.get(pending.workload, "")] = _pending(pending, state)
    return found


def _pending(pending: Pending, state: State) -> QueueOutcome:
    entry = state.entries[pending.workload]
    if entry.status == Status.WAITING and entry.pending_queue is not None and state.rules is not None:
        shortages = impossible(entry.pending_queue, entry.workload, entry.plan(), state.rules)
        if shortages is not None:
            told = sentence_of(shortages) or message_of(pending)
            return QueueOutcome("can never be admitted", pending.cluster_queue, 0, pending.reason, told)
    return QueueOutcome("pending", pending.cluster_queue, pending.position, pending.reason, message_of(pending))


def goes_past(obj: dict[str, Any]) -> bool:
    """Return whether a new object names a queue and no scheduling gate holds it: a Pod may."""
    job = read_job(obj)
    if job is None or not job.kind.gate or not job.queue or obj.get("status"):
        return False
    return not job.suspended or bool(at(obj, ("spec", "nodeName")))


def _with(outcome: ObjectOutcome, found: dict[str, QueueOutcome]) -> ObjectOutcome:
    if outcome.allowed and outcome.after is not None and goes_past(outcome.after):
        return replace(outcome, queue=PAST if at(outcome.after, ("spec", "nodeName")) else UNGATED)
    queue = found.get(f"{outcome.ref.kind} {outcome.ref.namespace}/{outcome.ref.name}") if outcome.allowed else None
    return outcome if queue is None else replace(outcome, queue=queue)


def _key(obj: dict[str, Any]) -> Sequence[str]:
    metadata = obj.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return str(obj.get("kind")), str(metadata.get("namespace") or ""), str(metadata.get("name"))
