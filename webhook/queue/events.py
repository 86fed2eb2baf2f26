"""The events that change the state of the core. Applying an event twice is the same as applying it once."""

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
    """A workload was added or changed: pending, holding quota, evicted, or finished."""

    workload: Workload


@dataclass(frozen=True, slots=True)
class WorkloadGone:
    """A workload was deleted, or finished and no longer matters."""

    key: str


@dataclass(frozen=True, slots=True)
class AdmissionUnwritten:
    """An admission that was decided could not be written: the workload waits as before, and is charged nothing."""

    key: str


@dataclass(frozen=True, slots=True)
class WorkloadEvicted:
    """A workload released its quota and waits again: ordered by `queued_at`, not before `requeue_at`."""

    key: str
    queued_at: int
    requeue_at: int = 0


@dataclass(frozen=True, slots=True)
class DefinitionChanged:
    """A queue, cohort, flavor, namespace or check was added or changed."""

    definition: Definition


@dataclass(frozen=True, slots=True)
class DefinitionGone:
    """A definition was deleted. `key` is its name; of a LocalQueue `namespace/name`."""

    kind: type[Definition]
    key: str


Event = WorkloadChanged | WorkloadGone | AdmissionUnwritten | WorkloadEvicted | DefinitionChanged | DefinitionGone
