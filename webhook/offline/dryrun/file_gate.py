"""The queue gate over files: the queue part of a verdict, if the cluster were the objects of some files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from webhook.admission.queue_gate import QueueGate
from webhook.api.configuration.read import settings_among
from webhook.api.configuration.sections import QueueSettings
from webhook.api.snapshot.reader import snapshot
from webhook.api.workload_owner import owner_of
from webhook.jobs.read_job import read_job
from webhook.offline.plan.objects import cluster_of
from webhook.queue.cycle.until_stable import decide_until_stable
from webhook.queue.rules import Rules
from webhook.queue.state import State

Object = dict[str, Any]
QUEUES: Final = frozenset({"LocalQueue", "ClusterQueue"})
CLASSES: Final = ("WorkloadPriorityClass", "PriorityClass")


@dataclass(frozen=True, slots=True)
class SettledCore:
    """The state in which nothing changes any more, made of the objects of files, and the rules that led there."""

    state: State
    rules: Rules


class FileObjects:
    """Objects of files, as the gate asks for them."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._objects = tuple(objects)

    def local_queue(self, name: str, namespace: str) -> Object | None:
        """Return one LocalQueue, or None."""
        return next((q for q in reversed(self.local_queues(namespace)) if q["metadata"]["name"] == name), None)

    def local_queues(self, namespace: str) -> list[Object]:
        """Return the LocalQueues of a namespace."""
        return self._of("LocalQueue", namespace)

    def limit_ranges(self, namespace: str) -> list[Object]:
        """Return the LimitRanges of a namespace."""
        return self._of("LimitRange", namespace)

    def priority_classes(self) -> list[Object]:
        """Return the classes that jobs name, the workloads' own before the pods'."""
        return [o for kind in CLASSES for o in self._objects if o.get("kind") == kind]

    def _of(self, kind: str, namespace: str) -> list[Object]:
        return [o for o in self._objects if o.get("kind") == kind and o["metadata"]["namespace"] == namespace]


def file_gate(
    tried: Iterable[Object],
    known: Iterable[Object],
    rules: Rules,
    now: float,
    namespace: str = "default",
    settings: QueueSettings | None = None,
) -> QueueGate | None:
    """Return the gate of the `known` objects under rules at a time in seconds; None where no queue is among them.

    Jobs that are tried are not there yet, each for itself; `namespace` is that of those that name none. Requests count
    as a Configuration among the objects says, else the `settings`.
    """
    coming = {_key(o, namespace) for o in tried if read_job(o) is not None}
    there = [o for o in known if _key(o, namespace) not in coming]
    kept = (o for o in there if o.get("kind") != "Workload" or owner_of(o) not in coming)
    cluster = cluster_of(kept, stored=True, settings=settings)
    if not any(o.get("kind") in QUEUES for o in cluster.objects):
        return None
    facts, now_ms = snapshot(cluster.objects, settings), int(now * 1000)
    state = State.from_snapshot(facts)
    decide_until_stable(state, rules, now_ms)
    core, found = SettledCore(state, rules), settings_among(cluster.objects) or settings
    return QueueGate(FileObjects(cluster.objects), core, lambda: now_ms, found)


def _key(obj: Object, namespace: str) -> tuple[str, str, str]:
    metadata = obj.get("metadata") or {}
    return str(metadata.get("namespace") or namespace), str(obj.get("kind")), str(metadata.get("name"))
