"""The types of the conditions of a Workload, and those of their reasons that several layers read.

Kueue's names (`apis/kueue/v1beta2/workload_types.go`). The two reasons of an eviction that the queue core reads are
`webhook.queue.model.BY_PODS_READY_TIMEOUT` and `BY_ADMISSION_CHECK`: it imports nothing.
"""

from __future__ import annotations

from typing import Final

QUOTA_RESERVED: Final = "QuotaReserved"
ADMITTED: Final = "Admitted"
EVICTED: Final = "Evicted"
PREEMPTED: Final = "Preempted"
"""Also the reason of `Evicted` of a workload that was preempted."""
REQUEUED: Final = "Requeued"
FINISHED: Final = "Finished"
PODS_READY: Final = "PodsReady"
DEACTIVATION_TARGET: Final = "DeactivationTarget"
WAITING_FOR_REPLACEMENT_PODS: Final = "WaitingForReplacementPods"
"""The condition of a group of pods whose Workload waits until others take the places of those that failed."""

ON_HOLD: Final = "OnHold"
"""The reason of `QuotaReserved` False of a Workload whose job has no pods for now, or is refused by its controller."""
WAIT_FOR_START: Final = "WaitForStart"
"""The reason of `PodsReady` False before all pods were ready."""
WAIT_FOR_RECOVERY: Final = "WaitForRecovery"
"""The reason of `PodsReady` False after one of the pods that were ready was lost."""
CLUSTER_QUEUE_STOPPED: Final = "ClusterQueueStopped"
LOCAL_QUEUE_STOPPED: Final = "LocalQueueStopped"
DEACTIVATED: Final = "Deactivated"
"""Reasons of `Evicted`; a deactivation by the queue has the reason `DeactivatedDueTo…`."""
