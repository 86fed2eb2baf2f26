"""Writes that arrive late, or whose outcome is not known: quota holds across a change of leader."""

import asyncio

import pytest

from tests.cluster.small_cluster import JOB, job, make_controller, queues, small_cluster
from tests.cluster.two_leaders import TIMES, Clock, candidate, die, one_waits
from webhook.cluster.api.kinds import LEASE, WORKLOAD
from webhook.cluster.api.leader import CLAIMED
from webhook.cluster.jobs.steps import EPOCH
from webhook.kube.condition_types import QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.store.errors import Conflict, Unavailable
from webhook.store.memory import MemoryStore
from webhook.store.objects import version_of


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
            waiting = await one_waits(w)
            name = waiting["metadata"]["name"]
            if stamp is not None:
                stamped = {"metadata": {"annotations": {EPOCH: stamp}}}
                waiting = await store.patch(WORKLOAD, name, "team-a", stamped)
                assert await w.controller._leader.claim([f"team-a/{name}"])
            await die(w.controller)
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
            waiting = await one_waits(w)
            assert await w.controller._leader.claim([f"team-a/{waiting['metadata']['name']}"])
            await die(w.controller)
            stamps = []
            for _ in range(2):
                again, view, _ = make_controller(store, candidate(store, "a"))
                view.start()
                again.start()

                async def fenced(before=tuple(stamps)):
                    stamp = (await w.workload("b"))["metadata"]["annotations"].get(EPOCH)
                    return stamp if stamp not in (None, *before) else None

                stamps.append(await w.until(fenced, "the waiting workload is fenced"))
                await die(again)
                await view.stop()
            return stamps

    assert asyncio.run(go()) == ["2", "3"]


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
            await die(w.controller)
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
