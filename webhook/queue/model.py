"""The data model of the queue core: queues, cohorts, flavors, workloads and snapshots as immutable values.

Amounts are ints: milli-units for `cpu`, whole units (bytes, pods, devices) for everything else. Times are ints:
milliseconds since the epoch. Weights are ints in billionths, the precision of a Kubernetes quantity, so they are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NoReturn


class _Nothing(dict[str, Any]):
    """A map without entries that never gets any; hashable, so that it may be a field's default (Python 3.11)."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        return 0

    def __setitem__(self, key: str, value: object) -> NoReturn:
        raise TypeError("this map stays empty")


EMPTY: Final[Mapping[str, str]] = _Nothing()
NOTHING: Final[Mapping[str, int]] = _Nothing()
WEIGHT: Final = 10**9
"""The weight 1, the default."""
BY_PODS_READY_TIMEOUT: Final = "PodsReadyTimeout"
BY_ADMISSION_CHECK: Final = "AdmissionCheck"
"""Reasons of evictions: pods were not ready in time (`requeue` says how long the workload waits), or a check asked."""
LONGEST_RUN: Final = 100 * 365 * 24 * 3_600_000
"""Milliseconds. A longer run counts as this one, and no forecast looks further ahead: an estimate has to be a date."""


class StopPolicy(StrEnum):
    """Whether a queue admits new workloads and keeps the running ones (`stopPolicy`)."""

    NONE = "None"
    HOLD = "Hold"
    DRAIN = "HoldAndDrain"


class CheckState(StrEnum):
    """The state of one admission check of a workload."""

    PENDING = "Pending"
    READY = "Ready"
    RETRY = "Retry"
    REJECTED = "Rejected"


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a flavor's nodes."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration; an empty key with `Exists` tolerates everything, an empty effect any effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement on labels: `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements must hold; no requirement selects everything."""

    match_expressions: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class Flavor:
    """A kind of nodes with quota (ResourceFlavor). `problem` says why it cannot be used."""

    name: str
    node_labels: Mapping[str, str] = EMPTY
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Quota:
    """The quota of one flavor and resource at one node. A limit of None is no limit."""

    nominal_quota: int = 0
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True)
class FlavorQuotas:
    """The quotas of one flavor, by resource."""

    name: str
    resources: Mapping[str, Quota] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that a pod set gets from one flavor; flavors are tried in this order."""

    covered_resources: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]


@dataclass(frozen=True, slots=True)
class BorrowWithinCohort:
    """Whether a queue may preempt workloads of other queues while it borrows, and up to which priority."""

    policy: str = "Never"
    max_priority_threshold: int | None = None


@dataclass(frozen=True, slots=True)
class Preemption:
    """Which workloads may be preempted for workloads of a queue (ClusterQueue `preemption`)."""

    within_cluster_queue: str = "Never"
    reclaim_within_cohort: str = "Never"
    borrow_within_cohort: BorrowWithinCohort = BorrowWithinCohort()


@dataclass(frozen=True, slots=True)
class Fungibility:
    """When the search for a flavor stops (ClusterQueue `flavorFungibility`), in v1beta2's words."""

    when_can_borrow: str = "MayStopSearch"
    when_can_preempt: str = "TryNextFlavor"
    preference: str = ""


@dataclass(frozen=True, slots=True)
class AdmissionCheckUse:
    """A check of a queue; empty `on_flavors` means all flavors."""

    name: str
    on_flavors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AdmissionChecksStrategy:
    """The checks of a queue (ClusterQueue `admissionChecksStrategy`)."""

    admission_checks: tuple[AdmissionCheckUse, ...] = ()

    def asked(self, flavors: Set[str]) -> list[str]:
        """Return the checks of pods on these flavors, sorted by name; pods that ask for nothing have no flavor."""
        return sorted({u.name for u in self.admission_checks if not flavors.isdisjoint(u.on_flavors or flavors)})

    def always(self, flavors: Set[str]) -> list[str]:
        """Return the checks that are for all `flavors` of the queue, sorted by name: those known before admission."""
        return sorted({u.name for u in self.admission_checks if not u.on_flavors or flavors <= {*u.on_flavors}})


@dataclass(frozen=True, slots=True)
class AdmissionCheck:
    """A check as defined in the cluster. Only an active one can become ready; `problem` says why no controller does."""

    name: str
    controller: str = ""
    active: bool = True
    problem: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """Decayed usage at a time: resource -> amount; `users` splits it by user."""

    at: int = 0
    usage: Mapping[str, float] = field(default_factory=dict)
    users: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterQueue:
    """A ClusterQueue. `namespace_selector` None selects no namespace; `problem` says why it is inactive.

    `ignores_undeclared` says that resources which no group covers are not counted; else they keep a workload pending.
    """

    name: str
    cohort_name: str = ""
    resource_groups: tuple[ResourceGroup, ...] = ()
    namespace_selector: Selector | None = Selector()
    queueing_strategy: str = "BestEffortFIFO"
    preemption: Preemption = Preemption()
    fungibility: Fungibility = Fungibility()
    weight: int = WEIGHT
    stop_policy: str = StopPolicy.NONE
    admission_checks_strategy: AdmissionChecksStrategy = AdmissionChecksStrategy()
    admission_mode: str = ""
    labels: Mapping[str, str] = EMPTY
    annotations: Mapping[str, str] = EMPTY
    history: History = History()
    problem: str = ""
    ignores_undeclared: bool = False


@dataclass(frozen=True, slots=True)
class Cohort:
    """A group of queues and cohorts that lend to each other; may own quota itself. `problem` stops all below it."""

    name: str
    parent: str = ""
    resource_groups: tuple[ResourceGroup, ...] = ()
    weight: int = WEIGHT
    labels: Mapping[str, str] = EMPTY
    annotations: Mapping[str, str] = EMPTY
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LocalQueue:
    """A LocalQueue: a namespace's access to a ClusterQueue.

    `history` is its decayed usage (admission fair sharing). `problem` says why it is inactive.
    """

    namespace: str
    name: str
    cluster_queue: str
    stop_policy: str = StopPolicy.NONE
    weight: int = WEIGHT
    history: History = History()
    labels: Mapping[str, str] = EMPTY
    annotations: Mapping[str, str] = EMPTY
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ResourceQuota:
    """A namespace's ResourceQuota: hard limits and what is used of them, by resource name as written there."""

    name: str
    hard: Mapping[str, int] = NOTHING
    used: Mapping[str, int] = NOTHING


@dataclass(frozen=True, slots=True)
class Namespace:
    """The parts of a Namespace that rules can read."""

    name: str
    labels: Mapping[str, str] = EMPTY
    annotations: Mapping[str, str] = EMPTY
    quotas: tuple[ResourceQuota, ...] = ()


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods of one template. `requests` is for one pod; `min_count` None means all or none.

    `count` is the number of pods without those that are done (reclaimable). `flavors` are those that its resources
    must have, since other pods of the set run on them.
    """

    name: str
    count: int
    requests: Mapping[str, int] = NOTHING
    min_count: int | None = None
    node_selector: Mapping[str, str] = EMPTY
    affinity: tuple[Selector, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    flavors: Mapping[str, str] = EMPTY


@dataclass(frozen=True, slots=True)
class PodSetAssignment:
    """What a pod set was given: a flavor per resource, the usage of all its pods, and how many of them run."""

    name: str
    flavors: Mapping[str, str]
    resource_usage: Mapping[str, int]
    count: int


@dataclass(frozen=True, slots=True)
class Admission:
    """The quota a workload holds, and since when (milliseconds)."""

    cluster_queue: str
    pod_set_assignments: tuple[PodSetAssignment, ...]
    reserved_at: int = 0


@dataclass(frozen=True, slots=True)
class Workload:
    """A job as the queue sees it: pod sets that start together or not at all.

    `queue_name` is the name of the LocalQueue, `admission` the quota it holds, `evicted` whether it is being evicted.
    `queued_at` is the time for its order: its creation, or its last eviction if the requeueing rules say so.
    `first`: workloads are being evicted for it, so it is considered before others can use their quota.
    `arrival` orders workloads that were created in the same second, if their order is known.
    `problem` says why it cannot be queued as it is (LimitRange, requests above limits), empty if it can.
    `held` says what keeps it out of its queue (condition `Requeued` False, an annotation that gates its admission),
    empty if nothing does. `deadline` is the time at which its maximum execution time ends, 0 if it has none.
    `pods_ready` says whether all its pods are ready (condition `PodsReady`), `unready_since` since when they are not, 0
    if they are, if it is not admitted or pods are not watched; `recovers` whether they were ready before in this
    admission.
    """

    namespace: str
    name: str
    queue_name: str = ""
    pod_sets: tuple[PodSet, ...] = ()
    priority: int = 0
    created: int = 0
    arrival: str = ""
    uid: str = ""
    queued_at: int = 0
    active: bool = True
    finished: bool = False
    admission: Admission | None = None
    admitted: bool = False
    evicted: bool = False
    evicted_at: int = 0
    evicted_reason: str = ""
    requeue_at: int = 0
    requeue_count: int = 0
    problem: str = ""
    held: str = ""
    deadline: int = 0
    pods_ready: bool = False
    unready_since: int = 0
    recovers: bool = False
    checks: Mapping[str, str] = EMPTY
    user: str = ""
    run_time: int | None = None
    priority_class: str = ""
    priority_boost: int = 0
    first: bool = False
    labels: Mapping[str, str] = EMPTY
    annotations: Mapping[str, str] = EMPTY

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


def is_admissible(workload: Workload) -> bool:
    """Return whether it is pending: active, not held, not finished, and without quota (Kueue's `IsAdmissible`)."""
    return workload.active and not workload.held and not workload.finished and workload.admission is None


@dataclass(frozen=True, slots=True)
class Requeueing:
    """What an evicted workload is ordered by: its creation, or for the reasons `by_eviction` the time of its eviction.

    One that was preempted for a reason of `behind` comes after the workload that preempted it.
    """

    by_eviction: tuple[str, ...] = (BY_PODS_READY_TIMEOUT, BY_ADMISSION_CHECK)
    behind: tuple[str, ...] = ()

    def queued_at(self, created: int, *evictions: tuple[str, int]) -> int:
        """Return the moment that a workload is ordered by; of evictions (reason and time) the first that moves it.

        Source: GetQueueOrderTimestamp in Kueue.
        """
        for reason, at in evictions:
            if reason in self.by_eviction:
                return at
            if reason in self.behind:
                return at + 1
        return created


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All facts the core decides from, at one moment. The order within a tuple has no meaning."""

    flavors: tuple[Flavor, ...] = ()
    cluster_queues: tuple[ClusterQueue, ...] = ()
    cohorts: tuple[Cohort, ...] = ()
    local_queues: tuple[LocalQueue, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    checks: tuple[AdmissionCheck, ...] = ()
    workloads: tuple[Workload, ...] = ()
    requeueing: Requeueing = Requeueing()
