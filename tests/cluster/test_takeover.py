"""What a new leader knows and writes when it begins, and when a lease lapses for a moment."""

import asyncio
from datetime import UTC, datetime
from random import Random

import pytest

from tests.cluster.small_cluster import JOB, job, make_controller, queues, small_cluster
from tests.cluster.two_leaders import TIMES, Clock, Late, candidate, die
from tests.patience import until
from webhook.cluster import fencing
from webhook.cluster.api.kinds import CLUSTER_QUEUE, WORKLOAD
from webhook.cluster.api.leader import Leader, LeaseTimes
from webhook.cluster.jobs.steps import EPOCH
from webhook.kube.condition_types import QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.kube.gvk import gvk_of
from webhook.store.errors import Unavailable
from webhook.store.informer import Informer
from webhook.store.memory import MemoryStore


@pytest.mark.parametrize(("in_time", "lists"), [(True, 1), (False, 2)])
def test_a_new_leader_knows_of_admissions_that_its_watch_told_late(monkeypatch, in_time, lists):
    """It decides only when the watch has told of its own stamp, and lists where it does not; quota is not passed."""
    monkeypatch.setattr(fencing, "CATCH_UP", 600.0 if in_time else 0.05)

    async def go():
        store = MemoryStore()
        late, reach = Late(store), Informer.reach

        async def told(informer, version):
            if in_time:
                late.open.set()
            await reach(informer, version)

        monkeypatch.setattr(Informer, "reach", told)
        async with small_cluster(*queues("0"), store=store, seconds=None, leader=candidate(store, "a")) as w:
            quota = lambda cpu: store.patch(CLUSTER_QUEUE, "cq", None, {"spec": queues(cpu)[2]["spec"]})  # noqa: E731
            await w.create(job("large", "2"))
            large = await w.until_condition("large", "QuotaReserved", "False")
            await w.create(job("small"))
            await w.until_condition("small", "QuotaReserved", "False")
            clock = Clock()
            second, view, _ = make_controller(late, candidate(late, "b", clock))
            view.start()
            second.start()
            await w.until(lambda: len(view.informer(WORKLOAD).all()) == 2, "the second knows both")
            late.open.clear()
            await quota("1")
            await w.until_condition("small", "Admitted")
            await quota("2")
            assert await w.controller._leader.claim([f"team-a/{large['metadata']['name']}"])
            await die(w.controller)

            async def leads():
                clock.ahead += TIMES.duration / 10
                return second.leads

            await w.until(leads, "the second leads")
            await w.create(job("fits"))
            await w.until_condition("fits", "Admitted")
            await second.stop()
            await view.stop()
            return late.lists, holds(await w.workload("large"), QUOTA_RESERVED), w.kubelet.peak

    assert asyncio.run(go()) == (lists, False, 2)


class Signed:
    """A replica's way to the store: notes the admissions that it wrote, which wait for `open`."""

    def __init__(self, store):
        self._store, self.admitted, self.open = store, [], asyncio.Event()
        self.open.set()

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def patch(self, gvk, name, namespace, patch, **options):
        admission = gvk == WORKLOAD and (patch.get("status") or {}).get("admission")
        if admission:
            await self.open.wait()
        answer = await self._store.patch(gvk, name, namespace, patch, **options)
        if admission:
            self.admitted.append(name)
        return answer


def test_a_leader_whose_clock_stands_still_admits_nobody_after_a_takeover():
    """It still believes to lead, and sees the versions that the fence made: it must not admit with these."""

    async def go():
        store = MemoryStore()
        first, second, clock = Signed(store), Signed(store), Clock()
        second.open.clear()
        never = LeaseTimes(TIMES.duration, TIMES.deadline, retry=TIMES.deadline)
        slow = Leader(first, "a", "sluice-system", "sluice", never, lambda: 0.0, lambda: datetime.now(UTC))
        async with small_cluster(*queues("1"), store=first, seconds=None, leader=slow) as w:
            await w.create(job("first"))
            await w.until_condition("first", "Admitted")
            await w.create(job("second"), job("j"))
            await w.until_condition("second", "QuotaReserved", "False")
            waiting = await w.until_condition("j", "QuotaReserved", "False")
            await w.store.delete(JOB, "first", "team-a")
            await w.until_condition("second", "Admitted")  # by a claim in which `j` is as well
            other, view, _ = make_controller(second, candidate(second, "b", clock))
            view.start()
            other.start()

            async def fenced():
                clock.ahead += TIMES.duration / 10
                return EPOCH in (await w.workload("j"))["metadata"].get("annotations", {})

            await w.until(fenced, "the second has fenced")
            await w.store.delete(JOB, "second", "team-a")
            await w.until(lambda: len(first.admitted) > 2 or not w.controller.leads, "the first admits or stops")
            second.open.set()
            await w.until_condition("j", "Admitted")
            await other.stop()
            await view.stop()
            return len(first.admitted), second.admitted == [waiting["metadata"]["name"]]

    assert asyncio.run(go()) == (2, True)


class Forgetful(MemoryStore):
    """Lets the leader's renewal be too old once it has written an admission; the next one is in time again."""

    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    async def patch(self, gvk, name, namespace, patch, *, subresource="", dry_run=False):
        answer = await super().patch(gvk, name, namespace, patch, subresource=subresource, dry_run=dry_run)
        if gvk == WORKLOAD and (patch.get("status") or {}).get("admission") and not self.clock.ahead:
            self.clock.ahead = TIMES.deadline + 1
        return answer


def test_a_lease_that_lapses_for_a_moment_loses_no_job():
    """Nobody else takes it, and it is renewed: what could not be written in between is written then."""

    async def go():
        clock = Clock()
        store, slowly = Forgetful(clock), LeaseTimes(TIMES.duration, TIMES.deadline, retry=0.5)
        leader = Leader(store, "a", "sluice-system", "sluice", slowly, clock, lambda: datetime.now(UTC))
        async with small_cluster(*queues("1"), store=store, leader=leader) as w:
            await w.create(job("a"))
            await w.until_condition("a", "Finished")
            return clock.ahead, w.kubelet.starts

    assert asyncio.run(go()) == (TIMES.deadline + 1, ["a"])


class Busy(MemoryStore):
    """Puts off every second call, by a seed; those about Jobs go through, since the kubelet of the test makes them."""

    def __init__(self):
        super().__init__()
        self.dice, self.put_off = Random(16), 0

    def turn(self, gvk):
        if gvk != JOB and self.dice.random() < 0.5:
            self.put_off += 1
            raise Unavailable("too many requests")

    async def list(self, gvk, *arguments, **options):
        self.turn(gvk)
        return await super().list(gvk, *arguments, **options)

    async def get(self, gvk, *arguments, **options):
        self.turn(gvk)
        return await super().get(gvk, *arguments, **options)

    async def update(self, obj, **options):
        self.turn(gvk_of(obj))
        return await super().update(obj, **options)

    async def patch(self, gvk, *arguments, **options):
        self.turn(gvk)
        return await super().patch(gvk, *arguments, **options)


def test_a_leader_comes_to_decide_however_many_calls_fail():
    """What a new leader reads and claims first is tried again one by one, not all of it from the start."""

    async def go():
        store = Busy()
        async with small_cluster(*queues("2"), store=store, leader=candidate(store, "a")) as w:
            for name in ("a", "b", "c", "d"):
                await store.create(job(name))
            ended = lambda: len(w.kubelet.starts) == 4 and not w.kubelet.running  # noqa: E731
            await until(ended, "all jobs have ended")
            return store.put_off, w.kubelet.peak

    put_off, peak = asyncio.run(go())
    assert put_off > 10
    assert peak <= 2
