"""The status of queues does not wait for what each of many Workloads is told."""

import asyncio

from tests.cluster.small_cluster import job, queues, small_cluster
from tests.patience import until
from webhook.cluster.api.kinds import CLUSTER_QUEUE, WORKLOAD
from webhook.cluster.workloads.conditions import WAITING
from webhook.store.memory import MemoryStore


class Slow(MemoryStore):
    """An API server that takes for ever to write why a Workload waits."""

    asked = 0

    async def patch(self, gvk, name, namespace, patch, **options):
        conditions = (patch.get("status") or {}).get("conditions") or ()
        if gvk == WORKLOAD and any(row["type"] == WAITING for row in conditions):
            self.asked += 1
            await asyncio.Event().wait()
        return await super().patch(gvk, name, namespace, patch, **options)


def test_counts_of_a_queue_come_before_each_was_told_why_it_waits():
    """At 50 writes a second, telling 50,000 Workloads takes more than half an hour."""

    async def go():
        store = Slow()
        async with small_cluster(*queues("1"), store=store, seconds=None) as w:
            await w.create(*(job(f"j{number}") for number in range(5)))
            await until(lambda: store.asked, "one is about to be told")

            async def pending():
                queue = await store.get(CLUSTER_QUEUE, "cq", "")
                return (queue.get("status") or {}).get("pendingWorkloads") == 4

            await until(pending, "the queue says how many wait")

    asyncio.run(go())
