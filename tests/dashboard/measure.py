"""`python -m tests.dashboard.measure`: how long the page takes with 1,000 queues and 50,000 pending workloads.

For each view: the time to its answer, and the longest that the event loop was kept meanwhile. Then the time from a
decision to the event that tells of it. Nothing here is a test: figures depend on the machine.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import aiohttp

from tests.dashboard.serving import KUEUE, local_queue, namespace, workload
from webhook.cli.commands.serve import SWITCH, YOUNG, settle
from webhook.config import Config, PageMode
from webhook.daemon import Daemon
from webhook.store.memory import MemoryStore
from webhook.tls.folder import Folder
from webhook.tls.renewal import ensure

QUEUES, PENDING, COHORTS = 1000, 50_000, 50
RUNNING = 4
GPU = "nvidia.com/gpu"


def quota(flavor, gpus):
    """A flavor's quota of GPUs, CPU and memory."""
    amounts = {GPU: gpus, "cpu": str(gpus * 16), "memory": f"{gpus * 64}Gi"}
    return {"name": flavor, "resources": [{"name": name, "nominalQuota": value} for name, value in amounts.items()]}


def cluster_queue(number):
    """A queue of a team, of two flavors and three resources."""
    group = {"coveredResources": [GPU, "cpu", "memory"], "flavors": [quota("a100", 16), quota("h100", 16)]}
    spec = {"namespaceSelector": {}, "resourceGroups": [group], "cohortName": f"division-{number % COHORTS:02}"}
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": f"team-{number:04}"}, "spec": spec}


async def fill(store, queues, pending):
    """Put the cluster into the store: some run in each queue, the rest waits."""
    for name in ("a100", "h100"):
        await store.create({"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {}})
    for number in range(queues):
        space = f"team-{number:04}"
        for obj in (namespace(space), cluster_queue(number), local_queue(space, "main", space)):
            await store.create(obj)
    whole = {GPU: "8", "memory": "64Gi"}
    for number in range(queues * RUNNING + pending):
        made = workload(f"train-{number:06}", "main", f"team-{number % queues:04}", cpu="8", **whole)
        await store.create(made)


@asynccontextmanager
async def served(queues, pending):
    """A daemon over the filled store, at rest, with the address of its page; the process is set as `sluice serve`'s."""
    gc.set_threshold(*YOUNG)
    sys.setswitchinterval(SWITCH)
    settle()
    store = MemoryStore()
    await fill(store, queues, pending)
    with tempfile.TemporaryDirectory() as folder:
        certificates = Folder(Path(folder) / "certs")
        ensure(certificates, ("localhost", "127.0.0.1"), datetime.now(UTC))
        config = Config(listen="127.0.0.1:0", cert_dir=certificates.path, leader_election=False,
                        ui=PageMode.READ_ONLY, ui_listen="127.0.0.1:0")  # fmt: skip
        daemon = Daemon(config, store)
        await daemon.start()
        try:
            await at_rest(daemon, queues * RUNNING)
            yield daemon, store, f"http://127.0.0.1:{daemon.ui_port}"
        finally:
            await daemon.stop()


async def at_rest(daemon, running):
    """Wait until all that can run holds quota. Reasons of those that wait may still be written: that is a busy day."""
    begun = perf_counter()
    while True:
        state = daemon.core.state
        holding = sum(len(line.holders) for line in state.by_queue.values())
        if holding >= running:
            took = perf_counter() - begun
            print(f"after {took:.0f} s {holding:,} of {len(state.entries):,} workloads hold quota", flush=True)
            return
        await asyncio.sleep(1.0)


async def kept(stop):
    """Give the longest that the loop was kept by anything, in seconds, until `stop` is set."""
    longest = 0.0
    while not stop.is_set():
        before = perf_counter()
        await asyncio.sleep(0.001)
        longest = max(longest, perf_counter() - before - 0.001)
    return longest


async def timed(session, url):
    """Give seconds, bytes, status, and how long the loop was kept."""
    stop = asyncio.Event()
    watch = asyncio.create_task(kept(stop))
    begun = perf_counter()
    async with session.get(url) as answer:
        body = await answer.read()
    took = perf_counter() - begun
    stop.set()
    return took, len(body), answer.status, await watch


async def decision_to_event(session, url, store):
    """Give the seconds from a change of a queue to the event of it, each way of five."""
    times = []
    async with session.get(url + "/ui/events") as stream:
        for number in range(5):
            await asyncio.sleep(3.0)
            await drained(stream)
            begun = perf_counter()
            await store.create(workload(f"new-{number}", "main", "team-0000", cpu="1"))
            while not (await stream.content.readline()).startswith(b"data: "):
                pass
            times.append(perf_counter() - begun)
    return times


async def drained(stream):
    """Read what came before."""
    while True:
        try:
            await asyncio.wait_for(stream.content.readline(), 0.5)
        except TimeoutError:
            return


async def main(queues, pending):
    """Print a line for each view."""
    async with served(queues, pending) as (daemon, store, url), aiohttp.ClientSession() as session:
        job = (daemon.core.in_order("team-0007") or ["team-0007/none"])[-1]
        views = {
            "page": "/ui/",
            "session": "/ui/api/session",
            "cluster": "/ui/api/cluster",
            "cluster, again": "/ui/api/cluster",
            "queue": "/ui/api/queues/team-0007",
            "workload": f"/ui/api/workloads/{job}",
            "find": "/ui/api/find?text=train-0499",
            "policies": "/ui/api/policies",
            "what-if": f"/ui/api/workloads/{job}/what-if?gpus=4",
        }
        print(f"{'view':16} {'seconds':>8} {'bytes':>10} {'status':>6} {'loop kept, ms':>14}")
        for name, path in views.items():
            took, size, status, longest = await timed(session, url + path)
            print(f"{name:16} {took:8.3f} {size:10,} {status:6} {1000 * longest:14.1f}", flush=True)
        times = await decision_to_event(session, url, store)
        print(f"event after a change: {max(times):.2f} s at most, {min(times):.2f} s at least")


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:3])) if len(sys.argv) > 2 else main(QUEUES, PENDING))
