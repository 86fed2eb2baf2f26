"""`python -m tests.dashboard.measure_browser`: how long a reader waits, with 1,000 queues and 50,000 pending workloads.

For each view, the seconds from the address to a page that is drawn, in a browser that has seen none of it; then from a
new workload to its number on the page. The daemon runs in a process of its own. Figures depend on the machine.
"""

import asyncio
import subprocess
import sys
from time import perf_counter

from tests.dashboard.browser.chromium import browser, reader
from tests.dashboard.measure import PENDING, QUEUES, served
from tests.dashboard.serving import workload

CHANGES = 5
SUMMARY = ".heading .quiet"


def views(job):
    """The addresses; `job` is a workload that waits, as `namespace/name`."""
    space, name = job.split("/")
    return {
        "cluster": "#/cluster",
        "queue": "#/queues/team-0007",
        "job": f"#/workloads/{space}/{name}",
        "what if": f"#/workloads/{space}/{name}?gpus=4&resource=nvidia.com%2Fgpu",
        "policies": "#/policies",
        "simulate": "#/simulate",
        "find": "#/find?text=train-0499",
    }


async def serve(queues, pending):
    """Be the daemon: print the page's address and a waiting workload, then create a workload for each line read."""
    async with served(queues, pending) as (daemon, store, url):
        print("address", url, daemon.core.in_order("team-0007")[-1], flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            await store.create(workload(line.strip(), "main", "team-0000", cpu="1"))


def main(queues, pending):
    """Print a line for each view, and one for the changes."""
    command = [sys.executable, "-m", "tests.dashboard.measure_browser", "serve", str(queues), str(pending)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as daemon:
        url, job = address(daemon.stdout)
        with browser() as started:
            for name, hash_route in views(job).items():
                print(f"{name:10} {opened(started, url, hash_route):6.2f} s", flush=True)
            times = updates(started, url, daemon.stdin)
        print(f"{'update':10} {max(times):6.2f} s at most, {min(times):.2f} s at least, of {len(times)}")
        daemon.stdin.close()


def address(lines):
    """Wait until the daemon is at rest; give its page's address and a waiting workload."""
    for line in lines:
        if line.startswith("address "):
            _, url, job = line.split()
            return f"{url}/ui/", job
        print(line, end="", flush=True)
    raise SystemExit("the daemon ended before it was at rest")


def opened(started, url, hash_route):
    """Give the seconds until a view is drawn, in a new profile."""
    with reader(started, url) as seen:
        begun = perf_counter()
        seen.page.goto(url + hash_route)
        seen.page.wait_for_selector("main[data-shown]:not([aria-busy]) h1")
        return perf_counter() - begun


def updates(started, url, changes):
    """Give the seconds from new workloads to the page that counts them."""
    times = []
    with reader(started, url) as seen:
        page = seen.open(url)
        page.wait_for_selector(".live:not(.reconnecting)")
        for number in range(CHANGES):
            page.wait_for_timeout(3000)
            before = page.inner_text(SUMMARY)
            begun = perf_counter()
            changes.write(f"new-{number}\n")
            changes.flush()
            page.wait_for_function(f"text => document.querySelector('{SUMMARY}').innerText !== text", arg=before)
            times.append(perf_counter() - begun)
    return times


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(int(sys.argv[2]), int(sys.argv[3])))
    else:
        main(*(map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (QUEUES, PENDING)))
