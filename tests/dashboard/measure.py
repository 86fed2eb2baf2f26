"""`python -m tests.dashboard.measure`: how long the page takes with 1,000 queues and 50,000 pending workloads.

For each view, and for the metrics: the time to its answer, and the longest that the event loop was kept meanwhile. Then
how long rounds and what they write keep it, and the time from a decision to the event that tells of it. Figures depend
on the machine; the exit code is 1 where one is over its bar.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from time import perf_counter
from urllib.parse import urlencode

import aiohttp

from tests.dashboard.busy_cluster import GPU, PENDING, QUEUES, served
from tests.dashboard.serving import workload

VIEW, RESULT, EVENT = 2.0, 10.0, 1.0
"""Seconds: until a view is answered, until a simulation is, and from a change to the event of it."""
OTHER_QUOTA = urlencode({"queue": "team-0007", "flavor": "a100", "resource": GPU, "quota": 24})


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


async def changed(store):
    """Give how long the loop was kept while some came to wait, each in another queue."""
    stop = asyncio.Event()
    watch = asyncio.create_task(kept(stop))
    for number in range(20):
        await store.create(workload(f"more-{number}", "main", f"team-{number:04}", cpu="1"))
        await asyncio.sleep(0.25)
    stop.set()
    return await watch


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
    """Print a line for each view; give whether all are within their bars."""
    good = True
    async with served(queues, pending) as busy, aiohttp.ClientSession() as session:
        url, job = busy.url, (busy.daemon.core.in_order("team-0007") or ["team-0007/none"])[-1]
        views = {
            "page": "/ui/",
            "session": "/ui/api/session",
            "cluster": "/ui/api/cluster",
            "cluster, again": "/ui/api/cluster",
            "queue": "/ui/api/queues/team-0007",
            "its starts": "/ui/api/queues/team-0007/starts?limit=50",
            "workload": f"/ui/api/workloads/{job}",
            "its start": f"/ui/api/workloads/{job}/start",
            "find": "/ui/api/find?text=train-0499",
            "policies": "/ui/api/policies",
            "what-if": f"/ui/api/workloads/{job}/what-if?gpus=4",
            "simulate": f"/ui/api/simulate?{OTHER_QUOTA}",
        }
        print(f"{'view':16} {'seconds':>8} {'bytes':>10} {'status':>6} {'loop kept, ms':>14}")
        for name, path in views.items():
            took, size, status, longest = await timed(session, url + path)
            within = took <= (RESULT if name == "simulate" else VIEW) and status == 200
            over = "" if within else "  over its bar"
            good = good and within
            print(f"{name:16} {took:8.3f} {size:10,} {status:6} {1000 * longest:14.1f}{over}", flush=True)
        verify = ssl.create_default_context(cafile=str(busy.authority))
        over_tls = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=verify))
        async with over_tls as scraper:
            took, size, status, longest = await timed(scraper, f"https://127.0.0.1:{busy.daemon.port}/metrics")
        print(f"{'metrics':16} {took:8.3f} {size:10,} {status:6} {1000 * longest:14.1f}")
        print(f"rounds of 5 s {1000 * await changed(busy.store):46.1f}", flush=True)
        times = await decision_to_event(session, url, busy.store)
        print(f"event after a change: {max(times):.2f} s at most, {min(times):.2f} s at least")
        return good and max(times) <= EVENT


if __name__ == "__main__":
    sizes = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (QUEUES, PENDING)
    sys.exit(0 if asyncio.run(main(*sizes)) else 1)
