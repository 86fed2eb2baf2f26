"""When a job is deleted because the queue deactivated its Workload (`afterDeactivatedByKueue`). Pure."""

from __future__ import annotations

from webhook.cluster.workloads.conditions import DEACTIVATES
from webhook.kube.condition_types import EVICTED, FINISHED
from webhook.kube.conditions import find, holds
from webhook.kube.fields import at
from webhook.kube.times import milliseconds
from webhook.store.objects import Object


def kept_for(workload: Object, retention: int | None, now: str) -> float | None:
    """Return the seconds until the job of a Workload is to be deleted, 0 for now; None where it is kept.

    Only the queue's own reasons count (a time limit, pods that were never ready): what a person has deactivated stays,
    and what has ended, as in Kueue, whose reconciler goes no further then.
    """
    evicted = find(workload, EVICTED) or {}
    by_queue = holds(workload, EVICTED) and str(evicted.get("reason")).startswith(DEACTIVATES)
    if retention is None or not by_queue or holds(workload, FINISHED) or at(workload, ("spec", "active")) is not False:
        return None
    return max(0, milliseconds(evicted.get("lastTransitionTime")) + retention - milliseconds(now)) / 1000
