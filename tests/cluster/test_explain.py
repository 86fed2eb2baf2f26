"""When the messages of waiting Workloads are written: at once for a new reason, later for new numbers, never twice."""

import asyncio
from collections.abc import Iterator

from tests.cluster.world import CLOCKS
from webhook.cluster.api.kinds import QUEUE_KINDS, WORKLOAD
from webhook.cluster.api.view import View
from webhook.cluster.api.writer import LeaderWriter
from webhook.cluster.queues.pending_reasons import AGAIN, Explainer
from webhook.kube.conditions import find
from webhook.queue.decisions import Pending, Place, Reason
from webhook.store.memory import MemoryStore


class Core:
    """Says of one workload why it waits."""

    def __init__(self) -> None:
        self.revision, self.message, self.asked = 1, "3 free", 0

    def waiting(self) -> Iterator[Pending]:
        self.asked += 1
        yield Pending("team-a/w", "cq", Place.INADMISSIBLE, Reason.WAITING_FOR_QUOTA, self.message)


def test_new_numbers_come_later_but_come():
    """A message with other numbers is held back for a minute, and then written though nothing else happens."""

    async def go():
        store, clock, core = MemoryStore(), [10 * AGAIN], Core()
        view = View(store, QUEUE_KINDS)
        head = {"apiVersion": WORKLOAD.api_version, "kind": "Workload"}
        await store.create({**head, "metadata": {"name": "w", "namespace": "team-a"}, "spec": {}})
        view.start()
        await view.wait()
        explainer = Explainer(view, LeaderWriter(view, lambda: True, CLOCKS.now), core, lambda: clock[0])
        seen = []
        for later, revision, message in (
            (0, 1, "3 free"),
            (500, 2, "2 free"),
            (500, 2, ""),
            (AGAIN, 2, ""),
            (500, 2, ""),
        ):
            clock[0] += later
            core.revision, core.message = revision, message or core.message
            await explainer.run()
            found = await store.get(WORKLOAD, "w", "team-a")
            seen.append((find(found, "QuotaReserved")["message"], core.asked))
        await view.stop()
        return seen

    assert asyncio.run(go()) == [("3 free", 1), ("3 free", 2), ("3 free", 2), ("2 free", 3), ("2 free", 3)]
