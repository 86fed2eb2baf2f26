"""Random clusters that live for some steps, and what happens in each.

An event `finishAny`, `deleteAny` or `priorityAny` names a workload by a number: which one that is depends on what Kueue
has admitted by then. What happened is written down, as in the traces of `sluice plan --traces`.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timedelta
from random import Random
from typing import Any

from tests.kueue_scheduler.cases import COHORTS, NOW, Draw, Object, stamp

EDITS = ("quota", "quota", "stop", "cohort", "preemption", "fungibility", "selector", "weight")


def trace(seed: int) -> dict[str, Any]:
    """Give the trace of a seed, without what Kueue decides in it."""
    draw = Life(Random(seed))
    made: dict[str, Any] = {"id": f"life-{seed}", "fairSharing": draw.chance(0.4), "objects": draw.objects()}
    now = NOW
    steps = []
    for number in range(draw.number(8, 24)):
        now += timedelta(seconds=draw.number(5, 60))
        ends = [draw.number(0, 2) for _ in range(3)]
        steps.append({"now": stamp(now), "events": draw.events(number, now), "ends": ends})
    return {**made, "steps": steps}


class Life(Draw):
    """The objects of a cluster, and what changes in it. Left out: what a trace cannot tell, and where Kueue errs."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.resources = self.resources[:2]
        self.labelled, self.tainted = self.labelled and self.chance(0.4), self.tainted and self.chance(0.4)
        self.cohort_objects: list[Object] = []
        self.queues: list[Object] = []
        self.local: list[Object] = []

    def objects(self) -> list[Object]:
        """What is there before the first step; little of it waits."""
        made = super().objects()
        by_kind = {kind: [o for o in made if o["kind"] == kind] for kind in ("ClusterQueue", "Cohort", "LocalQueue")}
        self.queues, self.cohort_objects, self.local = by_kind.values()
        for queue in self.queues:
            _simplify(queue["spec"])
            queue["spec"] |= {"namespaceSelector": {}, "stopPolicy": "None"}
            if self.chance(0.6):
                queue["spec"]["preemption"] |= {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
            for group in queue["spec"]["resourceGroups"]:
                for flavor in group["flavors"]:
                    for quota in flavor["resources"]:
                        quota["nominalQuota"] = str(self.number(3, 9))
        for local in self.local:
            local["spec"]["stopPolicy"] = "None"
        for shrunk in (o for o in made if o.get("status", {}).get("reclaimablePods")):
            for pods in shrunk["spec"]["podSets"]:  # Kueue asks for the pods that are done again, in part
                pods.pop("minCount", None)
        doors = {o["metadata"]["name"] for o in self.local if o["spec"]["clusterQueue"] != "absent"}
        return deepcopy([o for o in made if o["kind"] != "AdmissionCheck" and not (_half_way(o) or _lost(o, doors))])

    def events(self, step: int, now: datetime) -> list[Object]:
        """What happens in a step."""
        made: list[Object] = []
        for number in range(self.one([0, 0, 1, 1, 2])):
            # No two at once: those Sluice orders by name, Kueue by uid.
            created = stamp(now - timedelta(seconds=2 - number))
            made.append({"apply": self.arrival(f"n{step:02}{number}", created)})
        made += [{"finishAny": self.number(0, 99)} for _ in range(self.one([0, 0, 1, 1, 2]))]
        if self.chance(0.08):
            made.append({"deleteAny": self.number(0, 99)})
        if self.chance(0.06):
            made.append({"priorityAny": [self.number(0, 99), self.one([-10, 0, 50, 100])]})
        held = [queue for queue in self.queues if queue["spec"]["stopPolicy"] != "None"]
        if self.chance(0.2):
            made.append({"apply": self.edited(self.one(held or self.queues), self.edit)})
        if self.cohort_objects and self.chance(0.06):
            made.append({"apply": self.edited(self.one(self.cohort_objects), self.edit_cohort)})
        return made

    def edited(self, definition: Object, edit: Callable[[Object], None]) -> Object:
        """Change a definition for good: a write that changes nothing is no event."""
        before = deepcopy(definition)
        while definition == before:
            edit(definition)
        return deepcopy(definition)

    def arrival(self, name: str, created: str) -> Object:
        """A new workload that waits."""
        made = self.workload(0, self.local, self.queues)
        made.pop("status", None)
        made["spec"].pop("active", None)
        if self.chance(0.6):
            del made["spec"]["podSets"][1:]
        made["spec"]["priority"] = self.one([-10, 0, 50, 100, 100])
        made["metadata"] |= {"name": name, "uid": f"uid-{self.number(100, 999)}-{name}", "creationTimestamp": created}
        return made

    def edit(self, queue: Object) -> None:
        """Change one thing of a ClusterQueue."""
        other = self.cluster_queue(queue["metadata"]["name"])["spec"]
        _simplify(other)
        spec = queue["spec"]
        match self.one(EDITS):
            case "quota":
                quota = self.one(self.one(self.one(spec["resourceGroups"])["flavors"])["resources"])
                quota["nominalQuota"] = str(self.number(0, 12))
                for limit in ("borrowingLimit", "lendingLimit"):
                    quota.pop(limit, None)
                    if self.chance(0.25):
                        quota[limit] = str(self.number(0, 6))
            case "stop":
                stopped = spec["stopPolicy"] != "None"
                spec["stopPolicy"] = "None" if stopped else self.one(["Hold", "HoldAndDrain"])
            case "cohort":
                spec["cohortName"] = self.one(COHORTS)
            case "preemption":
                spec["preemption"] = other["preemption"]
            case "fungibility":
                spec["flavorFungibility"] = other["flavorFungibility"]
            case "selector":
                spec["namespaceSelector"] = other["namespaceSelector"]
            case "weight":
                spec["fairSharing"] = {"weight": self.one(["0", "2", "500m"])}
        if "cohortName" not in spec:  # without a cohort there is nothing to lend or borrow
            for group in spec["resourceGroups"]:
                for flavor in group["flavors"]:
                    for quota in flavor["resources"]:
                        quota.pop("borrowingLimit", None)
                        quota.pop("lendingLimit", None)

    def edit_cohort(self, cohort: Object) -> None:
        """Change the quotas of a Cohort."""
        cohort["spec"]["resourceGroups"] = self.groups(own=False)


def _simplify(spec: Object) -> None:
    """Take out of a ClusterQueue what no trace has, and a default that is written: to write it is no change for us."""
    spec.pop("admissionChecksStrategy", None)
    spec["flavorFungibility"].pop("preference", None)
    if spec["preemption"].get("borrowWithinCohort", {}).get("policy") == "Never":
        del spec["preemption"]["borrowWithinCohort"]


def _lost(obj: Object, doors: set[str]) -> bool:
    """Say whether a Workload holds quota and its LocalQueue has no ClusterQueue: Kueue wakes nobody when it ends.

    Its `QueueAssociatedInadmissibleWorkloadsAfter` looks for the ClusterQueue of that LocalQueue. Ours wakes those that
    the quota may help (tests/queue/test_corners.py).
    """
    holds = obj["kind"] == "Workload" and "admission" in obj.get("status", {})
    return holds and obj["spec"].get("queueName") not in doors


def _half_way(obj: Object) -> bool:
    """Say whether a Workload is between two states, out of which its controllers lead before the first cycle."""
    conditions = (
        {row["type"] for row in obj.get("status", {}).get("conditions", ())} if obj["kind"] == "Workload" else set()
    )
    return "Evicted" in conditions or conditions == {"QuotaReserved"}
