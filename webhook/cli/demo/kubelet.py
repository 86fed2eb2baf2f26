"""Runs the jobs of `sluice run`: an admitted job or plain Pod ends after its time. Jobs make no pods here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from webhook.jobs.finish import finish_of
from webhook.jobs.read_job import read_job
from webhook.kube.fields import at
from webhook.kube.gvk import GroupVersionKind
from webhook.store.errors import NotFound
from webhook.store.objects import EventType, Object, ObjectStore, key_of

RUN_SECONDS: Final = "sluice.dev/run-seconds"
"""An annotation of a job or of its pod template: how long the job runs."""
KEPT: Final = ("spec", "ttlSecondsAfterFinished")
"""After so many seconds a finished Job is deleted, as by the controller of Kubernetes."""


class Kubelet:
    """Watches the kinds given, and ends each job that is not suspended once it ran for its time."""

    def __init__(self, store: ObjectStore, kinds: tuple[GroupVersionKind, ...], seconds: float) -> None:
        self._store, self._kinds, self._seconds = store, kinds, seconds
        self._running: dict[str, asyncio.Task[None]] = {}

    async def run(self, told: Callable[[str, Object], None]) -> None:
        """Run until cancelled; `told` hears `started`, `stopped` and `finished` of each job."""
        try:
            async with asyncio.TaskGroup() as group:
                for gvk in self._kinds:
                    group.create_task(self._follow(gvk, told))
        finally:
            for task in self._running.values():
                task.cancel()
            await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _follow(self, gvk: GroupVersionKind, told: Callable[[str, Object], None]) -> None:
        async for event in self._store.watch(gvk, "0"):
            uid = event.object["metadata"]["uid"]
            if event.type is EventType.DELETED:
                self._stop(uid)
                continue
            job = read_job(event.object)
            if job is None or finish_of(event.object) is not None:
                continue
            if job.suspended is False and uid not in self._running:
                told("started", event.object)
                self._running[uid] = asyncio.create_task(self._play(gvk, event.object, told))
            elif job.suspended is not False and self._stop(uid):
                told("stopped", event.object)

    def _stop(self, uid: str) -> bool:
        """Stop a job, if it runs; say whether it did."""
        task = self._running.pop(uid, None)
        if task is not None:
            task.cancel()
        return task is not None

    async def _play(self, gvk: GroupVersionKind, job: Object, told: Callable[[str, Object], None]) -> None:
        await asyncio.sleep(seconds_of(job, self._seconds))
        namespace, name = key_of(job)
        kind = "Complete" if gvk.kind == "Job" else "Succeeded"
        status: Object = {"conditions": [{"type": kind, "status": "True", "message": "ran for its time"}]}
        if gvk.kind == "Pod":
            status = {"phase": "Succeeded"}
        try:
            done = await self._store.patch(gvk, name, namespace, {"status": status}, subresource="status")
            told("finished", done)
            if (kept := at(done, KEPT)) is not None:
                await asyncio.sleep(float(kept))
                await self._store.delete(gvk, name, namespace)
        except NotFound:
            return


def seconds_of(job: Object, default: float) -> float:
    """Return how long a job runs: by its annotation, else its first template's, else `default`; nonsense is absent."""
    described = read_job(job)
    holders: list[dict[str, Any]] = [job, *(p.template for p in (described.pod_sets if described else ()))]
    for holder in holders:
        text = ((holder.get("metadata") or {}).get("annotations") or {}).get(RUN_SECONDS)
        try:
            return max(0.0, min(float(text or ""), 3600.0))
        except ValueError:
            continue
    return default
