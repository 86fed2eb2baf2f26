"""The view follows a kind in the version that is served, also where that changes while it runs."""

import asyncio

from tests.cluster.core.test_revision import workload
from tests.patience import until
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.api.view import View
from webhook.store.errors import Expired, NotFound
from webhook.store.memory import MemoryStore

OLD = "kueue.x-k8s.io/v1beta1"


class Versioned(MemoryStore):
    """A store that serves Workloads in some versions; each object in the version that is asked for."""

    def __init__(self, *served):
        super().__init__()
        self.served, self.changed = served, asyncio.Event()

    async def scope(self, gvk):
        return await super().scope(gvk) if gvk.version in self.served else None

    async def list(self, gvk, *rest, **options):
        self._known(gvk)
        listing = await super().list(gvk, *rest, **options)
        return type(listing)([{**obj, "apiVersion": gvk.api_version} for obj in listing.items], listing.version)

    async def watch(self, gvk, since, *rest, **options):
        self._known(gvk)
        await self.changed.wait()
        self.changed.clear()
        self._known(gvk)
        raise Expired("too old")
        yield

    def _known(self, gvk):
        if gvk.version not in self.served:
            raise NotFound("the server could not find the requested resource")


def test_a_version_that_is_not_served_any_more_is_left():
    """A replica beside an old Kueue began with its version. What is there is kept, and read in the other one."""

    async def go():
        store = Versioned("v1beta1")
        await store.create(workload("a"))
        view = View(store, [WORKLOAD])
        view.start()
        await view.wait()
        seen = [obj["apiVersion"] for obj in view.all(WORKLOAD)]
        store.served = ("v1beta2",)
        await store.create(workload("b"))
        store.changed.set()
        await until(lambda: len(view.informer(WORKLOAD)) == 2, "the other version is listed")
        seen += [obj["apiVersion"] for obj in view.all(WORKLOAD)]
        await view.stop()
        return seen

    assert asyncio.run(go()) == [OLD, WORKLOAD.api_version, WORKLOAD.api_version]
