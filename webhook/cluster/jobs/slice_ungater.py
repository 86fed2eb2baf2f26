"""Lets the pods of elastic jobs go: as many of a pod set as their job's admitted Workload gives, by name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from webhook.api.snapshot.slices import counts
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.api.leader_writer import LeaderWriter
from webhook.cluster.api.view import View
from webhook.cluster.workloads.conditions import WAITING
from webhook.jobs.elastic import POD_SET, SLICE, annotation, is_gated, without_gate
from webhook.jobs.finish import finish_of
from webhook.kube.condition_types import ADMITTED, EVICTED, FINISHED
from webhook.kube.conditions import find, holds
from webhook.kube.fields import at
from webhook.kube.gvk import POD
from webhook.store.objects import Object, key_of


def chain_of(pod: Object) -> str:
    """Return the chain of Workloads that a pod belongs to, "" where it is no pod of an elastic job."""
    return annotation(pod, SLICE) if pod.get("kind") == POD.kind else ""


class SliceUngater:
    """Takes the gate off; one chain after the other, so that no two give the same place away."""

    def __init__(self, view: View, writer: LeaderWriter) -> None:
        self._view, self._writer = view, writer
        self._lock = asyncio.Lock()

    async def ungate_of(self, workload: Object | None) -> None:
        """Let the pods of a Workload's chain go, where it belongs to an elastic job."""
        if workload is not None and (chain := annotation(workload, SLICE)):
            await self.ungate(key_of(workload)[0], chain)

    async def ungate(self, namespace: str, chain: str) -> None:
        """Let as many pods of a chain go as its admitted Workload has place for. Raises Conflict."""
        async with self._lock:
            granted = self._granted(namespace, chain)
            pods = self._view.informer(POD).of(namespace, (SLICE, chain))
            for pod in to_let_go(granted, pods):
                await self._writer.replace(without_gate(pod))

    def _granted(self, namespace: str, chain: str) -> dict[str, int]:
        """Return the pods that the chain may run: those of its largest Workload that is admitted and stays so."""
        found = [
            counts(workload)
            for workload in self._view.informer(WORKLOAD).of(namespace, (SLICE, chain))
            if holds(workload, ADMITTED)
            and find(workload, WAITING) is None  # about to be taken away, which is news of the job
            and not (holds(workload, EVICTED) or holds(workload, FINISHED))
            and not at(workload, ("metadata", "deletionTimestamp"))
        ]
        return max(found, key=lambda each: sum(each.values()), default={})


def to_let_go(granted: dict[str, int], pods: Iterable[Object]) -> list[Object]:
    """Choose the pods to let go: of each pod set as many as are granted beyond those that go already. Pure."""
    room, waiting = dict(granted), []
    for pod in sorted(pods, key=key_of):
        name = str((at(pod, ("metadata", "labels")) or {}).get(POD_SET) or "")
        if is_gated(pod):
            waiting.append((name, pod))
        elif finish_of(pod) is None:
            room[name] = room.get(name, 0) - 1
    chosen = []
    for name, pod in waiting:
        if room.get(name, 0) > 0:
            room[name] -= 1
            chosen.append(pod)
    return chosen
