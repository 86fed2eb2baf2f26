"""`python -m tests.faults.pending`: many pending Workloads in a real API server, and two replicas of Sluice.

Measures what rounds of decisions do to the latency of reviews, and how long a takeover lasts after a SIGKILL. The
Workloads have no Jobs; those that are admitted are ended by hand, so that each round has something to decide.
"""

import argparse
import asyncio
import json
import ssl
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane, start
from tests.e2e.sluice import managed
from tests.faults.judge import WORKLOADS, condition, finished, name_of
from tests.faults.two_replicas import LEASE, Replica
from tests.patience import wait
from tests.server.serving import review
from tests.server.wire import Talk, post

JSON = dict[str, Any]
QUEUES, CPUS, TEAM = 30, 10, "pending"
KUEUE = "kueue.x-k8s.io/v1beta2"
RATE = 50
"""Reviews a second."""
ENDS = 10
"""Workloads that are ended in a second, and as many admitted."""
CREATORS = 8


class Ends:
    """Ends Workloads as they are admitted, and those that were before, a few a second.

    `admitted` has the times of admissions.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self._plane, self._closed = plane, threading.Event()
        self.admitted: list[float] = []
        self.errors = 0
        found = plane.client.get(WORKLOADS)
        since = found["metadata"]["resourceVersion"]
        self._running: list[JSON] = [obj for obj in found["items"] if condition(obj, "QuotaReserved")]
        self._seen = {name_of(obj) for obj in self._running}
        self._threads = [threading.Thread(target=self._watch, args=(since,), daemon=True)]
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
                if condition(obj, "QuotaReserved") and not finished(obj) and name_of(obj) not in self._seen:
                    self._seen.add(name_of(obj))
                    self.admitted.append(time.monotonic())
                    self._running.append(obj)
        client.close()

    def _end(self) -> None:
        client = self._plane.client_for("admin")
        while not self._closed.wait(1 / ENDS):
            if self._running:
                obj = self._running.pop(0)
                row = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "",
                       "lastTransitionTime": obj["metadata"]["creationTimestamp"]}  # fmt: skip
                status = {"conditions": [*obj["status"]["conditions"], row]}
                client.merge(f"{path_of(obj)}/status", {"status": status})
        client.close()


@contextmanager
def reviews(plane: ControlPlane, replica: Replica) -> Iterator[list[float]]:
    """Send reviews to a replica meanwhile, at a steady rate; gives the seconds that each took."""
    found: list[float] = []
    over = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(_reviews(plane, replica, found, over)), daemon=True)
    thread.start()
    yield found
    over.set()
    thread.join()


async def _reviews(plane: ControlPlane, replica: Replica, found: list[float], over: threading.Event) -> None:
    trust = ssl.create_default_context(cafile=str(replica.authority))
    trust.load_cert_chain(plane.clients.client_certificate, plane.clients.client_key)
    reader, writer = await asyncio.open_connection("127.0.0.1", replica.port, ssl=trust)
    talk = Talk(reader, writer)
    body = json.dumps(review(namespace=TEAM, object=job())).encode()
    requests = [post(body, path=f"/{name}/fail") for name in ("mutate", "validate")]
    due = time.monotonic()
    while not over.is_set():
        for request in requests:
            begun = time.perf_counter()
            answer = await (await talk.send(request)).answer()
            found.append(time.perf_counter() - begun)
            assert answer is not None
            assert answer.status == 200, answer.body
        due += len(requests) / RATE
        await asyncio.sleep(max(0.0, due - time.monotonic()))
    writer.transport.abort()


def run(plane: ControlPlane, home: Path, count: int, seconds: float, lease: float) -> None:
    """Measure, and print a table."""
    replicas = [Replica(plane, home, name, lease) for name in ("first", "second")]
    replicas[0].install()
    for replica in replicas:
        replica.kubeconfig = plane.kubeconfig  # measured without the proxy
        replica.start()
    for obj in definitions():
        plane.client.apply(obj)
    with reviews(plane, leader_of(plane, replicas)) as calm:
        time.sleep(seconds)
    show("no pending Workload, no round", calm)
    begun = time.monotonic()
    create(plane, count)
    print(f"{count:,} Workloads created, {count / (time.monotonic() - begun):.0f} a second", flush=True)
    ends = Ends(plane)
    plane.wait("rounds are under way", lambda: len(ends.admitted) > 2 * ENDS)
    for what in ("while each is told why it waits", "once each was told"):
        if what.startswith("once"):
            wait(lambda: not silent(plane), "each that waits says why", seconds=3600)
        leader = leader_of(plane, replicas)
        follower = next(each for each in replicas if each is not leader)
        with reviews(plane, leader) as busy, reviews(plane, follower) as beside:
            before = len(ends.admitted)
            time.sleep(seconds)
        rate = (len(ends.admitted) - before) / seconds
        show(f"{count:,} pending, {rate:.0f} admissions a second, {what}", busy)
        show("the same seconds at the follower, which makes no rounds", beside)
        quiet, same = percentile(calm, 99), percentile(beside, 99)
        p99 = percentile(busy, 99)
        print(
            f"the leader's p99 is {p99 / quiet:.2f} times the first, {p99 / same:.2f} times the follower's", flush=True
        )
    takeover(plane, replicas, ends, lease)
    ends.close()
    for replica in replicas:
        replica.stop()
        replica.proxy.close()


def takeover(plane: ControlPlane, replicas: Sequence[Replica], ends: Ends, lease: float) -> None:
    """Kill the leader, and print how long nobody was admitted."""
    old = leader_of(plane, replicas)
    for replica in replicas:
        print(f"{'leader' if replica is old else 'follower'}: {memory(replica):.0f} MiB")
    old.kill()
    killed, before = time.monotonic(), len(ends.admitted)
    plane.wait("another leads", lambda: leader_of(plane, replicas) is not old)
    leads = time.monotonic() - killed
    plane.wait("it admits", lambda: any(at > killed + leads for at in ends.admitted[before:]))
    admits = next(at for at in ends.admitted[before:] if at > killed + leads) - killed
    print(f"after a SIGKILL of the leader, lease of {lease:g} s: another holds it after {leads:.1f} s, "
          f"and admits after {admits:.1f} s")  # fmt: skip


def show(what: str, seconds: list[float]) -> None:
    """Print a line of latencies."""
    p50, p99 = (1000 * percentile(seconds, share) for share in (50, 99))
    print(f"{what:75}  p50 {p50:6.2f} ms  p99 {p99:6.2f} ms  of {len(seconds):,} reviews", flush=True)


def percentile(found: list[float], share: float) -> float:
    """The value that so many of a hundred do not exceed."""
    return sorted(found)[min(len(found) - 1, int(len(found) * share / 100))]


def memory(replica: Replica) -> float:
    """MiB that a replica has in memory."""
    assert replica.child is not None
    text = Path(f"/proc/{replica.child.process.pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) / 1024


def silent(plane: ControlPlane) -> bool:
    """Whether a Workload says nothing of itself yet."""
    time.sleep(5)  # the list costs the machine that is measured
    return any(not obj.get("status", {}).get("conditions") for obj in plane.client.get(WORKLOADS)["items"])


def leader_of(plane: ControlPlane, replicas: Sequence[Replica]) -> Replica:
    """The replica that the lease names."""
    holder = plane.wait(
        "somebody leads", lambda: plane.client.request("GET", LEASE).body.get("spec", {}).get("holderIdentity")
    )
    return next(replica for replica in replicas if replica.name == holder)


def create(plane: ControlPlane, count: int) -> None:
    """Create the Workloads, by some threads."""
    clients = [plane.client_for("admin") for _ in range(CREATORS)]

    def some(number: int, client: Client) -> None:
        for each in range(number, count, CREATORS):
            client.create(workload(each))
        client.close()

    with ThreadPoolExecutor(CREATORS) as pool:
        list(pool.map(some, range(CREATORS), clients))


def workload(number: int) -> JSON:
    """A Workload of one to three CPUs."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(1 + number % 3)}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    spec = {"queueName": f"q{number % QUEUES}", "podSets": [pods]}
    metadata = {"name": f"w-{number:06}", "namespace": TEAM}
    return {"apiVersion": KUEUE, "kind": "Workload", "metadata": metadata, "spec": spec}


def job() -> JSON:
    """A Job as a user creates it."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    metadata = {"name": "j", "namespace": TEAM, "labels": {"kueue.x-k8s.io/queue-name": "q0"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"suspend": True, "template": template},
    }


def path_of(obj: JSON) -> str:
    """The path of a Workload."""
    return WORKLOADS.replace("workloads", f"namespaces/{TEAM}/workloads/{obj['metadata']['name']}")


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


def main() -> None:
    """Start a control plane, measure, stop it."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.pending", description=__doc__)
    parser.add_argument("--count", type=int, default=50_000, help="pending Workloads")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long reviews are measured, each time")
    parser.add_argument("--lease", type=float, default=15.0, help="seconds of the lease")
    given = parser.parse_args()
    plane = start()
    try:
        with tempfile.TemporaryDirectory(prefix="sluice-pending-") as home:
            run(plane, Path(home), given.count, given.seconds, given.lease)
    finally:
        plane.stop()


if __name__ == "__main__":
    main()
