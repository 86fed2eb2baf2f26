"""What to do next for an elastic job, whose size changes while it runs: a pure function of it and its Workloads.

The job has one Workload that holds quota, and at most one more that is to replace it:

    grew while it held quota: GROW, a second Workload asks for the difference
    the second is admitted: REPLACED, the first ends
    grew further before that: RESIZE the second    shrank again: OBSOLETE, the second ends
    the second is evicted before it is admitted: WITHDRAW    after that: STOP, and RELEASE the second
    grew by pods that do not wait: STOP, and OUTGROWN, as any other job
    shrank: RESIZE the one that holds quota    the second is deleted by hand: LET_GO, and another may come
    shrank when pods had ended: RECLAIM first, as what was given back was counted by the larger size
    its class is another, or has another value: REPRIORITIZE both (Kueue: syncWorkloadSlicePriority)

Pods that came with the growth wait behind a gate in their template, so the job itself need not stop. With KEP 77.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from webhook.api.snapshot.slices import counts
from webhook.cluster.api.finalizers import is_marked
from webhook.cluster.jobs.steps import Differences, JobStep, gone, next_step
from webhook.jobs.elastic import REPLACES, annotation, is_gated
from webhook.jobs.finish import finish_of
from webhook.jobs.job import Job
from webhook.kube.condition_types import ADMITTED, EVICTED, QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.store.objects import Object, key_of

Next = tuple[JobStep, Object | None]
"""A step, and the Workload that it is about."""
Differ = Callable[[Object], Differences]


def slice_step(job: Object, described: Job, live: Sequence[Object], differ: Differ) -> Next:
    """Return the next step. `live` are the job's Workloads that have not ended, the oldest first."""
    if finish_of(job) is not None:
        return (JobStep.FINISH, live[0]) if live else (JobStep.NONE, None)
    if (old := _superseded(live)) is not None:
        return JobStep.REPLACED, old
    waiting = [workload for workload in live if not holds(workload, QUOTA_RESERVED)]
    if len(waiting) > 1:
        return JobStep.OBSOLETE, waiting[0]
    holding = [workload for workload in live if holds(workload, QUOTA_RESERVED)]
    if not holding:
        alone = waiting[0] if waiting else None
        step = next_step(job, described, alone, differ(alone) if alone is not None else Differences())
        return step, alone
    current, heir = holding[0], (*holding[1:], *waiting, None)[0]
    if heir is not None and gone(heir):
        if is_marked(heir):
            return JobStep.LET_GO, heir
        return next_step(job, described, current, differ(current)), current
    if holds(current, EVICTED) or gone(current):
        step = next_step(job, described, current, differ(current))
        return JobStep.REPLACED if step is JobStep.RELEASE and heir is not None else step, current
    if heir is not None and holds(heir, EVICTED) and holds(heir, QUOTA_RESERVED):
        admitted = holds(heir, ADMITTED)  # its pods may run
        return (next_step(job, described, heir, differ(heir)) if admitted else JobStep.WITHDRAW), heir
    if (found := differ(current)).bigger:
        return next_step(job, described, current, found), current
    if (resized := _resized(described, current, heir)) is not None:
        shrinks_with_less_back = resized == (JobStep.RESIZE, current) and found.reclaimable
        return (JobStep.RECLAIM, current) if shrinks_with_less_back else resized
    if heir is not None and differ(heir).priority:
        return JobStep.REPRIORITIZE, heir
    return next_step(job, described, current, found), current


def is_grown_ungated(described: Job, current: Object) -> bool:
    """Return whether the job has more pods than its Workload in a pod set whose template lacks the gate of its pods.

    They would run at once, and nobody could take them back but with the whole job.
    """
    has = counts(current)
    return any(pods.count > has.get(pods.name, 0) and not is_gated(pods.template) for pods in described.pod_sets)


def _superseded(live: Sequence[Object]) -> Object | None:
    """Return a Workload whose replacement is admitted."""
    heirs = {annotation(w, REPLACES): w for w in live if holds(w, ADMITTED) and not holds(w, EVICTED)}
    return next((w for w in live if heirs.get("/".join(key_of(w)), w) is not w), None)


def _resized(described: Job, current: Object, heir: Object | None) -> Next | None:
    """Return the step by which the Workloads follow the job's size, None where they have it.

    A pod set without pods is as one that is not there: worker groups come and go. A Workload gets no other pod sets.
    """
    wanted, has = _some({pods.name: pods.count for pods in described.pod_sets}), _some(counts(current))
    grew = any(count > has.get(name, 0) for name, count in wanted.items())
    if heir is not None and not grew:
        return JobStep.OBSOLETE, heir
    if heir is not None:
        if holds(heir, QUOTA_RESERVED) or _some(counts(heir)) == wanted:
            return None
        return (JobStep.OBSOLETE if wanted.keys() - counts(heir).keys() else JobStep.RESIZE), heir
    if grew:
        return JobStep.GROW, current
    return (JobStep.RESIZE, current) if wanted != has else None


def _some(pods: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in pods.items() if count}
