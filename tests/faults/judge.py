"""An independent judge: it lists and watches, keeps its own books, and looks at its laws at every event.

The laws: nobody is admitted twice, no Job is started twice, no cohort holds more than its queues' quotas. `lost` says
at the end what did not come through. It shares no code with Sluice; quotas and requests are CPUs only.
"""

import http.client
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.controlplane.client import ApiError, Client
from tests.controlplane.cluster import ControlPlane

JSON = dict[str, Any]
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
QUEUES, WORKLOADS, JOBS = f"{KUEUE}/clusterqueues", f"{KUEUE}/workloads", "/apis/batch/v1/jobs"


Take = Callable[[str, JSON, JSON | None], None]
"""Told of a kind of event, the object, and the object as it was before."""


def _read(client: Client, path: str) -> JSON:
    """Read a list; where the API server is just opening its storage, as after a change of the CRD, once it has."""
    while (answer := client.request("GET", path)).status == 429:
        time.sleep(0.1)
    if answer.status >= 400:
        raise ApiError(answer)
    return answer.body


class Judge:
    """Watches from now on until `close`. `broken` has a line for each law that was broken, the first ones first."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane, self._closed, self._lock = plane, threading.Event(), threading.Lock()
        self.broken: list[str] = []
        self.events = self.gaps = 0
        self.quota: Counter[str] = Counter()
        self.peaks: Counter[str] = Counter()
        self._cohort_of: dict[str, str] = {}
        self._holds: dict[str, tuple[str, int]] = {}
        self._runs: dict[str, int] = {}
        self._admitted: Counter[str] = Counter()
        self._started: Counter[str] = Counter()
        self._complete: set[str] = set()
        self._workloads: Counter[str] = Counter()
        self._finished: Counter[str] = Counter()
        self._there: dict[str, dict[str, JSON]] = {WORKLOADS: {}, JOBS: {}}
        for queue in _read(plane.client, QUEUES)["items"]:
            self._queue(queue)
        self._threads = [self._follow(WORKLOADS, self._workload), self._follow(JOBS, self._job)]

    def close(self) -> None:
        """End the watches."""
        self._closed.set()
        for thread in self._threads:
            thread.join()

    def complete(self, names: set[str]) -> int:
        """How many of these Jobs (`namespace/name`) are complete, or were before they were deleted."""
        with self._lock:
            return len(names & self._complete)

    @property
    def ended(self) -> int:
        """How many Jobs are or were complete."""
        return len(self._complete)

    def count(self, path: str) -> int:
        """How many objects are there now."""
        return len(self._there[path])

    def lost(self, names: set[str]) -> list[str]:
        """What these Jobs lack at the end: completion, one Workload of their own, its end."""
        with self._lock:
            told = [f"{name} is not complete" for name in names - self._complete]
            told += [f"{name} had {self._workloads[name]} Workloads" for name in names if self._workloads[name] != 1]
            told += [f"{name}: its Workload did not end" for name in names if self._finished[name] != 1]
            return sorted(told)

    def _follow(self, path: str, take: Take) -> threading.Thread:
        since = self._list(self._plane.client, path, take)
        thread = threading.Thread(target=self._watch, args=(path, since, take), daemon=True)
        thread.start()
        return thread

    def _list(self, client: Client, path: str, take: Take) -> str:
        """Take everything in as it is now; give the version to watch from."""
        listing = _read(client, path)
        there = {name_of(obj) for obj in listing["items"]}
        with self._lock:
            for name in self._there[path].keys() - there:
                self._take(path, "DELETED", self._there[path][name], take)
            for obj in listing["items"]:
                self._take(path, "ADDED", obj, take)
            self._held(path)  # not before: the first ones of a list are newer than what is known of the others
        return str(listing["metadata"]["resourceVersion"])

    def _take(self, path: str, kind: str, obj: JSON, take: Take) -> None:
        before = self._there[path].get(name_of(obj))
        take(kind, obj, before)
        if kind == "DELETED":
            self._there[path].pop(name_of(obj), None)
        else:
            self._there[path][name_of(obj)] = obj

    def _watch(self, path: str, since: str, take: Take) -> None:
        client = self._plane.client_for("admin")
        while not self._closed.is_set():
            try:
                for event in client.watch(path, since, seconds=1):
                    if event["type"] == "ERROR":
                        self.gaps += 1  # the API server has forgotten that version: what happened since was not seen
                        since = self._list(client, path, take)
                        break
                    since = event["object"]["metadata"]["resourceVersion"]
                    with self._lock:
                        self.events += 1
                        self._take(path, event["type"], event["object"], take)
                        self._held(path)
            except (OSError, ApiError, ValueError, KeyError, http.client.HTTPException):
                time.sleep(0.1)  # the API server is away: go on from the last version
        client.close()

    def _queue(self, queue: JSON) -> None:
        name, spec = queue["metadata"]["name"], queue["spec"]
        cohort = self._cohort_of[name] = spec.get("cohortName") or name
        for group in spec["resourceGroups"]:
            for flavor in group["flavors"]:
                for resource in flavor["resources"]:
                    self.quota[cohort] += millis(resource["nominalQuota"])

    def _workload(self, kind: str, workload: JSON, before: JSON | None) -> None:
        uid = workload["metadata"]["uid"]
        job = f"{workload['metadata']['namespace']}/{owner_of(workload)}"
        if before is None and kind != "DELETED":
            self._workloads[job] += 1
        if finished(workload) and not (before and finished(before)):
            self._finished[job] += 1
        if kind == "DELETED" or finished(workload) or not condition(workload, "QuotaReserved"):
            self._holds.pop(uid, None)
            return
        admission = workload["status"]["admission"]
        asked = sum(millis(pods["resourceUsage"]["cpu"]) for pods in admission["podSetAssignments"])
        if uid not in self._holds:
            self._once(self._admitted, uid, f"Workload {name_of(workload)} was admitted")
        self._holds[uid] = self._cohort_of[admission["clusterQueue"]], asked

    def _job(self, kind: str, job: JSON, before: JSON | None) -> None:
        uid, suspended = job["metadata"]["uid"], bool(job["spec"].get("suspend"))
        if ended(job) == "Complete":
            self._complete.add(name_of(job))
        if not suspended and (before is None or before["spec"].get("suspend")):
            self._once(self._started, uid, f"Job {name_of(job)} was started")
        if suspended or ended(job) or kind == "DELETED":
            self._runs.pop(uid, None)
            return
        containers = job["spec"]["template"]["spec"]["containers"]
        asked = sum(millis(c["resources"]["requests"]["cpu"]) for c in containers)
        self._runs[uid] = asked * job["spec"].get("parallelism", 1)

    def _once(self, counts: Counter[str], uid: str, what: str) -> None:
        counts[uid] += 1
        if counts[uid] > 1:
            self.broken.append(f"{what} {counts[uid]} times")

    def _held(self, path: str) -> None:
        """Look whether all that hold quota, or run, are within it."""
        if path == WORKLOADS:
            what, holders = "Workloads", list(self._holds.values())
        else:
            what, holders = "Jobs", [("all", asked) for asked in self._runs.values()]
        use: Counter[str] = Counter()
        for cohort, asked in holders:
            use[cohort] += asked
        for cohort, amount in use.items():
            self.peaks[what] = max(self.peaks[what], amount)
            quota = sum(self.quota.values()) if cohort == "all" else self.quota[cohort]
            if amount > quota:
                self.broken.append(f"{what} hold {amount}m of {quota}m CPU in {cohort}")


def name_of(obj: JSON) -> str:
    """`namespace/name`."""
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def owner_of(workload: JSON) -> str:
    """The name of the Job that a Workload is for; empty for one without."""
    owners = workload["metadata"].get("ownerReferences", [])
    return str(owners[0]["name"]) if owners else ""


def condition(obj: JSON, type_: str) -> bool:
    """Whether a condition is True."""
    rows = obj.get("status", {}).get("conditions", [])
    return any(row["type"] == type_ and row["status"] == "True" for row in rows)


def finished(workload: JSON) -> bool:
    """Whether a Workload has ended."""
    return condition(workload, "Finished")


def ended(job: JSON) -> str:
    """`Complete` or `Failed` once a Job is over, else empty."""
    return next((type_ for type_ in ("Complete", "Failed") if condition(job, type_)), "")


def millis(cpu: str) -> int:
    """Thousandths of a CPU."""
    text = str(cpu)
    return int(text[:-1]) if text.endswith("m") else int(text) * 1000
