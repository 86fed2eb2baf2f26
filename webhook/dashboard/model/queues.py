"""The tree of cohorts and queues, and one queue."""

from __future__ import annotations

from typing import Literal

import msgspec

from webhook.dashboard.model.json_view import JsonView


class FlavorColumn(JsonView, frozen=True):
    """A flavor and a resource; cells name it by its place in the answer's `columns`."""

    flavor: str
    resource: str


class QuotaCell(msgspec.Struct, frozen=True, array_like=True):
    """A queue's or cohort's quota of one flavor and resource, as a JSON array in this order.

    `nominal` is its own quota; `quota` the same of a queue, and of a cohort with all that is below it. `reserved` is
    what workloads hold there or below, `used` that of those whose admission checks are done too. `borrowed` is what is
    held of others' quota; `lent` is the part of its own that others hold: quota in a cohort has no names, so where
    several lend it is divided by what each has idle. `free` is what one more workload could get now, with borrowing;
    `most` is what it could get if nothing ran.
    """

    column: int
    nominal: int
    quota: int
    reserved: int
    used: int
    borrowed: int
    lent: int
    free: int
    most: int


class QuotaNode(JsonView, frozen=True):
    """A cohort or a ClusterQueue of the tree. `parent` is a cohort's name, empty at a root.

    Counts are of workloads; those of a cohort are the sums of what is below it. `inadmissible` is the part of `pending`
    that is parked until something changes. `inactive` says why a queue admits nothing; else it is empty.
    """

    name: str
    kind: Literal["cohort", "queue"]
    depth: int
    parent: str = ""
    pending: int = 0
    inadmissible: int = 0
    reserving: int = 0
    admitted: int = 0
    inactive: str = ""
    strategy: str = ""
    cells: tuple[QuotaCell, ...] = ()


class ClusterView(JsonView, frozen=True):
    """`/ui/api/cluster`: all cohorts and queues, each cohort before its members (depth first, sorted by name).

    `nodes` are a page of those that match `filter`, with the cohorts above them; `total` is the number of all.
    """

    revision: int
    at: int
    total: int
    offset: int
    columns: tuple[FlavorColumn, ...]
    nodes: tuple[QuotaNode, ...]


class WorkloadRow(JsonView, frozen=True):
    """One workload in a list. `job` is `Kind/name`, empty where it has none.

    Of one that waits: `since` it was queued, the last time; `position` from 1 (0: in no order), `place` `active` or
    `inadmissible`, `reason` a word of the core, `message` its sentence, `start` an estimate, or `start_unknown` why
    there is none. Of one that runs: `since` its quota was reserved, `ends` where its run time is known. Of one that has
    finished: `ended` when, `outcome` `Succeeded` or `Failed`, with `message`. `asks` are all its pods together, by
    resource.
    """

    namespace: str
    name: str
    state: str
    job: str = ""
    local_queue: str = ""
    cluster_queue: str = ""
    user: str = ""
    priority: int = 0
    created: int = 0
    asks: dict[str, int] = msgspec.field(default_factory=dict)
    position: int = 0
    place: str = ""
    reason: str = ""
    message: str = ""
    start: int = 0
    start_unknown: str = ""
    since: int = 0
    ends: int = 0
    ended: int = 0
    outcome: str = ""


class WorkloadPage(JsonView, frozen=True):
    """A page of a list of `total`, of which the reader may see `visible`; `rows` and `offset` are of these."""

    total: int
    visible: int
    offset: int
    rows: tuple[WorkloadRow, ...] = ()


class StartRow(JsonView, frozen=True):
    """`/ui/api/workloads/{namespace}/{name}/start`: when a pending workload (`namespace/name`) is expected to start.

    `start_unknown` says why `start` is not known. Further behind than some hundred jobs it is not.
    """

    workload: str
    start: int = 0
    start_unknown: str = ""


class StartsView(JsonView, frozen=True):
    """`/ui/api/queues/{name}/starts`: the same of a page of the pending workloads of a ClusterQueue."""

    starts: tuple[StartRow, ...]


class HistoryPoint(JsonView, frozen=True):
    """A queue from `at` to the next point: `reserved` by column, workloads `pending` and `reserving` (holding quota).

    `started` were admitted in that time, after `waited` milliseconds on average.
    """

    at: int
    reserved: dict[int, int] = msgspec.field(default_factory=dict)
    pending: int = 0
    reserving: int = 0
    started: int = 0
    waited: int = 0


class QueueHistory(JsonView, frozen=True):
    """The past of a queue from `since` on; `partial` if some of that time is missing."""

    source: Literal["journal", "memory"]
    since: int
    partial: bool = False
    points: tuple[HistoryPoint, ...] = ()


class QueueView(JsonView, frozen=True):
    """`/ui/api/queues/{name}`: one ClusterQueue.

    `running` are in the order of admission, `waiting` in the order of the queue. `finished` are the last to finish,
    the latest first.
    """

    revision: int
    at: int
    columns: tuple[FlavorColumn, ...]
    node: QuotaNode
    local_queues: tuple[str, ...]
    running: WorkloadPage
    waiting: WorkloadPage
    finished: WorkloadPage
    history: QueueHistory


class FoundWorkloads(JsonView, frozen=True):
    """`/ui/api/find`: queues and workloads whose name, or whose job's name, contains a text; 20 of each at most."""

    queues: tuple[str, ...]
    workloads: tuple[WorkloadRow, ...]
