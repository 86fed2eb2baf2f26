"""What is written of the queues, and how often: nothing that is refused again and again, nothing the core knows not."""

import asyncio
import logging
from collections import Counter
from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry

from tests.cluster.small_cluster import CLOCKS, make_controller, queues
from webhook.cluster.api.event_recorder import EventRecorder
from webhook.cluster.api.kinds import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE
from webhook.cluster.api.leader_writer import LeaderWriter
from webhook.cluster.clocks import Clocks
from webhook.cluster.controller_context import ControllerContext
from webhook.cluster.core.queue_core import QueueCore
from webhook.cluster.queues.counts import WorkloadCounts
from webhook.cluster.queues.queue_status_writer import QueueStatusWriter
from webhook.cluster.queues.round_metrics import QueueMetrics
from webhook.kube.conditions import find
from webhook.kube.gvk import gvk_of
from webhook.policy.queue_rules.files import rules_named
from webhook.store.errors import NotFound, Refused, StoreError, Unavailable
from webhook.store.memory import MemoryStore

SECOND = 1000


class Stage:
    """A publisher over a few queues, with a clock that stands still."""

    def __init__(self, error: StoreError | None = None) -> None:
        self.store = MemoryStore()
        self.patches: Counter[str] = Counter()
        self._error, self._patch = error, self.store.patch
        self.store.patch = self.patch  # type: ignore[method-assign]
        _, self.view, _ = make_controller(self.store)
        self.core = QueueCore(rules_named(["kueue-fair"]))
        self.now = 0
        writer = LeaderWriter(self.view, lambda: True, CLOCKS.now)
        report = QueueMetrics(CollectorRegistry())
        clocks = Clocks(lambda: datetime.fromtimestamp(self.now / 1000, UTC), lambda: self.now / 1000)
        context = ControllerContext(self.view, writer, EventRecorder(self.store, clocks.now), clocks)
        self.status_writer = QueueStatusWriter(context, report, self.core, WorkloadCounts())

    async def patch(self, gvk, name, *rest, **options):
        """Refuse the status of Cohorts, and of them alone."""
        self.patches[gvk.kind] += 1
        if gvk == COHORT and self._error is not None:
            raise self._error
        return await self._patch(gvk, name, *rest, **options)

    async def create(self, obj) -> None:
        """Create an object, and have the publisher hear of it; not the core."""
        made = await self.store.create(obj)
        self.view.informer(gvk_of(made)).keep(made)
        self.status_writer.heard(gvk_of(made), None, made)

    def follow(self) -> None:
        """Have the core follow what is in view."""
        for obj in self.view.all(CLUSTER_QUEUE, LOCAL_QUEUE, COHORT):
            self.core.heard(None, obj)
        self.core.follow(self.now)


def cohort(name: str) -> dict:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": name}}


@pytest.mark.parametrize(
    ("error", "writes"),
    [(Refused("forbidden", 403), [1, 1, 1, 2, 2]), (NotFound("no such path"), [1, 1, 1, 2, 2]),
     (Unavailable("overloaded"), [1, 2, 3, 4, 5])],
    ids=["refused", "not found", "unavailable"],
)  # fmt: skip
def test_a_status_that_may_not_be_written_is_tried_once_a_minute(caplog, error, writes):
    """However often there is something to publish; one that fails otherwise is tried the next time."""

    async def go():
        stage, found = Stage(error), []
        for obj in (*queues("1", cohortName="all"), cohort("all")):
            await stage.create(obj)
        stage.follow()
        for seconds in (0, 1, 30, 61, 70):
            stage.now = seconds * SECOND
            await stage.create(cohort(f"other-{seconds}") | {"kind": "ResourceFlavor"})
            await stage.status_writer.publish()
            found.append(stage.patches["Cohort"])
        return found

    with caplog.at_level(logging.INFO):
        assert asyncio.run(go()) == writes
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == (1 if isinstance(error, Refused) else 0)


def test_a_queue_that_the_core_does_not_know_yet_has_no_condition():
    """A job that comes when its queue is Active must not hear that the queue does not exist."""

    async def go():
        stage, found = Stage(), []
        for obj in queues("1"):
            await stage.create(obj)
        for _ in range(2):
            await stage.status_writer.publish()
            found.append([find(obj, "Active") is not None for obj in stage.view.all(CLUSTER_QUEUE, LOCAL_QUEUE)])
            stage.follow()
        return found

    assert asyncio.run(go()) == [[False, False], [True, True]]


@pytest.mark.parametrize("is_heard_first", [True, False], ids=["heard before the answer", "heard after it"])
def test_one_made_again_is_written_at_once(is_heard_first):
    """A write that meets the deletion of its object says nothing of another object with its name."""

    async def go():
        stage = Stage()
        for obj in (*queues("1", cohortName="all"), cohort("all")):
            await stage.create(obj)
        stage.follow()
        answer = stage.patch

        def heard():
            gone = stage.view.informer(COHORT).get("all")
            stage.view.informer(COHORT).drop(gone)
            stage.status_writer.heard(COHORT, gone, None)

        async def missed(gvk, name, *rest, **options):
            if gvk != COHORT:
                return await answer(gvk, name, *rest, **options)
            await stage.store.delete(COHORT, "all", None)
            if is_heard_first:
                heard()
            raise NotFound("no such Cohort")

        stage.store.patch = missed  # type: ignore[method-assign]
        await stage.status_writer.publish()
        if not is_heard_first:
            heard()
        stage.store.patch = answer  # type: ignore[method-assign]
        kept = len(stage.status_writer._refused)
        await stage.create(cohort("all"))
        await stage.status_writer.publish()
        return stage.patches["Cohort"], kept

    assert asyncio.run(go()) == (1, 0)
