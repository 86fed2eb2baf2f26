"""The settings of queues and their jobs, as values, with the names of Kueue's Configuration.

Durations are in milliseconds. `sluice serve` passes one `QueueSettings` to everything that decides or writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from webhook.kube.well_known import NAMESPACE_NAME

MINUTE: Final = 60_000
FRAMEWORKS: Final = ("batch/job",)
SYSTEM: Final = "kube-system"
MANAGE_UNNAMED: Final = "manageJobsWithoutQueueName"
PODS_TAKE_DEFAULT: Final = "podsTakeDefaultQueue"


class RequeuingTimestamp(StrEnum):
    """What orders a workload that is back in its queue because its pods were not ready."""

    EVICTION = "Eviction"
    CREATION = "Creation"


class QuotaCheckStrategy(StrEnum):
    """What becomes of a resource that no resource group of the ClusterQueue covers."""

    BLOCK = "BlockUndeclared"
    IGNORE = "IgnoreUndeclared"


@dataclass(frozen=True, slots=True)
class RequeuingStrategy:
    """How long a workload waits each time that its pods were not ready, and how often (None: without end)."""

    timestamp: RequeuingTimestamp = RequeuingTimestamp.EVICTION
    backoff_base_seconds: int = 60
    backoff_limit_count: int | None = None
    backoff_max_seconds: int = 3600


@dataclass(frozen=True, slots=True)
class WaitForPodsReady:
    """How long admitted workloads have until all their pods are ready; `recovery_timeout` is for later losses.

    None for `recovery_timeout` is `timeout`, 0 is no limit.
    """

    timeout: int = 30 * MINUTE
    block_admission: bool = False
    recovery_timeout: int | None = None
    requeuing: RequeuingStrategy = RequeuingStrategy()

    @property
    def recovery(self) -> int:
        """The time-out after which a workload that was ready once must go, 0 for none."""
        return self.timeout if self.recovery_timeout is None else self.recovery_timeout


@dataclass(frozen=True, slots=True)
class Integrations:
    """The job kinds that are queued, and the labels of jobs that their Workloads carry (None: all).

    `external_frameworks` are (group, kind) of objects whose Workloads other controllers make.
    """

    frameworks: tuple[str, ...] = FRAMEWORKS
    external_frameworks: tuple[tuple[str, str], ...] = ()
    label_keys_to_copy: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class FairSharingSection:
    """Fair sharing between queues: which preemption strategies are tried, in their order."""

    preemption_strategies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AdmissionFairSharing:
    """How the past usage of LocalQueues fades and is counted."""

    usage_half_life_time: int = 0
    usage_sampling_interval: int = 5 * MINUTE
    resource_weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Transformation:
    """A resource that is counted as others (Kueue's `resources.transformations`): output amounts in billionths."""

    source: str
    outputs: Mapping[str, int] = field(default_factory=dict)
    keep: bool = True
    multiply_by: str = ""


@dataclass(frozen=True, slots=True)
class ResourceSettings:
    """How requests become what quota counts."""

    exclude_resource_prefixes: tuple[str, ...] = ()
    transformations: tuple[Transformation, ...] = ()
    quota_check_strategy: QuotaCheckStrategy = QuotaCheckStrategy.BLOCK


@dataclass(frozen=True, slots=True)
class LocalQueueMetrics:
    """Whether LocalQueues have metrics of their own, and which: those that a LabelSelector matches, None for all."""

    enable: bool = True
    selector: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Metrics:
    """Which metrics are served."""

    local_queues: LocalQueueMetrics = LocalQueueMetrics()


@dataclass(frozen=True, slots=True)
class Retention:
    """After how long a Workload is deleted that is finished, and a job whose Workload the queue deactivated.

    None is never.
    """

    after_finished: int | None = None
    after_deactivated: int | None = None


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """All of them. What is not said is as in Kueue, but pods are not waited for where nobody asks for it.

    `integrations` is None where nothing is said of it: every kind is queued.
    """

    manage_jobs_without_queue_name: bool = False
    managed_jobs_namespace_selector: Mapping[str, Any] | None = None
    """A LabelSelector; None is every namespace but kube-system and the controller's own."""
    wait_for_pods_ready: WaitForPodsReady | None = None
    integrations: Integrations | None = None
    fair_sharing: FairSharingSection | None = None
    admission_fair_sharing: AdmissionFairSharing | None = None
    resources: ResourceSettings = ResourceSettings()
    retention: Retention = Retention()
    metrics: Metrics = Metrics()
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    force_delete_after: float = 60.0
    """Seconds that Pods on unreachable nodes get to end, before those that allow it are ended by force."""
    namespace: str = ""
    """The namespace of Kueue's controller, where a Configuration names it."""
    own_namespace: str = ""
    """Sluice's own namespace. Its jobs are never managed: an upgrade would wait for its own Jobs for ever."""
    left_out: tuple[str, ...] = ()
    """Other namespaces whose jobs are never managed: their webhooks are not called either."""
    of_kueue: bool = False
    """Whether they are those of a Configuration: what it leaves out is as in Kueue."""

    @property
    def external(self) -> frozenset[tuple[str, str]]:
        """Group and kind of the objects whose Workloads other controllers make."""
        return frozenset(self.integrations.external_frameworks if self.integrations else ())

    @property
    def copied_labels(self) -> tuple[str, ...] | None:
        """The labels of jobs that Workloads get when they are made, None for all, as they are at any time."""
        return self.integrations.label_keys_to_copy if self.integrations else None

    def enabled(self, gate: str, *, default: bool = False) -> bool:
        """Return whether a feature gate is on; `default` is what it is where nobody set it."""
        return self.feature_gates.get(gate, default)

    @property
    def switches(self) -> Mapping[str, bool]:
        """What is on or off, by its name in a Configuration, and the feature gates that somebody set.

        Plain Pods and serving kinds take the default queue where a Configuration says which kinds are queued.
        """
        unnamed, pods = self.manage_jobs_without_queue_name, self.integrations is not None
        return {**self.feature_gates, MANAGE_UNNAMED: unnamed, PODS_TAKE_DEFAULT: pods}

    @property
    def orders_by_usage(self) -> bool:
        """Whether what LocalQueues used counts where `admissionScope` asks for it.

        In Kueue it does beside the section admissionFairSharing alone.
        """
        asked = self.admission_fair_sharing is not None or not self.of_kueue
        return asked and self.enabled("AdmissionFairSharing", default=True)

    @property
    def ignores_undeclared(self) -> bool:
        """Whether resources that no resource group covers are left out of what quota counts."""
        asked = self.resources.quota_check_strategy is QuotaCheckStrategy.IGNORE
        return asked and self.enabled("QuotaCheckStrategy", default=True)

    def namespace_selector(self) -> Mapping[str, Any]:
        """Return the LabelSelector of the namespaces whose jobs are managed."""
        stated, apart = self.managed_jobs_namespace_selector, {self.own_namespace, *self.left_out}
        if stated is None:
            stated, apart = {}, apart | {SYSTEM, self.namespace}
        expressions = [*(stated.get("matchExpressions") or ())]
        if names := sorted(apart - {""}):
            expressions.append({"key": NAMESPACE_NAME, "operator": "NotIn", "values": names})
        return {**stated, "matchExpressions": expressions}
