"""Candidates for one lease, clocks that a test puts forward, and a replica whose watches tell late."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic

from tests.cluster.small_cluster import JOB, job
from webhook.cluster.api.kinds import LEASE, WORKLOAD
from webhook.cluster.api.leader import Leader, LeaseTimes
from webhook.kube.gvk import gvk_of
from webhook.store.errors import Unavailable

TIMES = LeaseTimes(duration=6000, deadline=4000, retry=0.05)


@dataclass
class Clock:
    """A clock that can be put forward: a lease expires when a test says so, not when the machine is slow."""

    ahead: float = 0.0

    def __call__(self):
        return monotonic() + self.ahead


def candidate(store, name, clock=monotonic):
    return Leader(store, name, "sluice-system", "sluice", TIMES, clock, lambda: datetime.now(UTC))


class Late:
    """A replica's way to the store. What its watches of `kinds` tell waits for `open`; its lists of Workloads count.

    While it is `cut_off` it does not reach the lease. `suspended` is what it wrote into Jobs.
    """

    def __init__(self, store):
        self._store, self.lists, self.suspended, self.open = store, 0, [], asyncio.Event()
        self.open.set()
        self.cut_off, self.kinds = False, {WORKLOAD.kind}

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def list(self, gvk, *arguments, **options):
        self.lists += gvk == WORKLOAD
        return await self._store.list(gvk, *arguments, **options)

    async def update(self, obj, **options):
        if gvk_of(obj) == LEASE and self.cut_off:
            raise Unavailable("the lease is away")
        answer = await self._store.update(obj, **options)
        self.suspended += [obj["spec"]["suspend"]] if gvk_of(obj) == JOB else []
        return answer

    async def watch(self, gvk, *arguments, **options):
        async for event in self._store.watch(gvk, *arguments, **options):
            if gvk.kind in self.kinds:
                await self.open.wait()
            yield event


async def one_waits(w):
    """Create two jobs where there is quota for one; return the Workload that waits."""
    await w.create(job("a"), job("b"))
    await w.until_condition("a", "Admitted")
    return await w.until_condition("b", "QuotaReserved", "False")


async def die(controller):
    """Stop a leader that does not release its lease."""
    controller._leader.release = nothing
    await controller.stop()


async def nothing():
    """What a leader that dies does with its lease."""
