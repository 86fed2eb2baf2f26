"""`python -m tests.dashboard.measure_browser`: how long a reader waits, with 1,000 queues and 50,000 pending workloads.

For each view, the seconds from the address to a page that is drawn, in a browser that has seen none of it; then from a
change to the page that shows it. Beside the clock stands what the page's own thread worked, which grows less with what
else the machine does. The daemon runs in a process of its own. Figures depend on the machine; the exit code is 1 where
one is over its bar, or the browser's console has an error.
"""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import IO

from playwright.sync_api import Browser, CDPSession, Page

from tests.daemon.serving import RULES
from tests.dashboard.browser.chromium import browser, reader
from tests.dashboard.busy_cluster import PENDING, QUEUES, served
from tests.dashboard.measure import EVENT, OTHER_QUOTA, RESULT, VIEW
from tests.dashboard.serving import workload
from webhook.cluster.api.kinds import WORKLOAD

CHANGES = 5
RELOAD = 10.0
"""Seconds from a changed file to the page, with the second until it is seen and the child that compiles all files."""
REST = 3000
"""Milliseconds before each change."""


def views(job):
    """The addresses; `job` is a workload that waits, as `namespace/name`."""
    return {
        "cluster": "#/cluster",
        "queue": "#/queues/team-0007",
        "job": f"#/workloads/{job}",
        "what if": f"#/workloads/{job}?gpus=4&resource=nvidia.com%2Fgpu",
        "policies": "#/policies",
        "simulate": "#/simulate",
        "simulated": f"#/simulate?{OTHER_QUOTA}",
        "find": "#/find?text=train-0499",
    }


@dataclass(frozen=True)
class Followed:
    """A view that follows what happens: its address, what of it changes, and what is told to the daemon for that."""

    route: str
    shows: str
    change: Callable[[int], str]


def followed(job):
    """Each view that is loaded again by itself."""
    return {
        "cluster": Followed("#/cluster", ".heading .quiet", lambda number: f"create cluster-{number}"),
        "queue": Followed("#/queues/team-0000", ".heading .quiet", lambda number: f"create queue-{number}"),
        "job": Followed(f"#/workloads/{job}", ".standing .state", lambda number: f"turn {number % 2} {job}"),
        "policies": Followed("#/policies", ".facts code", lambda number: f"reload {number}"),
    }


async def serve(queues, pending):
    """Be the daemon: print the page's address and a waiting workload, then do what each line read says."""
    async with served(queues, pending) as busy:
        print("address", busy.url, busy.daemon.core.in_order("team-0007")[-1], flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            await change(busy, *line.split())


async def change(busy, what, *told):
    """Create a workload that there is quota for, turn one on or off, or let the policies be others."""
    if what == "create":
        await busy.store.create(workload(told[0], "main", "team-0000", cpu="1"))
    elif what == "turn":
        space, name = told[1].split("/")
        await busy.store.patch(WORKLOAD, name, space, {"spec": {"active": told[0] == "1"}})
    else:
        (busy.policies / "one-more.yaml").write_text(RULES.replace("no-foo", f"no-foo-{told[0]}"))


def main(queues, pending):
    """Print a line for each view, and one for the changes of each that follows them; give whether all is well."""
    good = True
    command = [sys.executable, "-m", "tests.dashboard.measure_browser", "serve", str(queues), str(pending)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as daemon:
        url, job = address(daemon.stdout)
        with browser() as started:
            for name, hash_route in views(job).items():
                (stands, whole, worked), mistakes = well(opened, started, url, hash_route)
                within = stands <= VIEW and whole <= (RESULT if name == "simulated" else VIEW) and not mistakes
                good = good and within
                told = (
                    f"{name:10} stands in {stands:5.2f} s, whole in {whole:5.2f} s; its thread worked {worked:5.2f} s"
                )
                print(told + ("" if within else f"  over its bar {mistakes}"), flush=True)
            for name, view in followed(job).items():
                times, mistakes = well(updates, started, url, view, daemon.stdin)
                clock, worked = zip(*times, strict=True)
                within = max(clock) <= (RELOAD if name == "policies" else EVENT) and not mistakes
                good = good and within
                told = f"{name:10} follows in {min(clock):5.2f} to {max(clock):5.2f} s"
                over = "" if within else f"  over its bar {mistakes}"
                print(f"{told}; its thread worked {max(worked):5.2f} s at most{over}", flush=True)
        daemon.stdin.close()
    return good


def well(measure, *what):
    """Give what a measurement gives, and the mistakes on the page's console."""
    mistakes: list[str] = []
    return measure(*what, mistakes), mistakes


def address(lines):
    """Wait until the daemon is at rest; give its page's address and a waiting workload."""
    for line in lines:
        if line.startswith("address "):
            _, url, job = line.split()
            return f"{url}/ui/", job
        print(line, end="", flush=True)
    raise SystemExit("the daemon ended before it was at rest")


@contextmanager
def worker(page: Page):
    """Give what says how many seconds the page's thread has worked."""
    session: CDPSession = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def worked() -> float:
        metrics = {row["name"]: row["value"] for row in session.send("Performance.getMetrics")["metrics"]}
        return metrics["TaskDuration"]

    yield worked
    session.detach()


def opened(started: Browser, url: str, hash_route: str, mistakes: list[str]) -> tuple[float, float, float]:
    """Give the seconds until a view stands, and until it is whole, in a new profile; and what its thread worked."""
    with reader(started, url) as seen, worker(seen.page) as worked:
        before, begun = worked(), perf_counter()
        seen.page.goto(url + hash_route)
        seen.page.wait_for_selector("main[data-shown] h1")
        stands = perf_counter() - begun
        seen.page.wait_for_selector("main[data-shown]:not([aria-busy]) h1")
        found = stands, perf_counter() - begun, worked() - before
        mistakes += seen.mistakes
        seen.mistakes.clear()
        return found


def updates(
    started: Browser, url: str, view: Followed, changes: IO[str], mistakes: list[str]
) -> list[tuple[float, float]]:
    """Give the seconds from each change to the page that shows it."""
    times = []
    with reader(started, url) as seen, worker(seen.page) as worked:
        page = seen.open(url + view.route)
        page.wait_for_selector(".live:not(.reconnecting)")
        for number in range(CHANGES):
            page.wait_for_timeout(REST)
            before, done, begun = page.inner_text(view.shows), worked(), perf_counter()
            changes.write(f"{view.change(number)}\n")
            changes.flush()
            page.wait_for_function(
                "([shows, text]) => document.querySelector(shows).innerText !== text", arg=[view.shows, before]
            )
            times.append((perf_counter() - begun, worked() - done))
        mistakes += seen.mistakes
        seen.mistakes.clear()
    return times


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(int(sys.argv[2]), int(sys.argv[3])))
    else:
        sys.exit(0 if main(*(map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (QUEUES, PENDING))) else 1)
