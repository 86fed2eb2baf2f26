"""When the messages of waiting Workloads are written: at once for a new reason, later for new numbers, never twice."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.cluster.core.test_revision import workload
from tests.cluster.small_cluster import CLOCKS, queues
from tests.queue.python_rules import KueueRules
from webhook.api.configuration.sections import Retention
from webhook.cluster.api.event_recorder import EventRecorder
from webhook.cluster.api.kinds import QUEUE_KINDS, WORKLOAD
from webhook.cluster.api.leader_writer import LeaderWriter
from webhook.cluster.api.view import View
from webhook.cluster.clocks import Clocks
from webhook.cluster.controller_context import ControllerContext
from webhook.cluster.core import explanations
from webhook.cluster.core.explanations import Explainer
from webhook.cluster.core.queue_core import QueueCore
from webhook.cluster.core.writes_in_flight import WritesInFlight
from webhook.cluster.pace import Pass
from webhook.cluster.workloads.upkeep import REWRITE_MS, Upkeep
from webhook.kube.conditions import find
from webhook.queue.decisions import Pending, PendingPlace, Reason, Shortage
from webhook.queue.explain import Gathered, pending
from webhook.queue.model import PodSet
from webhook.store.memory import MemoryStore


class Core:
    """Says of one workload why it waits."""

    def __init__(self) -> None:
        self.revision, self.message, self.asked, self.in_flight = 1, "3 free", 0, WritesInFlight()

    def inactive(self) -> dict[str, str]:
        return {}

    def workloads(self) -> list[str]:
        return ["team-a/w"]

    def looked_at(self) -> list[str]:
        return []

    def pod_sets(self, key: str) -> tuple[PodSet, ...]:
        return ()

    def stirred(self) -> Pass[list[str]]:
        yield
        return self.workloads()

    def explain(self, key: str, gathered: Gathered) -> Pending | None:
        self.asked += 1
        return Pending(key, "cq", PendingPlace.INADMISSIBLE, Reason.WAITING_FOR_QUOTA, self.message)


def nothing(*_: object) -> None:
    """Evicts nobody, counts nobody."""


def test_one_more_does_not_cost_what_all_cost(monkeypatch):
    """Of many that wait, the new one is explained at once, beside so many others a run; all are in the end."""
    monkeypatch.setattr(explanations, "OTHERS", 40)
    core = QueueCore(KueueRules())
    for obj in [*queues("1"), *(workload(f"w-{number}", "5") for number in range(200))]:
        core.heard(None, obj)
    explainer, asked, explain = Explainer(core, nothing), [], core.explain
    monkeypatch.setattr(core, "explain", lambda key, gathered=None: asked.append(key) or explain(key, gathered))

    def run():
        asked.clear()
        core.decide(0)
        return asyncio.run(explainer.run())

    def come_to_rest():
        while explainer._left or core.revision != explainer._revision:
            run()
        assert explainer.explanations == {told.workload: told for told in pending(core.state)}

    run()
    come_to_rest()
    assert (run(), asked) == ({}, [])
    core.heard(None, workload("late", "5"))
    assert "team-a/late" in run()
    assert len(asked) <= 42
    assert explainer.explanations["team-a/late"] == core.explain("team-a/late")
    core.heard(workload("w-7", "5"), None)
    run()
    assert len(asked) <= 42
    assert "team-a/w-7" not in explainer.explanations
    come_to_rest()
    assert len(explainer.explanations) == 200


NUMBERS = Shortage("main", "f", "cpu", 3, 2, 4, 4)
FIRST = Pending("team-a/w", "cq", PendingPlace.INADMISSIBLE, Reason.WAITING_FOR_QUOTA, "2 free", (NUMBERS,), 3)


@pytest.mark.parametrize(
    ("change", "news"),
    [
        ({}, {}),
        ({"position": 2, "start": 60_000}, {}),
        ({"place": PendingPlace.ACTIVE}, {}),
        ({"message": "1 free"}, {"team-a/w": False}),
        ({"shortages": (replace(NUMBERS, free=1),)}, {"team-a/w": False}),
        ({"outcome": "NoLongerFits"}, {"team-a/w": False}),
        ({"reason": Reason.EXCEEDS_MAX_QUOTA}, {"team-a/w": True}),
    ],
)
def test_news_are_reasons_or_numbers(monkeypatch, change, news):
    """A position is in no message; a first explanation is a new reason. What is kept is the last one, told or not."""
    core = Core()
    explainer, found = Explainer(core, nothing), [FIRST, replace(FIRST, **change)]
    told = iter(found)
    monkeypatch.setattr(core, "explain", lambda key, gathered: next(told))
    assert asyncio.run(explainer.run()) == {"team-a/w": True}
    core.revision += 1
    assert asyncio.run(explainer.run()) == news
    assert explainer.explanations == {"team-a/w": found[1]}


def test_new_numbers_come_later_but_come():
    """A message with other numbers is held back for a minute, and then written though nothing else happens."""

    async def go():
        store, clock, core = MemoryStore(), [10 * REWRITE_MS], Core()
        view = View(store, QUEUE_KINDS)
        head = {"apiVersion": WORKLOAD.api_version, "kind": "Workload"}
        for obj in queues():
            await store.create(obj)
        await store.create({**head, "metadata": {"name": "w", "namespace": "team-a"}, "spec": {"queueName": "main"}})
        view.start()
        await view.wait()
        explainer, writer = Explainer(core, nothing), LeaderWriter(view, lambda: True, CLOCKS.now)
        events = EventRecorder(store, CLOCKS.now)
        clocks = Clocks(lambda: datetime.fromtimestamp(clock[0] / 1000, UTC), lambda: clock[0] / 1000)
        upkeep = Upkeep(
            ControllerContext(view, writer, events, clocks), core, explainer.explanations, nothing, Retention()
        )
        seen = []
        for later, revision, message in (
            (0, 1, "3 free"),
            (500, 2, "2 free"),
            (500, 2, ""),
            (REWRITE_MS, 2, ""),
            (500, 2, ""),
        ):
            clock[0] += later
            core.revision, core.message = revision, message or core.message
            await upkeep.run(await explainer.run())
            await upkeep.run_new()
            found = await store.get(WORKLOAD, "w", "team-a")
            versions = found["metadata"]["resourceVersion"]
            seen.append((find(found, "sluice.dev/Waiting")["message"], core.asked, versions))
        await view.stop()
        return seen

    seen = asyncio.run(go())
    assert [row[:2] for row in seen] == [("3 free", 1), ("3 free", 2), ("3 free", 2), ("2 free", 2), ("2 free", 2)]
    assert len({row[2] for row in seen}) == 2
