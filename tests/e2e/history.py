"""What happened to Jobs and Pods, event by event, as a watch told it; and the laws that every event must keep."""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.controlplane.client import TOO_MANY, ApiError
from tests.controlplane.cluster import ControlPlane

JSON = dict[str, Any]
Key = tuple[str, str]


@dataclass(slots=True)
class Admission:
    """What the queue did with one Workload; times to the second, as its objects say. `at` is empty while it waits."""

    name: Key
    created: str
    cpu: int
    at: str = ""


@dataclass(slots=True)
class Life:
    """One Job's life. `starts` and `stops` are positions in the stream of events; `cpu` is what it holds while it runs.

    Pods that have succeeded hold nothing: their quota is given on while the others still run (KEP 78).
    """

    name: Key
    created: str
    cpu: int
    seen: JSON
    first_suspended: bool
    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    ended: int = 0
    complete: bool = False


class History:
    """Follows the Jobs and Pods of some namespaces until `close`; each event is judged as it comes."""

    def __init__(self, plane: ControlPlane, namespaces: Iterable[str]) -> None:
        """Begin to watch."""
        self._namespaces = frozenset(namespaces)
        self._plane = plane
        self._closed = threading.Event()
        self.lives: dict[Key, Life] = {}
        self.job_use: dict[str, int] = {}
        self.pod_use: dict[str, int] = {}
        self.peaks: dict[str, dict[str, int]] = {"jobs": {}, "pods": {}}
        self._pods: dict[Key, tuple[str, int]] = {}
        self.pods_seen: dict[Key, set[str]] = {}
        self.admissions: dict[Key, Admission] = {}
        self._events = 0
        # The versions to watch from are taken here, not in the threads: what is created from now on is seen.
        begin = [
            (path, plane.client.get(path)["metadata"]["resourceVersion"], take)
            for path, take in (
                ("/apis/batch/v1/jobs", self._job),
                ("/api/v1/pods", self._pod),
                ("/apis/kueue.x-k8s.io/v1beta2/workloads", self._workload),
            )
        ]
        self._threads = [threading.Thread(target=self._follow, args=each, daemon=True) for each in begin]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End the watches."""
        self._closed.set()
        for thread in self._threads:
            thread.join(10)

    def of(self, *namespaces: str) -> list[Life]:
        """The lives of the Jobs of some namespaces, in the order in which they were seen first."""
        return [life for life in list(self.lives.values()) if life.name[0] in namespaces]

    def admissions_of(self, *namespaces: str) -> list[Admission]:
        """The same of the Workloads."""
        return [found for found in list(self.admissions.values()) if found.name[0] in namespaces]

    def finished(self, *namespaces: str) -> int:
        """How many of their Jobs are complete."""
        return sum(life.complete for life in self.of(*namespaces))

    def _follow(self, path: str, since: str, take: Any) -> None:
        client = self._plane.client_for("admin")
        while not self._closed.is_set():
            try:
                for event in client.watch(path, since, seconds=2):
                    obj = event["object"]
                    if event["type"] == "ERROR":  # the version is too old by now: go on from the present
                        since = client.get(path)["metadata"]["resourceVersion"]
                        break
                    since = obj["metadata"]["resourceVersion"]
                    if obj["metadata"].get("namespace") in self._namespaces:
                        take(event["type"], obj)
            except ApiError as error:
                if error.status != TOO_MANY:  # it changes how it stores them: come again
                    raise
                time.sleep(0.1)
        client.close()

    def _job(self, kind: str, job: JSON) -> None:
        self._events += 1
        key = (job["metadata"]["namespace"], job["metadata"]["name"])
        life = self.lives.get(key)
        if life is None:
            suspended = bool(job["spec"].get("suspend"))
            life = self.lives[key] = Life(key, job["metadata"]["creationTimestamp"], cpu_of(job), job, suspended)
        running = not job["spec"].get("suspend")
        if running and len(life.starts) == len(life.stops):
            life.starts.append(self._events)
        if not running and len(life.starts) > len(life.stops):
            life.stops.append(self._events)
        if ended(job) or kind == "DELETED":
            life.ended = life.ended or self._events
            life.complete = life.complete or ended(job) == "Complete"
        life.seen, life.cpu = job, cpu_of(job)
        self._account("jobs", self.job_use, {k: life.cpu for k, life in self.lives.items() if _uses(life)})

    def _workload(self, _: str, workload: JSON) -> None:
        meta = workload["metadata"]
        key = (meta["namespace"], meta["name"])
        sets = workload["spec"]["podSets"]
        cpu = sum(int(s.get("count", 1)) * containers_cpu(s["template"]["spec"]) for s in sets)
        found = self.admissions.setdefault(key, Admission(key, meta["creationTimestamp"], cpu))
        for condition in workload.get("status", {}).get("conditions", []):
            if condition["type"] == "QuotaReserved" and condition["status"] == "True":
                found.at = found.at or condition["lastTransitionTime"]

    def _pod(self, kind: str, pod: JSON) -> None:
        key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        owner = pod["metadata"].get("labels", {}).get("batch.kubernetes.io/job-name", "")
        self.pods_seen.setdefault((key[0], owner), set()).add(key[1])
        if kind == "DELETED" or pod["status"].get("phase") in ("Succeeded", "Failed"):
            self._pods.pop(key, None)
        else:
            self._pods[key] = (key[0], containers_cpu(pod["spec"]))
        self._account("pods", self.pod_use, {k: cpu for k, (_, cpu) in self._pods.items()})

    def _account(self, what: str, use: dict[str, int], cpu: dict[Key, int]) -> None:
        use.clear()
        for (namespace, _), amount in cpu.items():
            use[namespace] = use.get(namespace, 0) + amount
        groups = {name.rsplit("-", 1)[0] for name in self._namespaces}
        for group in groups:
            total = sum(amount for name, amount in use.items() if name.rsplit("-", 1)[0] == group)
            self.peaks[what][group] = max(total, self.peaks[what].get(group, 0))


def _uses(life: Life) -> bool:
    return len(life.starts) > len(life.stops) and not life.ended


def ended(job: JSON) -> str:
    """`Complete` or `Failed` once the Job is over, else empty."""
    for condition in job.get("status", {}).get("conditions", []):
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return str(condition["type"])
    return ""


def cpu_of(job: JSON) -> int:
    """The CPUs of a Job's pods that run or are still to run at once."""
    parallelism = int(job["spec"].get("parallelism", 1))
    left = int(job["spec"].get("completions", parallelism)) - int(job.get("status", {}).get("succeeded", 0))
    return min(parallelism, max(left, 0)) * containers_cpu(job["spec"]["template"]["spec"])


def containers_cpu(spec: JSON) -> int:
    """The CPUs of a pod; whole ones only, as in article 003."""
    return sum(int(c.get("resources", {}).get("requests", {}).get("cpu", 0)) for c in spec["containers"])
