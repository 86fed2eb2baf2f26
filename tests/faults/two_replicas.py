"""What every fault needs: a control plane, two teams that share a quota, two replicas of Sluice, and Jobs."""

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any

from tests.controlplane import nodes
from tests.controlplane.client import ApiError, Client
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import NODES
from tests.e2e.node import Proxy
from tests.e2e.rights import SYSTEM
from tests.e2e.sluice import Sluice, managed
from tests.faults.judge import JOBS, Judge
from tests.faults.proxy import ApiProxy, Fault

JSON = dict[str, Any]
TEAMS = ("faults-a", "faults-b")
CPUS = 10
"""Quota of each team; the other may borrow it."""
RUN_SECONDS = 0.2
"""How long each Job runs."""
LEASE_SECONDS = 4
"""On a busy machine the lead may move though nothing is done to the leader: no test may rely on who leads."""
FULL = os.environ.get("SLUICE_FAULTS") == "full"
"""Whether faults are run at full size, as `make faults` does."""
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/sluice"


def size(fast: int, full: int) -> int:
    """Of how much there is: less in `make test` than in `make faults`."""
    return full if FULL else fast


class Replica(Sluice):
    """One of two replicas, with the chart's rights; where it is `proxied`, a proxy of its own before the API server."""

    def __init__(self, plane: ControlPlane, home: Path, name: str, *flags: str, proxied: bool = True) -> None:
        self.journal = home / f"{name}-journal"
        own = (f"--identity={name}", f"--journal-folder={self.journal}")
        super().__init__(plane, home, flags=(*own, *flags), name=name)
        self.proxy, self._proxied = ApiProxy(plane), proxied

    def restrict(self) -> None:
        """Serve with the rights of the chart, through the proxy."""
        super().restrict()
        if self._proxied:
            self.kubeconfig.write_text(self.kubeconfig.read_text().replace(self.plane.url, self.proxy.url))

    def able(self) -> bool:
        """Whether reviews may be sent to it."""
        return self.child is not None and self.child.running and self.ready()


class TwoReplicas:
    """Everything that a fault needs. `open` once, `close` at the end; `jobs` for each fault."""

    def __init__(self, plane: ControlPlane, home: Path, lease: float = LEASE_SECONDS, *, proxied: bool = True) -> None:
        self.plane = plane
        flag = f"--lease-seconds={lease}"
        self.replicas = [Replica(plane, home, name, flag, proxied=proxied) for name in ("first", "second")]
        self._number = itertools.count()

    def open(self) -> None:
        """Start everything, and register the replicas behind one address."""
        client, first = self.plane.client, self.replicas[0]
        nodes.add(client, *NODES)
        first.install()
        for replica in self.replicas:
            replica.restrict()
            replica.start()
        self._front = Proxy(("127.0.0.1", 0), lambda: [r.port for r in self.replicas if r.able()])
        first.url = f"https://127.0.0.1:{self._front.port}"
        first.register()
        for obj in _queues():
            client.apply(obj)

    def close(self) -> None:
        """End what was started. Raises AssertionError where the chart's rights did not suffice."""
        for replica in self.replicas:
            replica.stop()
            replica.proxy.close()
        self._front.close()
        refusals = [line for replica in self.replicas for line in replica.refusals()]
        assert not refusals, f"the chart lacks a right: {refusals}"

    @property
    def leader(self) -> Replica:
        """The replica that the lease names."""
        holder = self.plane.client.get(LEASE)["spec"]["holderIdentity"]
        return next((r for r in self.replicas if r.name == holder), self.replicas[0])

    @property
    def follower(self) -> Replica:
        """The other one. The lease is read once: it may move between two looks."""
        leader = self.leader
        return next(r for r in self.replicas if r is not leader)

    @property
    def epoch(self) -> int:
        """How often the lease changed hands."""
        return int(self.plane.client.get(LEASE)["spec"].get("leaseTransitions", 0))

    def hits(self) -> int:
        """How many calls faults did something to."""
        return sum(replica.proxy.hits for replica in self.replicas)

    @contextmanager
    def faulty(self, fault: Fault) -> Iterator[None]:
        """Let both proxies do this to calls."""
        try:
            for replica in self.replicas:
                replica.proxy.fault = fault
            yield
        finally:
            for replica in self.replicas:
                replica.proxy.fault = None

    @contextmanager
    def quota(self, cpus: int) -> Iterator[None]:
        """Give each team another quota meanwhile."""
        for obj in _queues(cpus):
            self.plane.client.apply(obj)
        try:
            yield
        finally:
            for obj in _queues():
                self.plane.client.apply(obj)

    @contextmanager
    def jobs(self, count: int, rate: float = 40.0, creators: int = 1, *, gaps: bool = False) -> Iterator["Run"]:
        """Create Jobs meanwhile; behind the block wait until all are complete, and judge. Raises AssertionError.

        `rate` is Jobs a second, by all `creators` together: each is a thread with a connection of its own. With `gaps`
        the judge may have missed events: he lists where the API server has forgotten his version.
        """
        run = Run(self.plane, f"f{next(self._number)}", count, rate, creators)
        try:
            yield run
            run.finish()
            assert gaps or not run.judge.gaps, "the judge missed events"
        finally:
            run.close()


class Run:
    """Some Jobs that are created in the background, and the judge who follows them."""

    def __init__(self, plane: ControlPlane, prefix: str, count: int, rate: float, creators: int) -> None:
        self.plane, self.judge = plane, Judge(plane)
        self.names = {f"{TEAMS[number % 2]}/{prefix}-{number}" for number in range(count)}
        self.retried = 0
        self._jobs = iter([job_of(TEAMS[n % 2], f"{prefix}-{n}", 1 + n % 3, RUN_SECONDS) for n in range(count)])
        self._pause, self._stopped = creators / rate, threading.Event()
        self._threads = [threading.Thread(target=self._create, daemon=True) for _ in range(creators)]
        for thread in self._threads:
            thread.start()

    @property
    def complete(self) -> int:
        """How many Jobs are complete."""
        return self.judge.complete(self.names)

    @property
    def over(self) -> bool:
        """Whether all are."""
        return self.complete == len(self.names)

    def finish(self) -> None:
        """Wait for the last Job, and assert that every law was kept."""
        try:
            self._until_none("one more Job is complete", lambda: len(self.names) - self.complete)
            self._until_none("one more Workload has ended", lambda: len(self.judge.lost(self.names)))
        except TimeoutError as error:
            raise AssertionError(f"{error}: {self.judge.lost(self.names)[:5]}") from None
        assert not self.judge.broken, "\n".join(self.judge.broken[:10])

    def _until_none(self, what: str, left: Callable[[], int]) -> None:
        """Wait as long as fewer are left each time; raises TimeoutError where no more comes."""
        while (before := left()) and not self.judge.broken:
            self.plane.wait(f"{what}, of {before}", lambda before=before: left() < before or self.judge.broken)

    def close(self) -> None:
        """End the watches, and delete the Jobs."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        self.judge.close()
        for team in TEAMS:
            self.plane.wait(f"the Jobs of {team} are deleted", partial(self._deleted, team))

    def _deleted(self, team: str) -> bool:
        """Delete a team's Jobs."""
        path = JOBS.replace("/jobs", f"/namespaces/{team}/jobs")
        try:
            self.plane.client.call("DELETE", path, {"propagationPolicy": "Background"})
        except (HTTPException, OSError):
            return False
        return True

    def _create(self) -> None:
        client = self.plane.client_for("admin")
        for job in self._jobs:  # the threads share it
            while not self._stopped.is_set() and not self._created(client, job):
                self.retried += 1
                time.sleep(0.1)
            time.sleep(self._pause)
        client.close()

    @staticmethod
    def _created(client: Client, job: JSON) -> bool:
        """Create a Job as a patient user would: an error is tried again, until it is there."""
        path = f"/apis/batch/v1/namespaces/{job['metadata']['namespace']}/jobs"
        try:
            client.call("POST", path, job)
        except ApiError as error:
            return error.status == 409
        except OSError:
            return False
        return True


@contextmanager
def repeated(seconds: float, act: Callable[[], object]) -> Iterator[None]:
    """Do something again and again meanwhile."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(seconds):
            act()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def job_of(namespace: str, name: str, cpus: int, seconds: float) -> JSON:
    """A Job of one pod that runs for some seconds."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpus)}}}
    template = {
        "metadata": {"annotations": {"sluice.dev/run-seconds": str(seconds)}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    metadata = {"name": name, "namespace": namespace, "labels": {"kueue.x-k8s.io/queue-name": "main"}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}


def _queues(cpus: int = CPUS) -> Iterator[JSON]:
    kueue = "kueue.x-k8s.io/v1beta2"
    yield {"apiVersion": kueue, "kind": "ResourceFlavor", "metadata": {"name": "faults"}}
    quota = {"name": "faults", "resources": [{"name": "cpu", "nominalQuota": str(cpus)}]}
    group = {"coveredResources": ["cpu"], "flavors": [quota]}
    for team in TEAMS:
        yield managed(team)
        spec = {"cohortName": "faults", "namespaceSelector": {}, "resourceGroups": [group]}
        yield {"apiVersion": kueue, "kind": "ClusterQueue", "metadata": {"name": team}, "spec": spec}
        metadata = {"name": "main", "namespace": team}
        yield {"apiVersion": kueue, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": team}}
