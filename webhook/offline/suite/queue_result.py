"""The queue's decision for the object of a case, by the queue core on the case's objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from webhook.api.configuration.read import settings_among
from webhook.api.configuration.sections import QueueSettings
from webhook.api.pending_message import message_of
from webhook.api.snapshot.reader import snapshot
from webhook.offline.dryrun.queues import goes_past
from webhook.offline.plan.make_plan import make_plan
from webhook.offline.plan.objects import cluster_of
from webhook.policy.bundle import Bundle
from webhook.policy.queue_rules.files import DEFAULT, names_of, rules_by_settings
from webhook.queue.rules import Rules

RulesFor = Callable[[QueueSettings | None], Rules]
"""Gives the queue's rules as settings of the queues have them, if there are any."""


@dataclass(frozen=True, slots=True)
class QueueResult:
    """The decision: admitted, pending or none (the object waits in no queue); the rest where it is known."""

    decision: str
    queue: str = ""
    position: int = 0
    reason: str = ""
    message: str = ""
    victims: tuple[str, ...] = ()


def rules_of(bundle: Bundle, others: Sequence[str] = (), settings: QueueSettings | None = None) -> Rules:
    """Compile the rules of a bundle's QueuePolicies, else the `others`, as settings have them. Raises SourceError."""
    names = names_of(bundle.queue_policies) or others or (DEFAULT,)
    return rules_by_settings(bundle.queue_policies, names, settings)


def queue_result(
    obj: dict[str, Any],
    others: Iterable[dict[str, Any]],
    rules: RulesFor,
    now: float,
    settings: QueueSettings | None = None,
) -> QueueResult:
    """Decide about an object among others at a time (seconds since 1970). Rules are asked for where a queue decides.

    `settings` of the queues hold where no object is a Configuration.
    """
    if goes_past(obj):
        return QueueResult("none")
    metadata = obj.get("metadata") or {}
    wanted = f"{obj.get('kind')} {metadata.get('namespace')}/{metadata.get('name')}"
    cluster = cluster_of([*others, obj], stored=True, settings=settings)
    key = next((k for k, job in cluster.jobs.items() if job == wanted), None)
    if key is None:
        return QueueResult("none")
    plan = make_plan(
        snapshot(cluster.objects, settings), rules(settings_among(cluster.objects) or settings), int(now * 1000)
    )
    victims = tuple(cluster.jobs.get(p.workload, p.workload) for p in plan.preempted if p.preemptor == key)
    for admitted in plan.admitted:
        if admitted.workload == key:
            return QueueResult("admitted", admitted.cluster_queue, victims=victims)
    for pending in plan.pending:
        if pending.workload == key:
            place = (pending.cluster_queue, pending.position, str(pending.reason), message_of(pending))
            return QueueResult("pending", *place, victims=victims)
    return QueueResult("none")
