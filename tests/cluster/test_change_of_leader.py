"""Quota across a change of leader, and writes whose outcome nobody knows."""

import asyncio
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from tests.cluster.core.test_revision import workload
from tests.cluster.small_cluster import JOB, job, make_controller, queues, small_cluster
from tests.cluster.two_leaders import TIMES, Clock, Late, candidate
from tests.patience import until
from tests.queue.python_rules import KueueRules
from webhook.cluster import controller, fencing
from webhook.cluster.api.kinds import CLUSTER_QUEUE, LEASE, WORKLOAD
from webhook.cluster.api.leader import CLAIMED, Leader, LeaseTimes
from webhook.cluster.core.queue_core import QueueCore
from webhook.cluster.jobs.steps import EPOCH
from webhook.kube.condition_types import QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.kube.gvk import gvk_of
from webhook.store.errors import Conflict, Unavailable
from webhook.store.informer import Informer
from webhook.store.memory import MemoryStore
from webhook.store.objects import version_of


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


class Lossy(MemoryStore):
    """Loses the answer to the next admission; `arrives` says whether the write itself comes through, or only later."""

    def __init__(self, arrives):
        super().__init__()
        self.arrives, self.lost = arrives, None

    async def patch(self, gvk, name, namespace, patch, *, subresource="", dry_run=False):
        if gvk == WORKLOAD and (patch.get("status") or {}).get("admission") and self.lost is None:
            self.lost = (gvk, name, namespace, patch)
            if self.arrives:
                await super().patch(gvk, name, namespace, patch, subresource=subresource)
            raise Unavailable("the connection was lost")
        return await super().patch(gvk, name, namespace, patch, subresource=subresource, dry_run=dry_run)

    async def deliver(self):
        """Let the lost write come through now."""
        gvk, name, namespace, patch = self.lost
        await super().patch(gvk, name, namespace, patch, subresource="status")


@pytest.mark.parametrize("arrives", [True, False])
def test_a_write_without_an_answer_is_settled_first(arrives):
    """Whether the lost admission was stored or not: it counts once, and the other job waits its turn."""

    async def go():
        store = Lossy(arrives)
        async with small_cluster(*queues("1"), store=store, seconds=0.1) as w:
            await w.create(job("a"), job("b"))
            for name in ("a", "b"):
                await w.until_condition(name, "Finished")
            assert store.lost is not None
            return w.kubelet.peak, w.kubelet.starts

    peak, starts = asyncio.run(go())
    assert peak == 1
    assert sorted(starts) == ["a", "b"]


def test_a_write_that_comes_late_is_refused():
    """The admission that was lost on the way can not land after it was settled: its version is gone."""

    async def go():
        store = Lossy(arrives=False)
        async with small_cluster(*queues("1"), store=store, seconds=None) as w:
            await w.create(job("a"))
            await w.until_condition("a", "Admitted")
            with pytest.raises(Conflict):
                await store.deliver()

    asyncio.run(go())


@pytest.mark.parametrize("stamp", [None, "2"], ids=["never stamped", "stamped under a lease that was deleted"])
def test_a_new_leader_fences_what_the_old_one_sent(stamp):
    """Taking an expired lease changes the version of each waiting Workload, so an old admission bounces.

    Epochs begin anew with another lease, as after an uninstall: the stamp of this one may be there already.
    """

    async def go():
        store = MemoryStore()
        async with small_cluster(*queues("1"), store=store, seconds=None, leader=candidate(store, "a")) as w:
            waiting = await _one_waits(w)
            name = waiting["metadata"]["name"]
            if stamp is not None:
                stamped = {"metadata": {"annotations": {EPOCH: stamp}}}
                waiting = await store.patch(WORKLOAD, name, "team-a", stamped)
                assert await w.controller._leader.claim([f"team-a/{name}"])
            await _die(w.controller)
            clock = Clock()
            second, view, _ = make_controller(store, candidate(store, "b", clock))
            view.start()
            second.start()

            async def fenced():
                clock.ahead += TIMES.duration / 10
                found = await w.workload("b")
                return version_of(found) != version_of(waiting)

            await w.until(fenced, "the waiting workload is fenced")
            admission = {"metadata": {"resourceVersion": version_of(waiting)}, "status": {}}
            with pytest.raises(Conflict):
                await store.patch(WORKLOAD, name, "team-a", admission, subresource="status")
            held = [o for o in (await store.list(WORKLOAD)).items if holds(o, QUOTA_RESERVED)]
            await second.stop()
            await view.stop()
            return len(held)

    assert asyncio.run(go()) == 1


def test_each_process_of_one_name_fences_the_one_before():
    """A container that is restarted keeps its name. The second restart too changes the version of who was claimed."""

    async def go():
        store = MemoryStore()
        async with small_cluster(*queues("1"), store=store, seconds=None, leader=candidate(store, "a")) as w:
            waiting = await _one_waits(w)
            assert await w.controller._leader.claim([f"team-a/{waiting['metadata']['name']}"])
            await _die(w.controller)
            stamps = []
            for _ in range(2):
                again, view, _ = make_controller(store, candidate(store, "a"))
                view.start()
                again.start()

                async def fenced(before=tuple(stamps)):
                    stamp = (await w.workload("b"))["metadata"]["annotations"].get(EPOCH)
                    return stamp if stamp not in (None, *before) else None

                stamps.append(await w.until(fenced, "the waiting workload is fenced"))
                await _die(again)
                await view.stop()
            return stamps

    assert asyncio.run(go()) == ["2", "3"]


async def _one_waits(w):
    """Create two jobs where there is quota for one; return the Workload that waits."""
    await w.create(job("a"), job("b"))
    await w.until_condition("a", "Admitted")
    return await w.until_condition("b", "QuotaReserved", "False")


async def _die(controller):
    """Stop a leader that does not release its lease."""
    controller._leader.release = _nothing
    await controller.stop()


async def _nothing():
    """What a leader that dies does with its lease."""


class Watched(MemoryStore):
    """Notes for each admission what the lease named when it was written, and who was stamped."""

    def __init__(self):
        super().__init__()
        self.claims, self.stamped = {}, set()

    async def patch(self, gvk, name, namespace, patch, *, subresource="", dry_run=False):
        if gvk == WORKLOAD and (patch.get("status") or {}).get("admission"):
            lease = await self.get(LEASE, "sluice", "sluice-system")
            self.claims.setdefault(f"{namespace}/{name}", lease["metadata"]["annotations"][CLAIMED])
        if gvk == WORKLOAD and EPOCH in (patch["metadata"].get("annotations") or {}):
            self.stamped.add(name)
        return await super().patch(gvk, name, namespace, patch, subresource=subresource, dry_run=dry_run)


def test_nobody_is_admitted_whom_the_lease_does_not_name():
    """The claim comes first, and lasts for some rounds: far fewer claims than admissions."""

    async def go():
        store = Watched()
        async with small_cluster(*queues("2"), store=store, seconds=0.05, leader=candidate(store, "a")) as w:
            await w.create(*(job(f"j{n:02}") for n in range(20)))
            for n in range(20):
                await w.until_condition(f"j{n:02}", "Finished")
        return store.claims

    claims = asyncio.run(go())
    assert len(claims) == 20
    assert all(workload in claimed.split() for workload, claimed in claims.items())
    assert len(set(claims.values())) < 20


def test_a_takeover_writes_to_the_claimed_alone():
    """Of twenty waiting Workloads only those are stamped that the former leader could still admit."""

    async def go():
        store = Watched()
        async with small_cluster(*queues("1"), store=store, seconds=None, leader=candidate(store, "a")) as w:
            await w.create(job("first"))
            await w.until_condition("first", "Admitted")
            await w.create(*(job(f"j{n:02}") for n in range(20)))
            waiting = [
                (await w.until_condition(f"j{n:02}", "QuotaReserved", "False"))["metadata"]["name"] for n in range(20)
            ]
            assert await w.controller._leader.claim(["team-a/gone", *(f"team-a/{name}" for name in waiting[:2])])
            await _die(w.controller)
            clock = Clock()
            second, view, _ = make_controller(store, candidate(store, "b", clock))
            view.start()
            second.start()

            async def leads():
                clock.ahead += TIMES.duration / 10
                return second.leads and len(store.stamped) >= 2

            await w.until(leads, "the second leads")
            await w.store.delete(JOB, "first", "team-a")
            await w.until_condition("j00", "Admitted")
            await second.stop()
            await view.stop()
            return store.stamped, set(waiting[:2])

    stamped, claimed = asyncio.run(go())
    assert stamped == claimed


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
            await _die(w.controller)

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
