"""Intended differences from Kueue's decisions: what, why, and the setting that gives Kueue's behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class KueueDifference:
    """One difference. `setting` gives Kueue's answer; `traces` are the shared traces that show it."""

    what: str
    why: str
    setting: str
    traces: tuple[str, ...] = ()


DIFFERENCES: Final = (
    KueueDifference(
        "a workload that is waiting for its victims goes first between queues, not only in its own queue",
        "in Kueue another queue can take the quota of the victims, and the same jobs are evicted again",
        "extend `kueue` with `parameters: {prioritizePreemptorWorkloads: false}`; `plan --batch` and `--traces` set it",
    ),
    KueueDifference(
        "a retry that cannot succeed does not use the turn of its queue",
        "the next job of the queue starts now instead of one cycle later; a parked workload is retried when a quota "
        "that it failed on is sufficient",
        "`plan --cycles N`, `--batch` and `--traces` count cycles as Kueue does, and every retry uses its turn",
    ),
    KueueDifference(
        "under fair sharing a queue whose head was admitted nominates its next workload in the same cycle",
        "with one head of each queue per cycle, weights have little effect without preemption",
        "`plan --cycles N`, `--batch` and `--traces` take one head of each queue",
    ),
    KueueDifference(
        "a changed status of a ClusterQueue does not cause retries",
        "in cohort trees of two or more levels Kueue retries all parked workloads after every change of a count, "
        "although no quota was released",
        "`plan --cycles N`, `--batch` and `--traces` retry as Kueue does",
    ),
    KueueDifference(
        "a preemptor that does not fit loses its place at the head of its queue",
        "so it is documented in Kueue, but the job stays ahead of higher priorities until another one preempts",
        "`plan --cycles N` and `--traces` keep the place as Kueue does",
    ),
    KueueDifference(
        "with `flavorFungibility.preference`, a flavor needs preemption if one of its resources does",
        "Kueue may nominate it as fitting; the job then fails the second check of every cycle, although another "
        "flavor is free or victims exist (PreemptionOverBorrowing)",
        "none: a bug in Kueue",
        ("trace-a1-00034", "trace-a3-00037"),
    ),
    KueueDifference(
        "where a ClusterQueue covers `pods`, victims are sought for the pods of a job too",
        "Kueue leaves them out, and a job that lacks only those then fails the second check of every cycle",
        "none: a bug in Kueue",
    ),
    KueueDifference(
        "a pod set that requests 0 of a resource that no queue covers is admitted with all others",
        "Kueue's admission leaves out the pod sets that follow it",
        "none: a bug in Kueue",
    ),
    KueueDifference(
        "a workload that is admitted in part does not request its `reclaimablePods` again",
        "Kueue searches from the counts of the spec, and the job waits for quota of pods that are done",
        "none: a bug in Kueue",
    ),
    KueueDifference(
        "a pod set of no pods, as all are done or none is there yet, takes the first flavor that could hold one",
        "Kueue takes the first flavor, also where a pod of it could never run",
        "none: only the flavor of such a pod set differs",
    ),
    KueueDifference(
        "victims of two LocalQueues of one name in different namespaces are ordered by usage as any others",
        "Kueue compares the names without the namespaces, and takes the two for one LocalQueue",
        "none: a bug in Kueue",
    ),
    KueueDifference(
        "without the gate FlavorFungibility a workload that cannot be admitted is parked",
        "Kueue looks at it again in every cycle",
        "none: the gate is on by default",
    ),
    KueueDifference(
        "a pending workload always says what it lacks, never `Bypassed scheduling evaluation because an equivalent "
        "workload recently failed`",
        "like Kueue, Sluice skips a workload that is equivalent to one that failed, but explains each by its numbers",
        "none: only the message of the condition QuotaReserved differs, its reason does not",
    ),
    KueueDifference(
        "a Pod of an admitted job cannot be resized in place to more than it requested, only to less",
        "Kueue does not look at the subresource `resize`, and the Pod then uses quota that is not counted",
        "leave out the policy `gated-pods` of policies/suspend-pods",
    ),
)
