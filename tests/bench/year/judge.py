"""An independent judge of the year: it watches Jobs, Workloads and queues, and keeps its own books at every change.

Its laws: no queue holds more than its quota and its borrowing limit, no cohort more than its queues' quotas, each job
ends once, and nothing is left of one that was deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from webhook.api.amounts import amount
from webhook.cluster.api.kinds import WORKLOAD
from webhook.jobs.finish import finish_of
from webhook.kube.conditions import holds
from webhook.kube.gvk import GroupVersionKind
from webhook.store.memory import MemoryStore
from webhook.store.objects import EventType

JSON = dict[str, Any]
JOB = GroupVersionKind("batch", "v1", "Job")
Cell = tuple[str, str, str]
"""A queue or a cohort, a flavor and a resource."""


class Judge:
    """Follows a store until it is cancelled. `broken` has a line for each law that was broken."""

    def __init__(self, store: MemoryStore, objects: list[JSON]) -> None:
        self._store = store
        self.broken: list[str] = []
        self.ended: Counter[str] = Counter()
        self.evicted = self.events = 0
        self.there: dict[str, set[str]] = {"Job": set(), "Workload": set()}
        self._limits: dict[Cell, int] = Counter()
        self._cohort_of: dict[str, str] = {}
        self._held: Counter[Cell] = Counter()
        self._holds: dict[str, dict[Cell, int]] = {}
        self._complete: set[str] = set()
        for queue in (obj for obj in objects if obj["kind"] == "ClusterQueue"):
            self._queue(queue)

    async def follow(self, gvk: GroupVersionKind) -> None:
        """Watch a kind from the store's first version on."""
        async for event in self._store.watch(gvk, "0"):
            self.events += 1
            take = self._workload if gvk == WORKLOAD else self._job
            take(event.object, gone=event.type is EventType.DELETED)

    def _queue(self, queue: JSON) -> None:
        name, spec = queue["metadata"]["name"], queue["spec"]
        cohort = self._cohort_of[name] = f"cohort {spec.get('cohortName') or name}"
        for group in spec["resourceGroups"]:
            for flavor in group["flavors"]:
                for row in flavor["resources"]:
                    own, cell = amount(row["name"], row["nominalQuota"]), (flavor["name"], row["name"])
                    self._limits[cohort, *cell] += own
                    if "borrowingLimit" in row:
                        self._limits[name, *cell] = own + amount(row["name"], row["borrowingLimit"])

    def _workload(self, workload: JSON, *, gone: bool) -> None:
        uid = workload["metadata"]["uid"]
        self._seen("Workload", uid, gone=gone)
        before = self._holds.pop(uid, {})
        if gone or holds(workload, "Finished") or not holds(workload, "QuotaReserved"):
            self.evicted += bool(before) and not gone and not holds(workload, "Finished")
            self._held.subtract(before)
            return
        now = self._holds[uid] = self._of(workload["status"]["admission"])
        if now != before:
            self._held.subtract(before)
            self._held.update(now)
            self._within(workload, now)

    def _of(self, admission: JSON) -> dict[Cell, int]:
        """Give what an admission takes, of its queue and of its cohort."""
        queue, found = admission["clusterQueue"], Counter[Cell]()
        for pods in admission["podSetAssignments"]:
            for resource, used in pods["resourceUsage"].items():
                cell = pods["flavors"][resource], resource
                for holder in (queue, self._cohort_of[queue]):
                    found[holder, *cell] += amount(resource, used)
        return dict(found)

    def _within(self, workload: JSON, taken: Mapping[Cell, int]) -> None:
        for cell in taken:
            limit = self._limits.get(cell)
            if limit is not None and self._held[cell] > limit:
                name = workload["metadata"]["name"]
                self.broken.append(f"{cell[0]} holds {self._held[cell]} {cell[2]} of {limit} since {name} has quota")

    def _job(self, job: JSON, *, gone: bool) -> None:
        uid = job["metadata"]["uid"]
        self._seen("Job", uid, gone=gone)
        if gone:
            self._complete.discard(uid)
        elif finish_of(job) and uid not in self._complete:
            self._complete.add(uid)
            self.ended[f"{job['metadata']['namespace']}/{job['metadata']['name']}"] += 1

    def _seen(self, kind: str, uid: str, *, gone: bool) -> None:
        (self.there[kind].discard if gone else self.there[kind].add)(uid)
