"""A whole daemon with its page, over the store in memory, and objects to fill it with."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from tests.cluster.small_cluster import Kubelet, queues
from tests.daemon.serving import running
from tests.patience import until
from webhook.config import PageMode
from webhook.daemon import Daemon
from webhook.store.memory import MemoryStore

KUEUE = "kueue.x-k8s.io/v1beta2"


@dataclass
class Reader:
    """Asks the page."""

    daemon: Daemon
    store: MemoryStore
    kubelet: Kubelet
    session: aiohttp.ClientSession
    url: str

    async def get(self, path: str, **options: Any) -> tuple[int, Any]:
        """Give status and JSON of `/ui/...`."""
        async with self.session.get(self.url + path, **options) as answer:
            text = await answer.text()
            return answer.status, (await answer.json()) if answer.content_type == "application/json" else text

    async def answer(self, path: str) -> Any:
        """Give the JSON of an answer that must be there."""
        status, body = await self.get(path)
        assert status == 200, (path, body)
        return body

    async def when(self, path: str, holds: Any) -> Any:
        """Wait until an answer is there and is as it should be; give it."""
        found: dict[str, Any] = {}

        async def look():
            status, found["body"] = await self.get(path)
            return status == 200 and holds(found["body"])

        await until(look, f"{path} is as it should be")
        return found["body"]


@asynccontextmanager
async def reading(tmp_path, policies, *objects, store=None, seconds=None, mode=PageMode.READ_ONLY, **settings):
    """A daemon over these objects, or the queue of two CPUs; jobs run until they are told to end."""
    store = store or MemoryStore()
    for obj in objects or queues("2"):
        await store.create(obj)
    kubelet = Kubelet(store, seconds)
    runs = asyncio.create_task(kubelet.run())
    async with running(tmp_path, policies, store, ui=mode, ui_listen="127.0.0.1:0", **settings) as (daemon, talk):
        url = f"http{'s' if mode is PageMode.LOGIN else ''}://127.0.0.1:{daemon.ui_port}"
        yield Reader(daemon, store, kubelet, talk.session, url)
        runs.cancel()
        await asyncio.gather(runs, return_exceptions=True)


def workload(name, queue="main", namespace="team-a", cpu="1", count=1, priority=0, **more):
    """A Workload of pods of some CPU each."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, **more}}}
    pods = {"name": "main", "count": count, "template": {"spec": {"containers": [container]}}}
    metadata = {"name": name, "namespace": namespace}
    spec = {"queueName": queue, "podSets": [pods], "priority": priority}
    return {"apiVersion": KUEUE, "kind": "Workload", "metadata": metadata, "spec": spec}


def cluster_queue(name, cpu, cohort="", **limits):
    """A ClusterQueue with some CPU of the flavor `f`."""
    flavor = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": cpu, **limits}]}
    spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]}
    if cohort:
        spec["cohortName"] = cohort
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}


def local_queue(namespace, name, target):
    """A LocalQueue."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": target}}


FLAVOR = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {}}


def namespace(name):
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
