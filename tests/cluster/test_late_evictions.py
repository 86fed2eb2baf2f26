"""Evictions that wait for their turn to be written: who ends meanwhile, or has no quota any more, is left alone."""

import asyncio

from tests.cluster.small_cluster import JOB, in_virtual_time, job, queues, small_cluster
from webhook.api.configuration.sections import QueueSettings, Retention
from webhook.cluster.api.kinds import CLUSTER_QUEUE, WORKLOAD
from webhook.cluster.background_writes import CONCURRENT_WRITES
from webhook.kube.conditions import find, holds
from webhook.store.errors import Refused
from webhook.store.memory import MemoryStore
from webhook.store.objects import merge

NAMES = [f"j{number}" for number in range(CONCURRENT_WRITES + 1)]
LIMIT = {"metadata": {"labels": {"kueue.x-k8s.io/max-exec-time-seconds": "2"}}}
DRAIN = {"spec": {"stopPolicy": "HoldAndDrain"}}


class Held(MemoryStore):
    """Writes of a condition of this type are done when `go` is set; `begun` are the Workloads, in order."""

    def __init__(self, type_):
        super().__init__()
        self.type_, self.begun, self.go = type_, [], asyncio.Event()

    async def patch(self, gvk, name, namespace, patch, **options):
        rows = (patch.get("status") or {}).get("conditions") or []
        if gvk == WORKLOAD and any((row["type"], row["status"]) == (self.type_, "True") for row in rows):
            self.begun.append(name)
            await self.go.wait()
        return await super().patch(gvk, name, namespace, patch, **options)


async def last_of(w, store):
    """The name of the job whose write has no place beside the others'; it completes before that gets one."""
    await w.until(lambda: len(store.begun) == CONCURRENT_WRITES, "as many writes as fit have begun")
    (name,) = [name for name in NAMES if (await w.workload(name))["metadata"]["name"] not in store.begun]
    await w.kubelet.end(name)
    await w.until_condition(name, "Finished")
    store.go.set()
    return name


def test_a_job_that_completes_before_its_eviction_is_written_is_not_evicted():
    """Its queue is drained: it would count as an eviction, and say that it is queued again."""

    async def go():
        store = Held("Evicted")
        async with small_cluster(*queues("20"), seconds=None, store=store) as w:
            await w.create(*map(job, NAMES))
            for name in NAMES:
                await w.until_runs(name)
            await store.patch(CLUSTER_QUEUE, "cq", None, DRAIN)
            last = await last_of(w, store)
            for name in NAMES:
                if name != last:
                    await w.until_condition(name, "QuotaReserved", "False")
            return await w.workload(last)

    ended = asyncio.run(go())
    assert find(ended, "Evicted") is None
    assert not ended["status"].get("schedulingStats")


def test_a_job_that_completes_before_it_is_deactivated_is_not_deleted(monkeypatch):
    """Its time was over, but it succeeded: its Workload stays active, and the job is no one that the queue gave up."""

    async def go():
        store = Held("DeactivationTarget")
        settings = QueueSettings(retention=Retention(after_deactivated=0))
        async with small_cluster(*queues("20"), seconds=None, store=store, settings=settings) as w:
            await w.create(*(merge(job(name), LIMIT) for name in NAMES))
            for name in NAMES:
                await w.until_runs(name)
            last = await last_of(w, store)

            async def others_are_gone():
                return [each["metadata"]["name"] for each in (await store.list(JOB)).items] == [last]

            await w.until(others_are_gone, "the others are deleted")
            await asyncio.sleep(10)
            return await w.job(last), await w.workload(last)

    _, ended = in_virtual_time(monkeypatch, go)
    assert (ended["spec"]["active"], find(ended, "Evicted")) == (True, None)


class Refusing(MemoryStore):
    """Admissions are refused when `go` is set."""

    def __init__(self):
        super().__init__()
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def patch(self, gvk, name, namespace, patch, **options):
        if "admission" in (patch.get("status") or {}):
            self.begun.set()
            await self.go.wait()
            raise Refused("no")
        return await super().patch(gvk, name, namespace, patch, **options)


def test_what_was_never_admitted_is_not_evicted(monkeypatch):
    """Its admission was still being written when its queue was drained, and is refused."""

    async def go():
        store = Refusing()
        async with small_cluster(*queues("1"), store=store) as w:
            await w.create(job("a"))
            await store.begun.wait()
            await store.patch(CLUSTER_QUEUE, "cq", None, DRAIN)
            await asyncio.sleep(1)
            store.go.set()
            await w.until_waits("a", "Suspended")
            await asyncio.sleep(10)
            return await w.workload("a")

    waits = in_virtual_time(monkeypatch, go)
    assert not holds(waits, "QuotaReserved")
    assert find(waits, "Evicted") is None
