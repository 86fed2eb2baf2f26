"""What `status.reclaimablePods` of a job's Workload is to say (KEP 78): with quota or without. Pure."""

from __future__ import annotations

from webhook.api.snapshot.slices import counts
from webhook.api.snapshot.workload import reclaimed
from webhook.jobs.elastic import is_elastic
from webhook.jobs.job import Job
from webhook.jobs.reclaimable import reclaimable
from webhook.kube.condition_types import QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.store.objects import Object


def to_reclaim(job: Object, described: Job, workload: Object) -> dict[str, int]:
    """Return the number of pods that need no quota any more, by pod set; never more than the Workload has.

    A job that has grown gives back first what the Workload does not have. What was told stays for kinds whose numbers
    others write, and where it would become less for a job that was admitted with fewer pods: by its own count nothing
    may be left over, and while quota is reserved it may not become less.
    Source: LimitReclaimablePodsToPodSetSizes and validateReclaimablePodsUpdate in Kueue.
    """
    found, told = reclaimable(job, described), reclaimed(workload)
    if found is None:
        return told
    sizes, now = counts(workload), {pods.name: pods.count for pods in described.pod_sets}
    spare = {name: count - max(0, now[name] - sizes.get(name, 0)) for name, count in found.items()}
    most = {name: count for name, count in spare.items() if count > 0}
    if is_elastic(job) or not holds(workload, QUOTA_RESERVED):
        return most
    in_part = {name: count for name, count in told.items() if now.get(name, 0) < sizes.get(name, 0)}
    return most | {name: max(count, most.get(name, 0)) for name, count in in_part.items()}
