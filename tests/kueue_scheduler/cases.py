"""Random clusters at one moment, as objects: what a scheduling cycle of Kueue and ours is asked about.

Each is small and crowded: few queues, tight quotas, so that most cycles borrow, preempt or refuse something.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

Object = dict[str, Any]

API: Final = "kueue.x-k8s.io/v1beta2"
BOOST: Final = "kueue.x-k8s.io/priority-boost"
NOW: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
FLAVORS: Final = ("on-demand", "spot", "reserved")
COHORTS: Final = ("org", "left", "right", "low")
RESOURCES: Final = ("cpu", "example.com/gpu", "pods")
GATES: Final = (
    "PartialAdmission",
    "RecomputeAssignmentUponPreemptionTargetsOverlap",
    "PrioritySortingWithinCohort",
    "FlavorFungibility",
    "FairSharingPrioritizeNonBorrowing",
    "FairSharingPreemptWithinNominal",
    "PrioritizePreemptorWorkloads",
    "ReclaimablePods",
    "PriorityBoost",
)
INPUTS: Final = ("cpu", "example.com/gpu", "example.com/slice")
"""What transformations count as something else; slices are requested only where they may be."""
STRATEGIES: Final = (
    [],
    [],
    ["LessThanOrEqualToFinalShare"],
    ["LessThanInitialShare"],
    ["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
)


def case(seed: int) -> dict[str, Any]:
    """Give the case of a seed: its objects, settings and moment."""
    draw = Draw(Random(seed))
    made: dict[str, Any] = {"id": f"random-{seed}", "now": stamp(NOW), "fairSharing": draw.chance(0.4)}
    if made["fairSharing"]:
        made["fairSharingStrategies"] = draw.one(STRATEGIES)
    if draw.chance(0.25):
        made["featureGates"] = {draw.one(GATES): draw.chance(0.5)}
    made["objects"] = draw.objects()
    for settings in (o for o in made["objects"] if o["kind"] == "Configuration"):
        settings["featureGates"] = made.get("featureGates", {})
    if draw.chance(0.3):
        draw.lately(made["objects"])
    return made


def stamp(moment: datetime) -> str:
    """Write a moment as objects do."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class Draw:
    """The objects of one cluster."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.tainted = self.chance(0.3)
        self.labelled = self.chance(0.3)
        self.tight = self.chance(0.5)
        self.configured = self.chance(0.3)
        self.near = self.number(1, len(COHORTS))
        self.held: Counter[tuple[str, str, str]] = Counter()
        self.resources = RESOURCES[: self.one([1, 1, 1, 1, 2, 2, 2, 2, 2, 3])]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def one(self, choices: Any) -> Any:
        return self.random.choice(choices)

    def number(self, least: int, most: int) -> int:
        return self.random.randint(least, most)

    def objects(self) -> list[Object]:
        """Everything: what is defined, what runs, what waits."""
        queues = [self.cluster_queue(name) for name in "abcde"[: self.number(1, 5)]]
        named = sorted({q["spec"]["cohortName"] for q in queues if q["spec"].get("cohortName")})
        local = [
            self.local_queue(f"{q['metadata']['name']}-{number}", q)
            for q in queues
            for number in range(self.number(1, 2))
        ]
        workloads = [self.workload(number, local, queues) for number in range(self.number(1, 14))]
        return [
            *([self.configuration()] if self.configured else []),
            *(self.namespace(name) for name in ("default", "other")),
            *(self.flavor(name) for name in FLAVORS if self.chance(0.98)),
            *(self.check(name) for name in ("check", "other-check") if self.chance(0.97)),
            *self.cohorts(named),
            *queues,
            *local,
            *workloads,
        ]

    def configuration(self) -> Object:
        """Settings of Kueue: what counts as something else, and what orders a workload whose pods were not ready."""
        inputs = self.random.sample(INPUTS, self.number(1, len(INPUTS)))
        timestamp = self.one(["Eviction", "Creation"])
        return {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "resources": {"transformations": [self.transformation(name) for name in inputs]},
            "waitForPodsReady": {"timeout": "5m", "requeuingStrategy": {"timestamp": timestamp}},
            "admissionFairSharing": {"usageHalfLifeTime": "168h", "usageSamplingInterval": "5m"},
        }

    def transformation(self, name: str) -> Object:
        covered = [r for r in self.resources if r != "pods"]
        outputs = {self.one(covered): self.one(["1", "2", "500m", "-1"]) for _ in range(self.number(1, 2))}
        made: Object = {"input": name, "strategy": self.one(["Retain", "Replace", "Replace"]), "outputs": outputs}
        if self.chance(0.4):
            made["multiplyBy"] = self.one(INPUTS)
        return made

    def namespace(self, name: str) -> Object:
        labels = {"kubernetes.io/metadata.name": name}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}

    def flavor(self, name: str) -> Object:
        spec: Object = {}
        if self.labelled:
            spec["nodeLabels"] = {"type": name}
        if self.tainted and self.chance(0.4):
            spec["nodeTaints"] = [
                {"key": "kind", "value": name, "effect": self.one(["NoSchedule", "NoExecute", "PreferNoSchedule"])}
            ]
            if self.chance(0.2):
                spec["tolerations"] = [{"key": "kind", "operator": "Exists"}]
        return {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}

    def check(self, name: str) -> Object:
        active = condition("Active", "Active", NOW) | ({} if self.chance(0.95) else {"status": "False"})
        return {
            "apiVersion": API,
            "kind": "AdmissionCheck",
            "metadata": {"name": name},
            "spec": {"controllerName": "example.com/check"},
            "status": {"conditions": [active]},
        }

    def cohorts(self, named: list[str]) -> list[Object]:
        parents = {"org": "", "left": "org", "right": "org", "low": "left"}
        made = []
        for name in COHORTS:
            if not self.chance(0.7) and name in named:
                continue
            spec: Object = {"parentName": parents[name]} if parents[name] and self.chance(0.8) else {}
            if self.chance(0.3):
                spec["resourceGroups"] = self.groups(own=False)
            if self.chance(0.3):
                spec["fairSharing"] = {"weight": self.one(["0", "1", "2", "500m"])}
            made.append({"apiVersion": API, "kind": "Cohort", "metadata": {"name": name}, "spec": spec})
        return made

    def groups(self, own: bool = True) -> list[Object]:
        apart = len(self.resources) > 1 and self.chance(0.3)
        flavors = list(FLAVORS[: self.number(1, 3)])
        self.random.shuffle(flavors)
        if apart and len(flavors) >= len(self.resources):
            return [self.group([r], [flavors[number]], own) for number, r in enumerate(self.resources)]
        return [self.group(list(self.resources), flavors, own)]

    def group(self, resources: list[str], flavors: list[str], own: bool) -> Object:
        most = 8 if self.tight else 18
        made = []
        for flavor in flavors:
            quotas = []
            for name in resources:
                quota = {"name": name, "nominalQuota": self.quota(most if own else 4)}
                if self.chance(0.25):
                    quota["borrowingLimit"] = self.quota(6)
                if self.chance(0.25):
                    quota["lendingLimit"] = self.quota(6)
                quotas.append(quota)
            made.append({"name": flavor, "resources": quotas})
        return {"coveredResources": resources, "flavors": made}

    def quota(self, most: int) -> str:
        """A quantity, rarely not a whole one: what cannot be divided counts rounded up."""
        whole = self.number(0, most)
        return f"{whole * 1000 + 500}m" if self.chance(0.05) else str(whole)

    def cluster_queue(self, name: str) -> Object:
        within = ["Never", "LowerPriority", "LowerOrNewerEqualPriority"]
        preemption: Object = {
            "withinClusterQueue": self.one(within),
            "reclaimWithinCohort": self.one(["Never", "LowerPriority", "Any"]),
        }
        if preemption["reclaimWithinCohort"] != "Never" and self.chance(0.5):
            preemption["borrowWithinCohort"] = {"policy": self.one(["Never", "LowerPriority"])}
            if preemption["borrowWithinCohort"]["policy"] == "LowerPriority" and self.chance(0.6):
                preemption["borrowWithinCohort"]["maxPriorityThreshold"] = self.one([-10, 0, 50, 100])
        fungibility = {
            "whenCanBorrow": self.one(["MayStopSearch", "TryNextFlavor"]),
            "whenCanPreempt": self.one(["MayStopSearch", "TryNextFlavor"]),
        }
        if self.chance(0.15):
            fungibility["preference"] = self.one(["BorrowingOverPreemption", "PreemptionOverBorrowing"])
        spec: Object = {
            "namespaceSelector": {}
            if self.chance(0.9)
            else {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
            "queueingStrategy": self.one(["BestEffortFIFO", "BestEffortFIFO", "StrictFIFO"]),
            "stopPolicy": "None" if self.chance(0.93) else "Hold",
            "preemption": preemption,
            "flavorFungibility": fungibility,
            "resourceGroups": self.groups(),
        }
        if self.chance(0.85):
            spec["cohortName"] = self.one(COHORTS[: self.near])
        if self.chance(0.3):
            spec["fairSharing"] = {"weight": self.one(["0", "1", "2", "500m"])}
        if self.chance(0.15):
            checks: list[Object] = [{"name": "check"}]
            if self.chance(0.3):
                checks.append({"name": "other-check", "onFlavors": [self.one(FLAVORS)]})
            spec["admissionChecksStrategy"] = {"admissionChecks": checks}
        return {"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}

    def local_queue(self, name: str, queue: Object) -> Object:
        spec = {
            "clusterQueue": queue["metadata"]["name"] if self.chance(0.98) else "absent",
            "stopPolicy": "None" if self.chance(0.95) else "Hold",
        }
        namespace = self.one(["default", "default", "other"])
        return {
            "apiVersion": API,
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec,
        }

    def lately(self, made: list[Object]) -> None:
        """Let ClusterQueues order their LocalQueues by usage, and say what those used lately."""
        for obj in made:
            if obj["kind"] == "ClusterQueue" and self.chance(0.8):
                mode = "UsageBasedAdmissionFairSharing" if self.chance(0.9) else "NoAdmissionFairSharing"
                obj["spec"]["admissionScope"] = {"admissionMode": mode}
            elif obj["kind"] == "LocalQueue":
                used = {name: str(self.number(0, 3)) for name in self.resources}
                if self.chance(0.3):
                    obj["spec"]["fairSharing"] = {"weight": self.one(["0", "1", "2", "500m"])}
                obj["status"] = {
                    "fairSharing": {
                        "weightedShare": 0,
                        "admissionFairSharingStatus": {"consumedResources": used, "lastUpdate": stamp(NOW)},
                    }
                }

    def workload(self, number: int, local: list[Object], queues: list[Object]) -> Object:
        queue, runs = self.one(local), self.chance(0.7)
        created = NOW - timedelta(seconds=3600 - 60 * number - self.number(0, 50))
        sets = [self.pod_set(f"set{index}") for index in range(self.one([1, 1, 1, 1, 1, 2, 2, 3]))]
        made: Object = {
            "apiVersion": API,
            "kind": "Workload",
            "metadata": {
                "name": f"w{number:02}",
                "namespace": queue["metadata"]["namespace"],
                "uid": f"uid-{self.number(100, 999)}-{number:02}",
                "creationTimestamp": stamp(created),
                "annotations": {BOOST: str(self.number(-60, 60))} if self.chance(0.2) else {},
            },
            "spec": {
                "queueName": queue["metadata"]["name"],
                "priority": self.one([-10, 0, 0, 50] if runs else [-10, 0, 50, 100]),
                "podSets": sets,
            },
        }
        if runs:
            target = next((q for q in queues if q["metadata"]["name"] == queue["spec"]["clusterQueue"]), queues[0])
            self.reserve(made, target, created)
        else:
            self.waits(made)
        return made

    def waits(self, made: Object) -> None:
        """Say of a pending workload what keeps it from the queue, if anything."""
        if self.chance(0.03):
            made["spec"]["active"] = False
        elif self.chance(0.1):
            evicted = NOW - timedelta(seconds=self.number(5, 3000))
            reason = self.one(["Preempted", "Preempted", "PodsReadyTimeout", "AdmissionCheck"])
            conditions = [
                condition("QuotaReserved", "Pending", evicted) | {"status": "False"},
                condition("Evicted", reason, evicted),
                condition("Requeued", "Preempted", evicted),
            ]
            if reason == "Preempted":
                why = self.one(["InClusterQueue", "InCohortReclaimWhileBorrowing", "InCohortReclaimWhileBorrowing"])
                conditions.append(condition("Preempted", why, evicted))
            made["status"] = {"conditions": conditions}
        if self.chance(0.05):
            self.end_pods(made)
            for pods in made["spec"]["podSets"]:  # Kueue asks for the pods that are done again, in part
                pods.pop("minCount", None)

    def end_pods(self, made: Object) -> None:
        """Let pods of a workload be done."""
        first = made["spec"]["podSets"][0]
        done = [{"name": first["name"], "count": self.number(1, first["count"])}]
        made["status"] = {**made.get("status", {}), "reclaimablePods": done}

    def pod_set(self, name: str) -> Object:
        count = self.one([1, 1, 1, 2, 3])
        named = [r for r in self.resources if r != "pods" and self.chance(0.85)]
        requests = {r: str(self.number(0 if self.chance(0.1) else 1, 3)) for r in named}
        if self.chance(0.03):
            requests["memory"] = "1Gi"  # no queue covers it; 0 of it would make Kueue forget the pod sets that follow
        if self.configured and self.chance(0.3):
            requests["example.com/slice"] = str(self.number(1, 3))
        if "cpu" in requests and self.chance(0.15):
            requests["cpu"] = self.one(["500m", "1500m", "250m"])
        spec: Object = {"restartPolicy": "Never", "containers": [{"name": "c", "resources": {"requests": requests}}]}
        if self.chance(0.05):
            spec["containers"].append({"name": "beside", "resources": {"requests": {"cpu": "1"}}})
        if self.chance(0.05):
            spec["initContainers"] = [{"name": "before", "resources": {"requests": {"cpu": str(self.number(1, 6))}}}]
            if self.chance(0.4):
                spec["initContainers"][0]["restartPolicy"] = "Always"
        if self.chance(0.03):
            spec["overhead"] = {"cpu": "500m"}
        if self.labelled and self.chance(0.3):
            spec["nodeSelector"] = {"type": self.one(FLAVORS)}
        elif self.labelled and self.chance(0.2):
            terms = [
                {
                    "matchExpressions": [
                        {"key": "type", "operator": self.one(["In", "NotIn"]), "values": [self.one(FLAVORS)]}
                    ]
                }
            ]
            spec["affinity"] = {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            }
        if self.tainted and self.chance(0.5):
            spec["tolerations"] = [
                {"key": "kind", "operator": "Exists"}
                if self.chance(0.5)
                else {"key": "kind", "operator": "Equal", "value": self.one(FLAVORS)}
            ]
        made: Object = {"name": name, "count": count, "template": {"spec": spec}}
        if count > 1 and self.chance(0.15):
            made["minCount"] = self.number(1, count)
        return made

    def reserve(self, made: Object, queue: Object, created: datetime) -> None:
        """Give a workload quota, by any flavors of its queue: rarely much more than there is."""
        assignments, held, most = [], self.held.copy(), nominal(queue)
        for pod_set in made["spec"]["podSets"]:
            flavors, usage = {}, {}
            requests = pod_set["template"]["spec"]["containers"][0]["resources"]["requests"] | {"pods": "1"}
            for group in queue["spec"]["resourceGroups"]:
                flavor = self.one(group["flavors"])["name"]
                for name in group["coveredResources"]:
                    if name in requests:
                        flavors[name], usage[name] = flavor, times(requests[name], pod_set["count"])
                        held[queue["metadata"]["name"], flavor, name] += amount(usage[name])
            assignments.append(
                {"name": pod_set["name"], "count": pod_set["count"], "flavors": flavors, "resourceUsage": usage}
            )
        if self.chance(0.9) and any(held[key] > quota + 2 for key, quota in most.items()):
            return
        self.held = held
        at = created + timedelta(seconds=self.number(1, 300))
        conditions = [condition("QuotaReserved", "QuotaReserved", at)]
        if self.chance(0.9):
            conditions.append(condition("Admitted", "Admitted", at))
        if self.chance(0.08):
            conditions += [condition("Evicted", "Preempted", NOW), condition("Preempted", "InClusterQueue", NOW)]
        made["status"] = {
            "admission": {"clusterQueue": queue["metadata"]["name"], "podSetAssignments": assignments},
            "conditions": conditions,
        }
        if self.chance(0.1):
            self.end_pods(made)


def condition(name: str, reason: str, at: datetime) -> Object:
    """A condition that is true."""
    return {"type": name, "status": "True", "reason": reason, "message": "", "lastTransitionTime": stamp(at)}


def nominal(queue: Object) -> dict[tuple[str, str, str], float]:
    """The nominal quotas of a ClusterQueue, by its name, flavor and resource."""
    return {
        (queue["metadata"]["name"], flavor["name"], quota["name"]): amount(quota["nominalQuota"])
        for group in queue["spec"]["resourceGroups"]
        for flavor in group["flavors"]
        for quota in flavor["resources"]
    }


def amount(quantity: str) -> float:
    """Read a quantity."""
    return int(quantity[:-1]) / 1000 if quantity.endswith("m") else int(quantity)


def times(quantity: str, count: int) -> str:
    """Multiply a quantity."""
    return f"{int(quantity[:-1]) * count}m" if quantity.endswith("m") else str(int(quantity) * count)
