"""Starts and stops of jobs by a replica that knows less than the store, and starts that land late."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from tests.cluster.jobs.test_pod_groups import member
from tests.cluster.jobs.test_pods import pod
from tests.cluster.small_cluster import below, job, jobset, make_controller, queues, small_cluster
from tests.cluster.two_leaders import TIMES, Clock, Late, candidate
from webhook.cluster.api.kinds import CLUSTER_QUEUE, WORKLOAD
from webhook.cluster.api.leader import Leader, LeaseTimes
from webhook.kube.condition_types import QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.kube.gvk import POD, gvk_of
from webhook.store.errors import Conflict, NotFound, Unavailable
from webhook.store.memory import MemoryStore
from webhook.store.objects import copy_json, uid_of


@asynccontextmanager
async def behind(cpu):
    """A leader whose clock stands still, on a way that can be closed, and how another takes the lead beside it."""
    store, clock = MemoryStore(), Clock()
    late = Late(store)
    other, view, _ = make_controller(store, candidate(store, "b", clock))
    never = LeaseTimes(TIMES.duration, TIMES.deadline, retry=TIMES.deadline)
    slow = Leader(late, "a", "sluice-system", "sluice", never, lambda: 0.0, lambda: datetime.now(UTC))
    async with small_cluster(*queues(cpu), store=late, seconds=None, leader=slow) as w:

        async def overtaken():
            late.cut_off = True
            late.open.clear()
            late.suspended.clear()
            view.start()
            other.start()
            await w.until(leads, "the second leads")

        async def leads():
            clock.ahead += TIMES.duration / 10
            return other.leads

        yield w, late, overtaken
        assert w.controller.leads
        await other.stop()
        await view.stop()


def known(w, name):
    """A Workload as the first replica knows it."""
    return w.view.informer(WORKLOAD).get(name, "team-a")


def test_a_former_leader_with_an_old_view_stops_no_job_that_the_next_one_has_started():
    """It sees the Job run before it is told of the admission: it reads the Workload first."""

    async def go():
        async with behind("0") as (w, late, overtaken):
            await w.create(job("j"))
            await w.until_condition("j", "QuotaReserved", "False")
            await overtaken()
            await w.store.patch(CLUSTER_QUEUE, "cq", None, {"spec": queues("1")[2]["spec"]})
            name = (await w.until_condition("j", "Admitted"))["metadata"]["name"]
            looked = lambda: late.suspended or holds(known(w, name), QUOTA_RESERVED)  # noqa: E731
            await w.until(looked, "the first has looked at the Job")
            return True in late.suspended, w.kubelet.starts

    assert asyncio.run(go()) == (False, ["j"])


def test_a_former_leader_with_an_old_view_stops_no_part_of_a_job_that_the_next_one_has_started():
    """It sees the Job of a JobSet run before it is told that the JobSet was admitted, and started."""

    async def go():
        async with behind("0") as (w, late, overtaken):
            late.kinds.add("JobSet")
            (whole,) = await w.create(jobset("whole"))
            await w.until_condition("whole", "QuotaReserved", "False")
            await overtaken()
            await w.store.patch(CLUSTER_QUEUE, "cq", None, {"spec": queues("1")[2]["spec"]})
            name = (await w.until_condition("whole", "Admitted"))["metadata"]["name"]
            part = job("part", suspend=False)
            del part["metadata"]["labels"]
            await w.create(below(whole, part))
            looked = lambda: late.suspended or holds(known(w, name), QUOTA_RESERVED)  # noqa: E731
            await w.until(looked, "the first has looked at the part")
            return True in late.suspended

    assert not asyncio.run(go())


def test_a_former_leader_with_an_old_view_starts_no_job_that_the_next_one_has_stopped():
    """It sees the Job stand still before it is told of the eviction: others may have its quota."""

    async def go():
        async with behind("1") as (w, late, overtaken):
            await w.create(job("j"))
            await w.until_runs("j")
            name = (await w.until_condition("j", "Admitted"))["metadata"]["name"]
            await overtaken()
            await w.store.patch(WORKLOAD, name, "team-a", {"spec": {"active": False}})
            await w.until_condition("j", "QuotaReserved", "False")
            looked = lambda: False in late.suspended or not known(w, name)["spec"]["active"]  # noqa: E731
            await w.until(looked, "the first has looked at the Job")
            return False in late.suspended, w.kubelet.starts

    assert asyncio.run(go()) == (False, ["j"])


class StartsLate(MemoryStore):
    """Loses all starts of Jobs and Pods on their way, and keeps the first."""

    started = None

    async def update(self, obj, **options):
        if obj["spec"].get("suspend") is False or (gvk_of(obj) == POD and "schedulingGates" not in obj["spec"]):
            self.started = self.started or copy_json(obj)
            raise Unavailable("the connection was lost")
        return await super().update(obj, **options)


@pytest.mark.parametrize("obj", [job("j"), pod("j"), member("j", total=1)], ids=["Job", "Pod", "group of pods"])
@pytest.mark.parametrize("deleted", [False, True], ids=["evicted", "deleted"])
def test_a_start_that_comes_after_the_end_of_its_workload_is_refused(obj, deleted):
    """What never ran need not be stopped; but a start that was sent before must not land when others run."""

    async def go():
        store = StartsLate()
        async with small_cluster(*queues("1"), store=store, seconds=None) as w:
            await w.create(obj)
            await w.until(lambda: store.started, "a start was sent")
            first = await w.workload("j")
            name = first["metadata"]["name"]

            async def without_quota():
                found = await w.workload("j")
                return found is None or uid_of(found) != uid_of(first) or not holds(found, QUOTA_RESERVED)

            if deleted:
                await store.delete(WORKLOAD, name, "team-a")
            else:
                await store.patch(WORKLOAD, name, "team-a", {"spec": {"active": False}})
            await w.until(without_quota, "its quota is another's")
            with pytest.raises((Conflict, NotFound)):
                await MemoryStore.update(store, store.started)

    asyncio.run(go())
