"""A small cluster for tests: the store in memory, a Job controller that runs jobs, and builders of objects."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tests.bench.year.virtual_time import VirtualLoop
from tests.patience import until
from tests.queue.python_rules import KueueRules
from webhook.api.configuration.sections import QueueSettings
from webhook.cluster.api.kinds import LOCAL_QUEUE, WORKLOAD, followed
from webhook.cluster.api.view import View
from webhook.cluster.clocks import Clocks
from webhook.cluster.controller import Controller
from webhook.cluster.core.queue_core import QueueCore
from webhook.cluster.failure_recovery import GATE
from webhook.cluster.queues.names import QueueNames
from webhook.cluster.queues.round_metrics import QueueMetrics
from webhook.jobs.finish import finish_of
from webhook.kube.conditions import find
from webhook.kube.gvk import GroupVersionKind
from webhook.store.informer import Informer
from webhook.store.memory import MemoryStore
from webhook.store.objects import copy_json

JOB = GroupVersionKind("batch", "v1", "Job")
CLOCKS = Clocks(lambda: datetime.now(UTC), monotonic)


def in_virtual_time(monkeypatch: pytest.MonkeyPatch, work: Callable[[], Awaitable[Any]]) -> Any:
    """Give what `work()` gives in a loop, and by CLOCKS, whose time passes only while nothing is left to do.

    So a slow machine does as much in a second as a fast one. Time begins with a whole second, as conditions have it.
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop, begin = runner.get_loop(), datetime.now(UTC).replace(microsecond=0)
        clocks = Clocks(lambda: begin + timedelta(seconds=loop.time()), loop.time)
        monkeypatch.setattr("tests.cluster.small_cluster.CLOCKS", clocks)
        return loop.run_until_complete(work())


def job(name: str, cpu: str = "1", queue: str = "main", namespace: str = "team-a", **spec: Any) -> dict[str, Any]:
    """A suspended Job of one pod."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"suspend": True, "parallelism": 1, "completions": 1, "template": template, **spec},
    }


def jobset(name: str, cpu: str = "1") -> dict[str, Any]:
    """A suspended JobSet of one Job of one pod."""
    inner = job(name, cpu)
    replicated = {"name": "w", "replicas": 1, "template": {"spec": inner["spec"]}}
    spec = {"suspend": True, "replicatedJobs": [replicated]}
    return {**inner, "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": spec}


def below(owner: dict[str, Any], obj: dict[str, Any]) -> dict[str, Any]:
    """The object, with a reference to its controller."""
    metadata = owner["metadata"]
    named = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [{**named, "controller": True}]}}


def queues(cpu: str = "2", *, strategy: str = "BestEffortFIFO", labels: Any = None, **spec: Any):
    """A flavor, a ClusterQueue with some CPU, its LocalQueue `main`, and the namespace."""
    kueue = "kueue.x-k8s.io/v1beta2"
    quota = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": cpu}]}
    group = {"coveredResources": ["cpu"], "flavors": [quota]}
    cq_spec = {"queueingStrategy": strategy, "namespaceSelector": {}, "resourceGroups": [group], **spec}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a", "labels": {"team": "a"}}},
        {
            "apiVersion": kueue,
            "kind": "ResourceFlavor",
            "metadata": {"name": "f"},
            "spec": {"nodeLabels": labels or {}},
        },
        {"apiVersion": kueue, "kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": cq_spec},
        {
            "apiVersion": kueue,
            "kind": "LocalQueue",
            "metadata": {"name": "main", "namespace": "team-a"},
            "spec": {"clusterQueue": "cq"},
        },
    ]


@dataclass
class Kubelet:
    """The Job controller and kubelets in one: pods appear when a Job is unsuspended, and go when it is suspended.

    `seconds` is how long a pod runs (None: until `end` is called). `peak` is the most CPU ever in use.
    """

    store: MemoryStore
    seconds: float | None = 0.05
    peak: float = 0.0
    running: dict[str, float] = field(default_factory=dict)
    starts: list[str] = field(default_factory=list)

    async def run(self) -> None:
        informer = Informer(JOB, self._heard)
        self._due: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        follow = asyncio.create_task(informer.follow(self.store))
        try:
            while True:
                await self._step(*await self._due.get())
        finally:
            follow.cancel()

    def _heard(self, gvk, old, new) -> None:
        if new is not None:
            self._due.put_nowait((new["metadata"]["namespace"], new["metadata"]["name"]))
        elif old is not None:
            self.running.pop(old["metadata"]["uid"], None)

    async def _step(self, namespace: str, name: str) -> None:
        try:
            found = await self.store.get(JOB, name, namespace)
        except Exception:
            return
        if finish_of(found):
            return
        uid, active = found["metadata"]["uid"], (found.get("status") or {}).get("active", 0)
        if found["spec"]["suspend"] and (active or not (found.get("status") or {}).get("conditions")):
            self.running.pop(uid, None)
            await self.status(namespace, name, active=0, conditions=[{"type": "Suspended", "status": "True"}])
        elif not found["spec"]["suspend"] and uid not in self.running:
            self.starts.append(name)
            request = found["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"]
            self.running[uid] = float(request) * found["spec"]["parallelism"]
            self.peak = max(self.peak, sum(self.running.values()))
            suspended = {"type": "Suspended", "status": "False"}
            await self.status(namespace, name, active=1, startTime="2026-01-01T00:00:00Z", conditions=[suspended])
            if self.seconds is not None:
                asyncio.get_running_loop().call_later(self.seconds, self._ended, namespace, name)

    def _ended(self, namespace: str, name: str) -> None:
        self._ending = asyncio.ensure_future(self.end(name, namespace))

    async def end(self, name: str, namespace: str = "team-a") -> None:
        """Let a running Job complete."""
        try:
            found = await self.store.get(JOB, name, namespace)
        except Exception:
            return
        if self.running.pop(found["metadata"]["uid"], None) is not None:
            done = [{"type": "Complete", "status": "True", "message": "done"}]
            await self.status(namespace, name, active=0, succeeded=1, conditions=done)

    async def status(self, namespace: str, name: str, **fields: Any) -> None:
        await self.store.patch(JOB, name, namespace, {"status": fields}, subresource="status")


@dataclass
class SmallCluster:
    """The running cluster, and questions to it."""

    store: MemoryStore
    kubelet: Kubelet
    registry: CollectorRegistry
    controller: Controller
    view: View

    def stamp(self) -> str:
        """The time as Kubernetes writes it."""
        return CLOCKS.now().strftime("%Y-%m-%dT%H:%M:%SZ")

    async def create(self, *objects: dict[str, Any]) -> list[dict[str, Any]]:
        return [await self.store.create(copy_json(obj)) for obj in objects]

    async def job(self, name: str) -> dict[str, Any]:
        return await self.store.get(JOB, name, "team-a")

    async def workload(self, name: str) -> dict[str, Any] | None:
        """The Workload of a job, by the job's name."""
        for found in (await self.store.list(WORKLOAD)).items:
            if any(owner["name"] == name for owner in found["metadata"].get("ownerReferences") or []):
                return found
        return None

    async def until(self, condition, what: str) -> Any:
        """Wait until `condition()` (awaited) gives something true, and give that."""
        return await until(condition, what)

    async def until_condition(self, name: str, type_: str, status: str = "True") -> dict[str, Any]:
        async def has() -> bool:
            found = await self.workload(name)
            rows = ((found or {}).get("status") or {}).get("conditions") or []
            return any(row["type"] == type_ and row["status"] == status for row in rows)

        await self.until(has, f"{type_} of {name} is {status}")
        found = await self.workload(name)
        assert found is not None
        return found

    async def until_waits(self, name: str, reason: str) -> str:
        """Wait until a job's Workload has no quota for this reason; give the message."""

        async def told() -> bool:
            found = find(await self.workload(name) or {}, "QuotaReserved") or {}
            return (found.get("status"), found.get("reason")) == ("False", reason)

        await self.until(told, f"{name} waits, with the reason {reason}")
        return str((find(await self.workload(name) or {}, "QuotaReserved") or {}).get("message"))

    async def until_runs(self, name: str) -> None:
        """Wait until the Job controller has seen the start, and says so: an admitted job does not run yet."""

        async def active() -> bool:
            return bool(((await self.job(name)).get("status") or {}).get("active"))

        await self.until(active, f"{name} runs")

    async def local_status(self) -> dict[str, Any]:
        return (await self.store.get(LOCAL_QUEUE, "main", "team-a")).get("status") or {}


def make_controller(store, leader=None, opted=lambda labels: True, core=None, settings=None):
    """A controller over a store, with its view."""
    settings = settings or QueueSettings()
    registry = CollectorRegistry()
    box: list[Controller] = []
    view = View(
        store,
        followed(embedded=True, external=False, compares=False, nodes=settings.enabled(GATE)),
        lambda *change: box[0].heard(*change),
    )
    core = core or QueueCore(KueueRules(), settings=settings)
    report = QueueMetrics(registry, names=QueueNames(view, settings))
    controller = Controller(view, core, CLOCKS, report, opted, settings, leader)
    box.append(controller)
    return controller, view, registry


@asynccontextmanager
async def small_cluster(
    *objects, seconds: float | None = 0.05, store=None, **options: Any
) -> AsyncIterator[SmallCluster]:
    """A cluster with some objects and a controller that decides."""
    store = store or MemoryStore(now=CLOCKS.now)
    for obj in objects:
        await store.create(copy_json(obj))
    kubelet = Kubelet(store, seconds)
    running = asyncio.create_task(kubelet.run())
    controller, view, registry = make_controller(store, **options)
    view.start()
    controller.start()
    try:
        yield SmallCluster(store, kubelet, registry, controller, view)
    finally:
        await controller.stop()
        await view.stop()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
