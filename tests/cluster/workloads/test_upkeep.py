"""What is looked at again when something changes around Workloads, and how often what is written of them."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.cluster.small_cluster import CLOCKS, make_controller
from tests.dashboard.serving import cluster_queue, local_queue, workload
from webhook.api.configuration.sections import Retention
from webhook.cluster.api.event_recorder import EventRecorder
from webhook.cluster.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD, WORKLOAD_CLASS
from webhook.cluster.api.leader_writer import LeaderWriter, NotLeading
from webhook.cluster.clocks import Clocks
from webhook.cluster.controller_context import ControllerContext
from webhook.cluster.core.writes_in_flight import WritesInFlight
from webhook.cluster.pace import CHUNK
from webhook.cluster.workloads import upkeep
from webhook.cluster.workloads.upkeep import REWRITE_MS, TURN, Upkeep
from webhook.kube.conditions import conditions_of, find
from webhook.kube.gvk import gvk_of
from webhook.queue.decisions import Pending, PendingPlace, Reason
from webhook.store.errors import Refused
from webhook.store.memory import MemoryStore
from webhook.store.objects import merge


class Stage:
    """Upkeep over a store, with a clock that stands still and explanations as they are set."""

    def __init__(self, retention: Retention | None = None) -> None:
        self.store, self.told, self.now, self.writes = MemoryStore(), {}, 10 * REWRITE_MS, 0
        self.took, self.in_flight = 0, WritesInFlight()
        self.reasons: dict[str, Reason] = {}
        self._patch, self.error = self.store.patch, None
        self.store.patch = self.patch  # type: ignore[method-assign]
        _, self.view, _ = make_controller(self.store)
        writer = LeaderWriter(self.view, lambda: True, CLOCKS.now)
        clocks = Clocks(lambda: datetime.fromtimestamp(self.now / 1000, UTC), lambda: self.now / 1000)
        context = ControllerContext(self.view, writer, EventRecorder(self.store, CLOCKS.now), clocks)
        self.upkeep = Upkeep(context, self, self.told, lambda _: None, retention or Retention())
        self.looked: list[str] = []

    async def patch(self, *request: Any, **options: Any) -> Any:
        """Count a write; it took so many milliseconds."""
        self.writes += 1
        self.now += self.took
        if self.error is not None:
            raise self.error
        return await self._patch(*request, **options)

    def news(self, keys: Iterable[str]) -> dict[str, bool]:
        """What the core reports of these: whether the reason is another than when they were last reported."""
        news = {key: key in self.told and self.reasons.get(key) is not self.told[key].reason for key in keys}
        self.reasons |= {key: self.told[key].reason for key in news if key in self.told}
        return news

    async def run(self, keys: Iterable[str]) -> None:
        """Process what changed, then the new ones."""
        await self.upkeep.run(self.news(keys))
        await self.upkeep.run_new()

    def says(self, number: int) -> bool:
        """Whether a Workload has a condition."""
        return bool(conditions_of(self.view.informer(WORKLOAD).get(f"w-{number}", "team-a")))

    def inactive(self) -> dict[str, str]:
        return {}

    def pod_sets(self, key: str) -> tuple[()]:
        return ()

    async def create(self, *objects: Any) -> None:
        """Put objects into store and view."""
        for obj in objects:
            made = await self.store.create(obj)
            self.view.informer(gvk_of(made)).keep(made)

    def tell(self, number: int, message: str, reason: Reason = Reason.WAITING_FOR_QUOTA) -> list[str]:
        """Set the explanations of so many Workloads; give their keys."""
        keys = [f"team-a/w-{n}" for n in range(number)]
        self.told |= {key: Pending(key, "cq", PendingPlace.INADMISSIBLE, reason, message) for key in keys}
        return keys


def waiting(name: str, queue: str, **spec: Any) -> dict[str, Any]:
    """A Workload of a queue."""
    return merge(workload(name), {"spec": {"queueName": queue, **spec}})


ADMITTED = {"conditions": [{"type": "QuotaReserved", "status": "True"}], "admission": {"clusterQueue": "q-1"}}
RUNS = {"status": {**ADMITTED, "conditions": [*ADMITTED["conditions"], {"type": "Admitted", "status": "True"}]}}
THERE = [
    *(cluster_queue(f"q-{n}", "1") for n in (1, 2)),
    *(local_queue("team-a", f"l-{n}", f"q-{n}") for n in (1, 2)),
    waiting("one", "l-1"),
    waiting("two", "l-2"),
    waiting("high", "l-2", priorityClassRef={"kind": "WorkloadPriorityClass", "name": "high"}),
    {**waiting("moved", "l-2"), "status": ADMITTED},
]
HIGH = {"apiVersion": WORKLOAD_CLASS.api_version, "kind": WORKLOAD_CLASS.kind, "metadata": {"name": "high"}, "value": 3}


@pytest.mark.parametrize(
    ("changes", "looked"),
    [
        ([], set()),
        ([(LOCAL_QUEUE, local_queue("team-a", "l-1", "q-1"))], {"one"}),
        ([(LOCAL_QUEUE, local_queue("team-b", "l-1", "q-1"))], set()),
        ([(CLUSTER_QUEUE, cluster_queue("q-1", "1"))], {"one", "moved"}),
        ([(CLUSTER_QUEUE, cluster_queue("q-2", "1"))], {"two", "high", "moved"}),
        ([(WORKLOAD_CLASS, HIGH)], {"high"}),
        ([(LOCAL_QUEUE, local_queue("team-a", "l-2", "q-2")), (CLUSTER_QUEUE, cluster_queue("q-2", "1"))],
         {"two", "high", "moved"}),
    ],
)  # fmt: skip
def test_a_change_has_those_looked_at_that_it_concerns(monkeypatch, changes, looked):
    """Those of a LocalQueue, of a ClusterQueue (also by their admission), of a class; each once."""

    async def go():
        stage, seen = Stage(), []
        await stage.create(*THERE)

        async def look(key, *_):
            seen.append(key.partition("/")[2])

        monkeypatch.setattr(stage.upkeep, "_look", look)
        for gvk, new in changes:
            stage.upkeep.heard(gvk, None, new)
        for _ in range(2):
            await stage.run(())
        return seen

    assert sorted(asyncio.run(go())) == sorted(looked)


@pytest.mark.parametrize(
    ("under_way", "took", "pauses"),
    [
        ({"team-a/other"}, 5, [0.095] * 20),
        ({"team-a/other", "team-b/other"}, 5, [0.195] * 20),
        ({"team-a/other"}, 150, [0.0] * 20),
        (set(), 5, []),
    ],
)
def test_first_reasons_have_pauses_while_something_is_decided(monkeypatch, under_way, took, pauses):
    """A write takes so many milliseconds. Nothing follows one that was not needed: six are not explained."""

    async def go():
        stage, rests = Stage(), []

        async def sleep(seconds):
            rests.append(round(seconds, 3))

        monkeypatch.setattr(upkeep, "sleep", sleep)
        stage.took = took
        stage.in_flight.keys.update(under_way)
        await stage.create(*THERE[:4], *(waiting(f"w-{n}", "l-1") for n in range(26)))
        await stage.run([*stage.tell(20, "3 free"), *(f"team-a/w-{n}" for n in range(20, 26))])
        return stage.writes, rests

    assert asyncio.run(go()) == (20, pauses)


def test_other_reasons_do_not_wait_for_first_ones():
    """Nobody is told in the run that finds the new ones; one that is admitted meanwhile needs no reason."""

    async def go():
        stage = Stage()
        await stage.create(*THERE[:4], *(waiting(f"w-{n}", "l-1") for n in range(20)))
        await stage.run(stage.tell(5, "3 free"))
        await stage.upkeep.run(stage.news(stage.tell(20, "too large", Reason.EXCEEDS_MAX_QUOTA)))
        changed, told = stage.writes - 5, {n for n in range(20) if stage.says(n)}
        stage.view.informer(WORKLOAD).keep(await stage._patch(WORKLOAD, "w-19", "team-a", RUNS))
        await stage.upkeep.run_new()
        return changed, told, stage.writes

    assert asyncio.run(go()) == (5, set(range(5)), 5 + 5 + 14)


def test_messages_have_turns_and_reasons_have_none():
    """Of twenty Workloads whose numbers changed one is written each turn; where the reason is another, all at once."""

    async def go():
        stage, writes = Stage(), []
        await stage.create(*THERE[:4], *(waiting(f"w-{n}", "l-1") for n in range(20)))

        async def run(after, keys=()):
            stage.now, before = stage.now + after, stage.writes
            await stage.run(keys)
            writes.append(stage.writes - before)

        await run(0, stage.tell(20, "3 free"))
        await run(REWRITE_MS, stage.tell(20, "2 free"))
        for _ in range(3):
            await run(TURN)
        await run(30 * TURN)
        await run(0, stage.tell(20, "1 free", Reason.EXCEEDS_MAX_QUOTA))
        found = [find(w, "sluice.dev/Waiting")["message"] for w in stage.view.informer(WORKLOAD).all()]
        return writes, set(found)

    writes, messages = asyncio.run(go())
    assert writes == [20, 1, 1, 1, 1, 16, 20]
    assert messages == {"1 free"}


def told_apart(stage: Stage, numbers: range, message: str) -> list[str]:
    """Set the explanations of some Workloads; give their keys."""
    keys = [f"team-a/w-{n}" for n in numbers]
    stage.told |= {
        key: Pending(key, "cq", PendingPlace.INADMISSIBLE, Reason.WAITING_FOR_QUOTA, message) for key in keys
    }
    return keys


@pytest.mark.parametrize("leave", ["deleted", "admitted", "other reason", "as before"])
def test_those_that_wait_for_a_turn_no_longer_take_none(leave):
    """The next one that waits has it."""

    async def go():
        stage = Stage()
        await stage.create(*THERE[:4], *(waiting(f"w-{n}", "l-1") for n in range(30)))
        await stage.run(told_apart(stage, range(30), "3 free"))
        stage.now += REWRITE_MS
        await stage.run(told_apart(stage, range(30), "2 free"))  # the first has its turn
        gone, informer = range(1, 29), stage.view.informer(WORKLOAD)
        if leave in ("deleted", "admitted"):
            for n in gone:
                old = informer.get(f"w-{n}", "team-a")
                if leave == "deleted":
                    informer.drop(old)
                    stage.upkeep.heard(WORKLOAD, old, None)
                else:
                    informer.keep(new := await stage._patch(WORKLOAD, f"w-{n}", "team-a", RUNS, subresource="status"))
                    stage.upkeep.heard(WORKLOAD, old, new)
            await stage.run(())
        elif leave == "other reason":
            for n in gone:
                key = f"team-a/w-{n}"
                stage.told[key] = Pending(key, "cq", PendingPlace.INADMISSIBLE, Reason.EXCEEDS_MAX_QUOTA, "too much")
            await stage.run(f"team-a/w-{n}" for n in gone)
        else:
            await stage.run(told_apart(stage, gone, "3 free"))
        stage.now += TURN
        before = stage.writes
        await stage.run(())
        return stage.writes - before, find(informer.get("w-29", "team-a"), "sluice.dev/Waiting")["message"]

    assert asyncio.run(go()) == (1, "2 free")


def test_a_turn_that_was_not_used_is_not_kept():
    """Of messages that are as before when the turn comes, the next change waits in line as others do."""

    async def go():
        stage, writes = Stage(), []
        await stage.create(*THERE[:4], *(waiting(f"w-{n}", "l-1") for n in range(20)))
        await stage.run(told_apart(stage, range(20), "3 free"))
        stage.now += REWRITE_MS
        await stage.run(told_apart(stage, range(20), "2 free"))
        await stage.run(told_apart(stage, range(1, 20), "3 free"))
        stage.now += 30 * TURN
        for message in ("3 free", "1 free"):
            before = stage.writes
            await stage.run(told_apart(stage, range(1, 20), message))
            writes.append(stage.writes - before)
        return writes

    assert asyncio.run(go()) == [0, 1]


@pytest.mark.parametrize(("later", "again"), [(REWRITE_MS - 1, 0), (REWRITE_MS, 20), (REWRITE_MS + 3 * TURN, 3)])
def test_a_status_is_not_made_where_it_may_not_be_written(monkeypatch, later, again):
    """Of messages that were written less than a minute ago, or wait in line; those whose turn it is are made then."""

    async def go():
        stage, made = Stage(), []
        await stage.create(*THERE[:4], *(waiting(f"w-{n}", "l-1") for n in range(20)))
        await stage.run(told_apart(stage, range(20), "3 free"))
        status_of = upkeep.pending_status.status_of
        if later > REWRITE_MS:
            stage.now += REWRITE_MS
            await stage.run(told_apart(stage, range(20), "2 free"))  # one has its turn, the others are in line
            stage.now -= REWRITE_MS
        monkeypatch.setattr(upkeep.pending_status, "status_of", lambda *args: made.append(1) or status_of(*args))
        stage.now += later
        await stage.run(told_apart(stage, range(20), "1 free"))
        return len(made)

    assert asyncio.run(go()) == again


@pytest.mark.parametrize("is_lost_in_a_turn", [False, True])
def test_the_time_without_the_lead_gives_no_turns(is_lost_in_a_turn):
    """One that leads again after an hour does not write at once all that waited when it lost the lead."""

    async def go():
        stage = Stage()
        await stage.create(*THERE[:4], *(waiting(f"w-{n}", "l-1") for n in range(20)))
        await stage.run(told_apart(stage, range(20), "3 free"))
        stage.now += REWRITE_MS
        await stage.run(told_apart(stage, range(20), "2 free"))
        stage.now += 60 * REWRITE_MS
        if is_lost_in_a_turn:
            stage.error = NotLeading()
            with pytest.raises(NotLeading):
                await stage.run(())
            stage.error = None
        before = stage.writes
        stage.upkeep.look_at_all()
        await stage.run(())
        return stage.writes - before

    assert asyncio.run(go()) == 1


def test_a_status_that_is_refused_is_tried_once_a_minute():
    """It is not sent again in each pass."""

    async def go():
        stage, writes = Stage(), []
        await stage.create(*THERE[:4], waiting("w-0", "l-1"))
        stage.error = Refused("forbidden", 403)
        for after, keys in ((0, stage.tell(1, "3 free")), (1, ()), (REWRITE_MS - 1, ()), (1, ())):
            stage.now += after
            await stage.run(keys)
            writes.append(stage.writes)
        return writes

    assert asyncio.run(go()) == [1, 1, 2, 2]


def test_those_that_are_gone_leave_no_time_to_look_at_them():
    """Jobs go minutes after their end, by their own time to live, while finished Workloads are kept for a month."""

    async def go():
        stage, many = Stage(Retention(after_finished=30 * 86_400_000)), 4 * CHUNK
        ended = datetime.fromtimestamp(stage.now / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        finished = {"type": "Finished", "status": "True", "lastTransitionTime": ended}
        await stage.create(*({**workload(f"w-{n}"), "status": {"conditions": [finished]}} for n in range(many)))
        there = stage.view.informer(WORKLOAD).all()
        for obj in there:
            stage.upkeep.heard(WORKLOAD, None, obj)
        await stage.run(())
        kept = len(stage.upkeep._later)
        for obj in there[1:]:
            stage.upkeep.heard(WORKLOAD, obj, None)
        return kept == many, len(stage.upkeep._later) <= CHUNK + 2, list(stage.upkeep._alarms)

    assert asyncio.run(go()) == (True, True, ["team-a/w-0"])
