"""A crowd that waits: thirty queues, very many Workloads of one team in them, with Jobs or without, a few let in.

Those without Jobs are ended by hand as they are admitted, so that each round has something to decide.
"""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.e2e.sluice import managed
from tests.faults.judge import WORKLOADS, condition, finished, name_of

JSON = dict[str, Any]
QUEUES, CPUS, TEAM = 30, 10, "pending"
KUEUE = "kueue.x-k8s.io/v1beta2"
ADMISSIONS = 10
"""A second, as many as are ended."""
RUN_SECONDS = QUEUES * CPUS / 2 / ADMISSIONS
"""How long a Job runs, so that as many end: of one to three CPUs, half of the quota's number run at once."""
CREATORS = 8


class Admissions:
    """Notes when Workloads are admitted, in `times`, and which say something of themselves, in `told`.

    With `ends`, ends a few admitted ones a second.
    """

    def __init__(self, plane: ControlPlane, *, ends: bool) -> None:
        self._plane, self._closed = plane, threading.Event()
        self.times: list[float] = []
        found = plane.client.get(WORKLOADS)
        since = found["metadata"]["resourceVersion"]
        self._running: list[JSON] = [obj for obj in found["items"] if condition(obj, "QuotaReserved")]
        self._seen = {name_of(obj) for obj in self._running}
        self.told = {name_of(obj) for obj in found["items"] if _tells(obj)}
        self._threads = [threading.Thread(target=self._watch, args=(since,), daemon=True)]
        if ends:
            self._threads.append(threading.Thread(target=self._end, daemon=True))
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop."""
        self._closed.set()
        for thread in self._threads:
            thread.join()

    def _watch(self, since: str) -> None:
        client = self._plane.client_for("admin")
        while not self._closed.is_set():
            for event in client.watch(WORKLOADS, since, seconds=2):
                obj = event["object"]
                since = obj["metadata"]["resourceVersion"]
                if _tells(obj):
                    self.told.add(name_of(obj))
                if condition(obj, "QuotaReserved") and not finished(obj) and name_of(obj) not in self._seen:
                    self._seen.add(name_of(obj))
                    self.times.append(time.monotonic())
                    self._running.append(obj)
        client.close()

    def _end(self) -> None:
        client = self._plane.client_for("admin")
        while not self._closed.wait(1 / ADMISSIONS):
            if self._running:
                obj = self._running.pop(0)
                row = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "",
                       "lastTransitionTime": obj["metadata"]["creationTimestamp"]}  # fmt: skip
                status = {"conditions": [*obj["status"]["conditions"], row]}
                path = WORKLOADS.replace("workloads", f"namespaces/{TEAM}/workloads/{obj['metadata']['name']}/status")
                client.merge(path, {"status": status})
        client.close()


def _tells(obj: JSON) -> bool:
    return bool(obj.get("status", {}).get("conditions"))


def create(plane: ControlPlane, count: int, *, jobs: bool) -> None:
    """Create Workloads, or Jobs, by some threads."""
    clients = [plane.client_for("admin") for _ in range(CREATORS)]
    made = job if jobs else workload

    def some(number: int, client: Client) -> None:
        for each in range(number, count, CREATORS):
            client.create(made(each))
        client.close()

    with ThreadPoolExecutor(CREATORS) as pool:
        list(pool.map(some, range(CREATORS), clients))


def workload(number: int) -> JSON:
    """A Workload of one to three CPUs."""
    pods = {"name": "main", "count": 1, "template": {"spec": _pod(number)}}
    spec = {"queueName": f"q{number % QUEUES}", "podSets": [pods]}
    metadata = {"name": f"w-{number:06}", "namespace": TEAM}
    return {"apiVersion": KUEUE, "kind": "Workload", "metadata": metadata, "spec": spec}


def job(number: int) -> JSON:
    """A suspended Job of one to three CPUs."""
    template = {"metadata": {"annotations": {"sluice.dev/run-seconds": str(RUN_SECONDS)}}, "spec": _pod(number)}
    queue = {"kueue.x-k8s.io/queue-name": f"q{number % QUEUES}"}
    metadata = {"name": f"j-{number:06}", "namespace": TEAM, "labels": queue}
    spec = {"suspend": True, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _pod(number: int) -> JSON:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(1 + number % 3)}}}
    return {"containers": [container], "restartPolicy": "Never"}


def definitions() -> Iterator[JSON]:
    """Thirty ClusterQueues with a LocalQueue each."""
    yield managed(TEAM)
    yield {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "f"}}
    quota = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": str(CPUS)}]}
    group = {"coveredResources": ["cpu"], "flavors": [quota]}
    for number in range(QUEUES):
        name, spec = f"q{number}", {"namespaceSelector": {}, "resourceGroups": [group]}
        yield {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}
        metadata = {"name": name, "namespace": TEAM}
        yield {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": name}}
