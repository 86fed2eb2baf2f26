"""When the messages of waiting Workloads are written: at once for a new reason, later for new numbers, never twice."""

import asyncio
from collections.abc import Iterator

from tests.cluster.world import CLOCKS, queues
from webhook.api.configuration.model import Retention
from webhook.cluster.api.event_recorder import EventRecorder
from webhook.cluster.api.kinds import QUEUE_KINDS, WORKLOAD
from webhook.cluster.api.view import View
from webhook.cluster.api.writer import LeaderWriter
from webhook.cluster.queues.pending_reasons import Explainer
from webhook.cluster.queues.upkeep import AGAIN, Acts, Upkeep
from webhook.kube.conditions import find
from webhook.queue.decisions import Pending, Place, Reason
from webhook.store.memory import MemoryStore


class Core:
    """Says of one workload why it waits."""

    def __init__(self) -> None:
        self.revision, self.message, self.asked = 1, "3 free", 0

    def inactive(self) -> dict[str, str]:
        return {}

    def waiting(self) -> Iterator[Pending]:
        self.asked += 1
        yield Pending("team-a/w", "cq", Place.INADMISSIBLE, Reason.WAITING_FOR_QUOTA, self.message)


def nothing(_: object) -> None:
    """Evicts nobody."""


def test_new_numbers_come_later_but_come():
    """A message with other numbers is held back for a minute, and then written though nothing else happens."""

    async def go():
        store, clock, core = MemoryStore(), [10 * AGAIN], Core()
        view = View(store, QUEUE_KINDS)
        head = {"apiVersion": WORKLOAD.api_version, "kind": "Workload"}
        for obj in queues():
            await store.create(obj)
        await store.create({**head, "metadata": {"name": "w", "namespace": "team-a"}, "spec": {"queueName": "main"}})
        view.start()
        await view.wait()
        explainer, writer = Explainer(core), LeaderWriter(view, lambda: True, CLOCKS.now)
        events = EventRecorder(store, CLOCKS.now)
        acts = Acts(writer, events, nothing, lambda: clock[0])
        upkeep = Upkeep(view, core, explainer.told, acts, Retention())
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
            await upkeep.run(await explainer.run())
            found = await store.get(WORKLOAD, "w", "team-a")
            versions = found["metadata"]["resourceVersion"]
            seen.append((find(found, "sluice.dev/Waiting")["message"], core.asked, versions))
        await view.stop()
        return seen

    seen = asyncio.run(go())
    assert [row[:2] for row in seen] == [("3 free", 1), ("3 free", 2), ("3 free", 2), ("2 free", 2), ("2 free", 2)]
    assert len({row[2] for row in seen}) == 2
