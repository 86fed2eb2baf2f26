"""One workload: its life, what it waits for, and how it would stand otherwise."""

from __future__ import annotations

from typing import Literal

import msgspec

from webhook.dashboard.model.json_view import JsonView
from webhook.dashboard.model.queues import WorkloadRow
from webhook.policy.queue_rules.deciding_clause import RuleClause


class JobRef(JsonView, frozen=True):
    """A job, and the ClusterQueue that it holds quota of.

    `workload` (`namespace/name`) and `job` (`Kind/name`) are empty if the reader may not see it.
    """

    workload: str = ""
    job: str = ""
    cluster_queue: str = ""


class HolderRow(JsonView, frozen=True):
    """A job that holds quota and must end first. `ends` is when that is expected, 0 if it is not known.

    `workload` (`namespace/name`) and `job` (`Kind/name`) are empty if the reader may not see it.
    """

    amount: int
    cluster_queue: str
    workload: str = ""
    job: str = ""
    ends: int = 0


class ShortageRow(JsonView, frozen=True):
    """What a pod set requests of a flavor, what is free now, and at most. `note` says why a flavor cannot be used.

    `beside` is the part of `asked` that earlier pod sets take. `holders` must end first.
    """

    pod_set: str
    flavor: str
    resource: str
    asked: int
    free: int
    most: int
    nominal: int
    borrowed: int = 0
    beside: int = 0
    note: str = ""
    holders: tuple[HolderRow, ...] = ()


class FieldChange(JsonView, frozen=True):
    """A step of a JSON patch: `op`, `path`, and `value` where it sets one."""

    op: str
    path: str
    value: msgspec.Raw = msgspec.Raw(b"null")


class LifeEvent(JsonView, frozen=True):
    """Something that happened to a job. `what` is one of the words below; `detail` is a sentence.

    created (`by` a user), shaped (`by` the policies, `changes` the patch), denied, queued, reserved, admitted, ready,
    preempted (for `preemptor`), evicted, requeued, deactivated, finished, deleted. `reason` is Kueue's word for why.
    """

    at: int
    what: str
    by: str = ""
    queue: str = ""
    detail: str = ""
    changes: tuple[FieldChange, ...] = ()
    reason: str = ""
    preemptor: JobRef | None = None


class PodSetRow(JsonView, frozen=True):
    """Pods of one template: their number, and the requests of one. `flavors` and `given` are of its admission."""

    name: str
    count: int
    requests: dict[str, int]
    min_count: int = 0
    flavors: dict[str, str] = msgspec.field(default_factory=dict)
    given: int = 0


class WorkloadView(JsonView, frozen=True):
    """`/ui/api/workloads/{namespace}/{name}`: one Workload, by its own name or its job's.

    `ahead` is the number of workloads before it. `shortages` are what it lacks. `local_queues` of its
    namespace can be named in a what-if. `source` says where `events` come from, beside the object itself.
    """

    revision: int
    at: int
    workload: WorkloadRow
    pod_sets: tuple[PodSetRow, ...]
    ahead: int = 0
    rule: RuleClause | None = None
    shortages: tuple[ShortageRow, ...] = ()
    events: tuple[LifeEvent, ...] = ()
    local_queues: tuple[str, ...] = ()
    source: Literal["journal", "memory"] = "memory"


class Outlook(JsonView, frozen=True):
    """What the queues would decide about a workload. `preempts` are the jobs that would be preempted for it."""

    admitted: bool
    cluster_queue: str
    flavors: dict[str, str] = msgspec.field(default_factory=dict)
    position: int = 0
    reason: str = ""
    message: str = ""
    start: int = 0
    start_unknown: str = ""
    preempts: tuple[JobRef, ...] = ()
    shortages: tuple[ShortageRow, ...] = ()


class WhatIf(JsonView, frozen=True):
    """`.../what-if`: the same workload as it is, and changed. `changed` says in words how.

    `partial` if the time limit was reached first. `took` is in milliseconds.
    """

    revision: int
    changed: str
    now: Outlook
    then: Outlook
    took: int
    partial: bool = False
