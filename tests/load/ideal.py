"""The floor for any controller of queues: `python -m tests.load.ideal --kubeconfig FILE`.

It keeps one counter a cohort, lets the workload of the highest priority in that fits, oldest first, and writes each
admission once. It knows no flavors but one, no limits, no preemption, and explains nothing. Every second it writes how
many workloads wait and run in each queue that changed: the runner stops when a queue does not say that it has any.
"""

import argparse
import asyncio
import contextlib
import signal
from collections import Counter
from datetime import UTC, datetime
from heapq import heappop, heappush
from pathlib import Path
from time import monotonic
from typing import Any

import uvloop

from webhook.api.amounts import amount, text
from webhook.cluster.api.client import Client, Pace
from webhook.cluster.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD
from webhook.cluster.api.live_store import LiveStore
from webhook.kube.conditions import holds
from webhook.store.errors import StoreError
from webhook.store.informer import Informer
from webhook.store.objects import Object, key_of

FLOOD = Pace(10_000, 20_000, 10.0)


class Counters:
    """What each cohort has and uses of one resource, and who waits in it."""

    def __init__(self, store: LiveStore) -> None:
        self.store = store
        self.cohort_of: dict[str, str] = {}
        self.queue_of: dict[str, str] = {}
        self.free: Counter[str] = Counter()
        self.waiting: dict[str, list[tuple[int, str, str, Object]]] = {}
        self.held: dict[str, tuple[str, int]] = {}
        self.pending: Counter[str] = Counter()
        self.reserving: Counter[str] = Counter()
        self.told: dict[str, tuple[int, int]] = {}
        self.seen: set[str] = set()
        self.early: list[Object] = []
        self.writes: set[asyncio.Task[None]] = set()

    def queue(self, _: object, old: Object | None, new: Object | None) -> None:
        """Count a ClusterQueue's quota once."""
        if new is None or new["metadata"]["name"] in self.cohort_of:
            return
        name, spec = new["metadata"]["name"], new["spec"]
        cohort = self.cohort_of[name] = spec.get("cohortName") or name
        ((resource,),) = ([f["resources"] for f in group["flavors"]] for group in spec["resourceGroups"])
        self.free[cohort] += amount(resource[0]["name"], resource[0]["nominalQuota"])
        self.admit(cohort)
        self.retry()

    def retry(self) -> None:
        """Look again at workloads that came before their queue."""
        early, self.early = self.early, []
        for workload in early:
            self.workload(WORKLOAD, None, workload)

    def local(self, _: object, old: Object | None, new: Object | None) -> None:
        """Note where a LocalQueue leads."""
        if new is not None:
            self.queue_of["/".join(key_of(new))] = new["spec"]["clusterQueue"]
            self.retry()

    def workload(self, _: object, old: Object | None, new: Object | None) -> None:
        """Let a new workload wait, and take back what a finished one held."""
        if new is None:
            return
        uid = new["metadata"]["uid"]
        if holds(new, "Finished"):
            cohort, asked = self.held.pop(uid, ("", 0))
            if cohort:
                self.reserving[self.leads_to(new)] -= 1
            self.free[cohort] += asked
            self.admit(cohort)
        elif uid not in self.seen and not new.get("status", {}).get("admission"):
            cohort = self.cohort_of.get(self.leads_to(new), "")
            if not cohort:
                self.early.append(new)
                return
            self.seen.add(uid)
            self.pending[self.leads_to(new)] += 1
            entry = (-int(new["spec"].get("priority") or 0), new["metadata"]["creationTimestamp"], uid, new)
            heappush(self.waiting.setdefault(cohort, []), entry)
            self.admit(cohort)

    def leads_to(self, workload: Object) -> str:
        """Give the ClusterQueue of a workload, or nothing while its LocalQueue is not known."""
        return self.queue_of.get(f"{key_of(workload)[0]}/{workload['spec']['queueName']}", "")

    def admit(self, cohort: str) -> None:
        """Admit from the front of a cohort while it fits."""
        waiting = self.waiting.get(cohort) or []
        while waiting and requested(waiting[0][-1]) <= self.free[cohort]:
            _, _, uid, workload = heappop(waiting)
            asked = requested(workload)
            self.free[cohort] -= asked
            self.held[uid] = cohort, asked
            queue = self.leads_to(workload)
            self.pending[queue] -= 1
            self.reserving[queue] += 1
            task = asyncio.create_task(self.write(workload, asked))
            self.writes.add(task)
            task.add_done_callback(self.writes.discard)

    async def write(self, workload: Object, asked: int) -> None:
        """Write an admission."""
        namespace, name = key_of(workload)
        queue = self.leads_to(workload)
        (pods,) = workload["spec"]["podSets"]
        usage = {"cpu": text("cpu", asked)}
        assigned = {"name": pods["name"], "count": pods["count"], "flavors": {"cpu": "rf"}, "resourceUsage": usage}
        conditions = [condition("QuotaReserved"), condition("Admitted")]
        status = {"admission": {"clusterQueue": queue, "podSetAssignments": [assigned]}, "conditions": conditions}
        with contextlib.suppress(StoreError):
            await self.store.patch(WORKLOAD, name, namespace, {"status": status}, subresource="status")

    async def tell(self) -> None:
        """Write the counts of each queue that changed, once a second."""
        while True:
            for queue in self.cohort_of:
                counts = self.pending[queue], self.reserving[queue]
                if counts == self.told.get(queue):
                    continue
                status = {"pendingWorkloads": counts[0], "reservingWorkloads": counts[1]}
                status |= {"admittedWorkloads": counts[1], "conditions": [condition("Active")]}
                with contextlib.suppress(StoreError):  # the next second tries again
                    await self.store.patch(CLUSTER_QUEUE, queue, "", {"status": status}, subresource="status")
                    self.told[queue] = counts
            await asyncio.sleep(1)


def condition(type_: str) -> Object:
    """Give a condition that holds from now on."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": type_, "status": "True", "reason": type_, "message": "", "lastTransitionTime": now}


def requested(workload: Object) -> int:
    """Thousandths of a CPU that a workload asks for."""
    (pods,) = workload["spec"]["podSets"]
    (container,) = pods["template"]["spec"]["containers"]
    return int(pods["count"]) * amount("cpu", container["resources"]["requests"]["cpu"])


async def run(kubeconfig: Path) -> None:
    """Follow the API server until the end."""
    client = await Client.connect(kubeconfig, None, FLOOD, monotonic)
    store = LiveStore(client)
    counters = Counters(store)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    following: list[Any] = []
    for kind, heard in (
        (CLUSTER_QUEUE, counters.queue),
        (LOCAL_QUEUE, counters.local),
        (WORKLOAD, counters.workload),
    ):
        informer = Informer(kind, heard)
        following.append(asyncio.create_task(informer.follow(store)))
        await informer.synced.wait()
    following.append(asyncio.create_task(counters.tell()))
    await stop.wait()
    for task in following:
        task.cancel()
    await asyncio.gather(*following, return_exceptions=True)
    await client.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.load.ideal", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    given, _ = parser.parse_known_args()
    uvloop.run(run(given.kubeconfig))
