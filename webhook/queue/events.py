"""What can happen to the state of the core. Applying the same event twice changes nothing the second time."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.queue.model import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    Flavor,
    LocalQueue,
    Namespace,
    Workload,
)

Definition = Flavor | ClusterQueue | Cohort | LocalQueue | Namespace | AdmissionCheck


@dataclass(frozen=True, slots=True)
class WorkloadChanged:
    """A workload was added, or stands now as told: pending, holding quota, evicted, or finished."""

    workload: Workload


@dataclass(frozen=True, slots=True)
class WorkloadGone:
    """A workload was deleted, or finished and is of no more interest."""

    key: str


@dataclass(frozen=True, slots=True)
class WorkloadEvicted:
    """A workload gave its quota back and waits again: ordered by `queued_at`, not before `requeue_at`."""

    key: str
    queued_at: int
    requeue_at: int = 0


@dataclass(frozen=True, slots=True)
class DefinitionChanged:
    """A queue, cohort, flavor, namespace or check was added, or stands now as told."""

    definition: Definition


@dataclass(frozen=True, slots=True)
class DefinitionGone:
    """A definition was deleted. `key` is its name; of a LocalQueue `namespace/name`."""

    kind: type[Definition]
    key: str


Event = WorkloadChanged | WorkloadGone | WorkloadEvicted | DefinitionChanged | DefinitionGone
