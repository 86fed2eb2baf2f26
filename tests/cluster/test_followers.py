"""Followers write nothing and see the time pass; when the leader goes, one of them does the rest."""

import asyncio
from datetime import UTC, datetime, timedelta

from tests.cluster.core.test_revision import workload
from tests.cluster.small_cluster import job, make_controller, queues, small_cluster
from tests.cluster.two_leaders import candidate
from tests.patience import until
from tests.queue.python_rules import KueueRules
from webhook.cluster import controller
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.core.queue_core import QueueCore
from webhook.kube.gvk import gvk_of
from webhook.store.memory import MemoryStore


def test_followers_write_nothing_and_take_over():
    """Of two controllers one writes; when it goes, the other does the rest; quota is never passed."""

    async def go():
        store = MemoryStore()
        async with small_cluster(*queues("2"), store=store, seconds=0.1, leader=candidate(store, "a")) as w:
            await w.create(*(job(f"j{n}") for n in range(4)))
            await w.until_condition("j0", "Admitted")
            second, view, _ = make_controller(store, candidate(store, "b"))
            view.start()
            second.start()
            await asyncio.sleep(0.2)
            assert not second.leads
            await w.controller.stop()
            await w.create(*(job(f"k{n}") for n in range(4)))
            for name in (*(f"j{n}" for n in range(4)), *(f"k{n}" for n in range(4))):
                await w.until_condition(name, "Finished")
            assert second.leads
            await second.stop()
            await view.stop()
            return w.kubelet.peak, w.kubelet.starts

    peak, starts = asyncio.run(go())
    assert peak <= 2
    assert len(starts) == len(set(starts)) == 8


def test_a_follower_sees_the_time_pass(monkeypatch):
    """A back-off ends for its answers though no object changes: nobody leads who would write."""
    monkeypatch.setattr(controller, "TICK", 0.1)

    async def go():
        store, core = MemoryStore(), QueueCore(KueueRules())
        for obj in queues("2"):
            await store.create(obj)
        again = (datetime.now(UTC) + timedelta(seconds=3)).strftime("%Y-%m-%dT%H:%M:%SZ")
        await store.create({**workload("w"), "status": {"requeueState": {"requeueAt": again}}})
        await candidate(store, "a").wait()
        second, view, _ = make_controller(store, candidate(store, "b"), core=core)
        view.start()
        second.start()
        await until(lambda: core.in_order("cq") == ["team-a/w"], "the back-off is over")
        await second.stop()
        await view.stop()
        return second.leads

    assert not asyncio.run(go())


class Stumbling(QueueCore):
    """A core with a bug: the first time that it follows, it fails."""

    failed = 0

    def follow(self, now):
        if not self.failed:
            self.failed += 1
            raise ValueError("a bug")
        super().follow(now)


def test_a_follower_that_fails_takes_over_all_the_same():
    """What follows the queues begins again after a failure, as what leads them does."""

    async def go():
        store, core = MemoryStore(), Stumbling(KueueRules())
        async with small_cluster(*queues("2"), store=store, leader=candidate(store, "a")) as w:
            await w.create(job("j"))
            await w.until_condition("j", "Admitted")
            second, view, _ = make_controller(store, candidate(store, "b"), core=core)
            view.start()
            second.start()
            await until(lambda: core.failed, "the follower has failed")
            await w.controller.stop()
            await until(lambda: second.leads, "it leads")
            await second.stop()
            await view.stop()

    asyncio.run(go())


class Lingering(MemoryStore):
    """Creates no Workload, and whoever is cancelled over one ends only when he is `let_go`."""

    def __init__(self):
        super().__init__()
        self.asked, self.let_go = asyncio.Event(), asyncio.Event()

    async def create(self, obj):
        if gvk_of(obj) != WORKLOAD:
            return await super().create(obj)
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            await self.let_go.wait()


def test_an_error_while_the_lease_is_held_is_logged(caplog):
    """It is no loss of the lease: the controller starts anew, and says why."""

    async def fails():
        raise RuntimeError("the clock has gone")

    async def go():
        store, leader = MemoryStore(), candidate(MemoryStore(), "a")
        leader.hold = fails
        first, view, _ = make_controller(store, leader)
        view.start()
        first.start()
        await until(lambda: "the clock has gone" in caplog.text, "it is logged")
        await first.stop()
        await view.stop()

    asyncio.run(go())


def test_a_replica_that_leads_no_more_says_so_before_its_tasks_have_ended():
    """An alert counts the leaders: one that does not come to its end must not count as one."""

    async def go():
        store = Lingering()
        for obj in (*queues("2"), job("j")):
            await store.create(obj)
        leader = candidate(store, "a")
        first, view, registry = make_controller(store, leader)
        view.start()
        first.start()
        await store.asked.wait()
        said = [registry.get_sample_value("sluice_leader")]
        await leader.release()
        await candidate(store, "b").wait()
        await until(lambda: not first.leads, "it leads no more")
        said.append(registry.get_sample_value("sluice_leader"))
        store.let_go.set()
        await first.stop()
        await view.stop()
        return said

    assert asyncio.run(go()) == [1, 0]
