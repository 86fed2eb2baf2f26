"""A daemon with its page over a cluster of many queues: jobs that run and wait, a past, and policies that are used."""

from __future__ import annotations

import gc
import ssl
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp

from tests.daemon.serving import Talk
from tests.dashboard.serving import KUEUE, local_queue, namespace, workload
from tests.editor.measure import grown
from tests.patience import until
from tests.server.serving import review
from webhook.cli.commands.server.serve import SWITCH, YOUNG, settle
from webhook.cluster.api.kinds import WORKLOAD
from webhook.config import Config, PageMode
from webhook.daemon import Daemon
from webhook.store.memory import MemoryStore
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure

QUEUES, PENDING, COHORTS = 1000, 50_000, 50
RUNNING = 4
"""Jobs that hold the quota of each queue."""
RAN = 2000
"""Jobs that have ended: as many as a simulation takes."""
EVERY_SO_OFTEN = timedelta(seconds=20)
"""Between the arrivals of two of them."""
POLICIES, REVIEWS = 200, 50
GPU = "nvidia.com/gpu"
WHOLE = {GPU: "8", "cpu": "8", "memory": "64Gi"}


@dataclass(frozen=True)
class Busy:
    """The daemon, what it watches, its folder of policies, the CA of its certificate, and the address of its page."""

    daemon: Daemon
    store: MemoryStore
    policies: Path
    authority: Path
    url: str


def quota(flavor: str, gpus: int) -> dict[str, Any]:
    """Give a flavor's quota of GPUs, CPU and memory."""
    amounts = {GPU: gpus, "cpu": str(gpus * 16), "memory": f"{gpus * 64}Gi"}
    return {"name": flavor, "resources": [{"name": name, "nominalQuota": value} for name, value in amounts.items()]}


def cluster_queue(number: int) -> dict[str, Any]:
    """Give a queue of a team, of two flavors and three resources."""
    group = {"coveredResources": [GPU, "cpu", "memory"], "flavors": [quota("a100", 16), quota("h100", 16)]}
    spec = {"namespaceSelector": {}, "resourceGroups": [group], "cohortName": f"division-{number % COHORTS:02}"}
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": f"team-{number:04}"}, "spec": spec}


def waiting(name: str, team: str) -> dict[str, Any]:
    """Give a job of a whole node."""
    more = {resource: amount for resource, amount in WHOLE.items() if resource != "cpu"}
    return workload(name, "main", team, cpu=WHOLE["cpu"], **more)


def running(name: str, team: str, flavor: str, created: datetime, started: datetime) -> dict[str, Any]:
    """Give one that was admitted before this leader came."""
    conditions = [condition(kind, started) for kind in ("QuotaReserved", "Admitted")]
    assigned = {"name": "main", "count": 1, "flavors": dict.fromkeys(WHOLE, flavor), "resourceUsage": WHOLE}
    made = waiting(name, team)
    made["metadata"]["creationTimestamp"] = stamp(created)
    admission = {"clusterQueue": team, "podSetAssignments": [assigned]}
    return {**made, "status": {"admission": admission, "conditions": conditions}}


def condition(kind: str, at: datetime) -> dict[str, Any]:
    """Give a condition that holds."""
    return {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": stamp(at)}


def stamp(at: datetime) -> str:
    """Write a time as Kubernetes does."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def past(queues: int) -> Iterator[tuple[dict[str, Any], datetime]]:
    """Give jobs that ran, of a quarter of the queues, as they were while they ran; and when each ended."""
    begun = datetime.now(UTC) - timedelta(days=2)
    for number in range(RAN):
        created = begun + number * EVERY_SO_OFTEN
        started = created + timedelta(minutes=number % 30)
        team = f"team-{number % max(1, queues // 4):04}"
        ended = started + timedelta(minutes=20 + 37 * number % 900)
        yield running(f"ran-{number:05}", team, ("a100", "h100")[number % 2], created, started), ended


async def fill(store: MemoryStore, queues: int, pending: int) -> None:
    """Put the cluster into the store: the quota of each queue is held, the rest waits."""
    for name in ("a100", "h100"):
        await store.create({"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {}})
    for number in range(queues):
        team = f"team-{number:04}"
        for obj in (namespace(team), cluster_queue(number), local_queue(team, "main", team)):
            await store.create(obj)
    since = datetime.now(UTC) - timedelta(hours=1)
    for number in range(queues * RUNNING):
        flavor = ("a100", "h100")[number // queues % 2]
        await store.create(running(f"train-{number:06}", f"team-{number % queues:04}", flavor, since, since))
    for number in range(queues * RUNNING, queues * RUNNING + pending):
        await store.create(waiting(f"train-{number:06}", f"team-{number % queues:04}"))
    for job, _ in past(queues):
        await store.create(job)


async def end_past(store: MemoryStore, queues: int) -> None:
    """End the jobs of the past: what the page is told of ends is the trace it can run again."""
    for job, ended in past(queues):
        space, name = job["metadata"]["namespace"], job["metadata"]["name"]
        ran = await store.get(WORKLOAD, name, space)
        conditions = [*ran["status"]["conditions"], condition("Finished", ended)]
        await store.patch(WORKLOAD, name, space, {"status": {"conditions": conditions}}, subresource="status")


@asynccontextmanager
async def served(queues: int, pending: int) -> AsyncIterator[Busy]:
    """A daemon over the filled store, with the process set as `sluice serve`'s.

    Reasons of jobs that wait may still be written: that is a busy day.
    """
    gc.set_threshold(*YOUNG)
    sys.setswitchinterval(SWITCH)
    settle()
    store = MemoryStore()
    await fill(store, queues, pending)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "policies").mkdir()
        grown(folder / "policies", POLICIES)
        certificates = Folder(folder / "certs")
        ensure(certificates, ("localhost", "127.0.0.1"), datetime.now(UTC))
        config = Config(policies=(folder / "policies",), listen="127.0.0.1:0", cert_dir=certificates.path,
                        leader_election=False, ui=PageMode.READ_ONLY, ui_listen="127.0.0.1:0")  # fmt: skip
        daemon = Daemon(config, store)
        await daemon.start()
        try:
            await held(daemon, queues * RUNNING + RAN)
            await end_past(store, queues)
            await held(daemon, queues * RUNNING)
            await reviewed(daemon, ssl.create_default_context(cafile=str(certificates.bundle)))
            url = f"http://127.0.0.1:{daemon.ui_port}"
            yield Busy(daemon, store, folder / "policies", certificates.bundle, url)
        finally:
            await daemon.stop()


async def held(daemon: Daemon, jobs: int) -> None:
    """Wait until as many jobs hold quota."""

    async def look() -> bool:
        return sum(len(line.holders) for line in daemon.core.state.by_queue.values()) == jobs

    await until(look, f"{jobs} jobs hold quota")


async def reviewed(daemon: Daemon, trust: ssl.SSLContext) -> None:
    """Let jobs be reviewed, so that policies have counts and times."""
    container = {"name": "c", "image": "i", "resources": {"limits": {GPU: "1"}}}
    job = {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
        talk = Talk(session, f"https://127.0.0.1:{daemon.port}")
        for number in range(REVIEWS):
            made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": f"j-{number}"}, "spec": job}
            for path in ("/mutate", "/validate"):
                await talk.ask(review(object=made, name=f"j-{number}", namespace="team-0000"), path)
