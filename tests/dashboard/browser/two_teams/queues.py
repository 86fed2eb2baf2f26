"""The queues, who waits in vision and who runs, and what a day was like."""

import time

import msgspec

from webhook.dashboard.model.queues import (
    FlavorColumn,
    HistoryPoint,
    QueueHistory,
    QueueView,
    QuotaCell,
    QuotaNode,
    WorkloadPage,
    WorkloadRow,
)

MINUTE, HOUR = 60_000, 3_600_000
GPU = "nvidia.com/gpu"
GIB = 1024**3
COLUMNS = (
    FlavorColumn("a100", GPU),
    FlavorColumn("spot", GPU),
    FlavorColumn("a100", "cpu"),
    FlavorColumn("a100", "memory"),
)


def now() -> int:
    """The time of the answers, in milliseconds."""
    return int(time.time() * 1000)


def nodes(revision: int) -> tuple[QuotaNode, ...]:
    """One cohort of labs with a cohort in it, and a queue by itself; each revision, vision uses one GPU more."""
    used = 18 + revision % 4
    gpu = QuotaCell(0, 16, 16, used, used, max(0, used - 16), 0, 28 - used, 48)
    return (
        QuotaNode(
            "labs",
            "cohort",
            0,
            pending=6,
            inadmissible=2,
            reserving=9,
            admitted=8,
            cells=(
                QuotaCell(0, 0, 48, 20 + used, 18 + used, 0, 0, 28 - used, 48),
                QuotaCell(1, 0, 16, 6, 6, 0, 0, 10, 16),
            ),
        ),
        QuotaNode(
            "research",
            "cohort",
            1,
            "labs",
            pending=5,
            inadmissible=1,
            reserving=6,
            admitted=6,
            cells=(QuotaCell(0, 0, 32, 8 + used, 8 + used, 0, 0, 28 - used, 48),),
        ),
        QuotaNode(
            "language",
            "queue",
            2,
            "research",
            pending=1,
            reserving=2,
            admitted=2,
            strategy="StrictFIFO",
            cells=(
                QuotaCell(0, 16, 16, 8, 8, 0, max(0, used - 16), 28 - used, 48),
                QuotaCell(2, 256_000, 256_000, 96_000, 96_000, 0, 0, 160_000, 256_000),
            ),
        ),
        QuotaNode(
            "vision",
            "queue",
            2,
            "research",
            pending=4,
            inadmissible=1,
            reserving=4,
            admitted=4,
            strategy="BestEffortFIFO",
            cells=(
                gpu,
                QuotaCell(1, 16, 16, 6, 6, 0, 0, 10, 16),
                QuotaCell(2, 256_000, 256_000, 160_500, 160_500, 0, 0, 95_500, 256_000),
                QuotaCell(3, 2048 * GIB, 2048 * GIB, 1152 * GIB, 1152 * GIB, 0, 0, 896 * GIB, 2048 * GIB),
            ),
        ),
        QuotaNode(
            "serving",
            "queue",
            1,
            "labs",
            pending=1,
            inadmissible=1,
            reserving=3,
            admitted=2,
            strategy="BestEffortFIFO",
            cells=(QuotaCell(0, 16, 16, 12, 10, 0, 0, 9, 48),),
        ),
        QuotaNode("archive", "queue", 0, inactive="stopped (HoldAndDrain)", strategy="BestEffortFIFO"),
    )


def waiting(at: int) -> tuple[WorkloadRow, ...]:
    """What waits in vision."""
    row = WorkloadRow(
        "vision",
        "job-segment-7b-4f2a1",
        "Pending",
        "PyTorchJob/segment-7b",
        "default",
        "vision",
        "ada",
        100,
        at - 42 * MINUTE,
        {GPU: 16, "cpu": 128_000},
        1,
        "active",
        "WaitingForQuota",
        "main: requests 16 nvidia.com/gpu of a100, 3 free",
        at + 95 * MINUTE,
        since=at - 42 * MINUTE,
    )
    behind = "main: requests 8 nvidia.com/gpu of a100, 3 free"
    return (
        row,
        msgspec.structs.replace(
            row,
            name="job-depth-9c31e",
            job="Job/depth",
            user="grace",
            priority=50,
            position=2,
            asks={GPU: 8},
            created=at - 31 * MINUTE,
            since=at - 31 * MINUTE,
            message=behind,
            start=at + 2 * HOUR,
        ),
        msgspec.structs.replace(
            row,
            name="job-tracking-eval-77d02",
            job="Job/tracking-eval",
            user="lin",
            priority=0,
            position=3,
            asks={GPU: 1},
            created=at - 4 * MINUTE,
            since=at - 4 * MINUTE,
            reason="PendingEvaluation",
            message="",
            start=0,
        ),
        msgspec.structs.replace(
            row,
            name="raycluster-sweep-1b0ff",
            job="RayCluster/sweep",
            user="grace",
            priority=0,
            position=4,
            asks={GPU: 64},
            created=at - 26 * HOUR,
            since=at - 26 * HOUR,
            place="inadmissible",
            start=0,
            reason="ExceedsMaxQuota",
            message="workers: requests 64 nvidia.com/gpu, at most 32 with borrowing",
        ),
    )


def running(at: int) -> tuple[WorkloadRow, ...]:
    """What runs in vision."""
    row = WorkloadRow(
        "vision",
        "job-pretrain-v3-02c4d",
        "Admitted",
        "PyTorchJob/pretrain-v3",
        "default",
        "vision",
        "lin",
        100,
        at - 9 * HOUR,
        {GPU: 16},
        since=at - 8 * HOUR,
        ends=at + 95 * MINUTE,
    )
    return (
        row,
        msgspec.structs.replace(
            row,
            name="job-augment-5510a",
            job="Job/augment",
            user="ada",
            priority=0,
            asks={GPU: 4},
            since=at - 2 * HOUR,
            ends=0,
        ),
        msgspec.structs.replace(
            row,
            name="job-notebook-ada-81",
            job="Notebook/ada",
            user="ada",
            priority=0,
            asks={GPU: 1, "memory": 64 * GIB},
            since=at - 35 * MINUTE,
            ends=0,
        ),
    )


def finished(at: int) -> tuple[WorkloadRow, ...]:
    """What ended in vision lately."""
    ran = {"local_queue": "default", "cluster_queue": "vision", "user": "grace", "asks": {GPU: 8}}
    row = WorkloadRow("vision", "job-depth-1-aa01c", "Finished", "Job/depth-1", **ran, since=at - 5 * HOUR,
                      ended=at - 2 * HOUR, outcome="Succeeded", message="Job finished successfully")  # fmt: skip
    failed = "Job has reached the specified backoff limit"
    return (
        row,
        msgspec.structs.replace(row, name="job-flow-02-bb7d2", job="Job/flow-02", outcome="Failed", message=failed),
    )


def history(at: int) -> QueueHistory:
    """A day in steps of a quarter of an hour: busy in the day, quiet at night."""
    points = []
    for step in range(96):
        busy = max(0.0, 1 - abs(step - 58) / 40)
        held = {
            0: round(6 + 15 * busy) - step % 3,
            1: round(10 * busy),
            2: 60_000 + round(100_000 * busy),
            3: 1152 * GIB,
        }
        points.append(
            HistoryPoint(
                at - (96 - step) * 15 * MINUTE,
                held,
                round(9 * busy),
                2 + round(4 * busy),
                step % 3,
                round(busy * 50 * MINUTE),
            )
        )
    return QueueHistory("journal", at - 24 * HOUR, points=tuple(points))


def queue(name: str, revision: int) -> QueueView:
    """One of the queues; all have vision's jobs."""
    at = now()
    node = {node.name: node for node in nodes(revision) if node.kind == "queue"}[name]
    pages = (WorkloadPage(len(rows), len(rows), 0, rows) for rows in (running(at), waiting(at), finished(at)))
    return QueueView(revision, at, COLUMNS, node, ("vision/default", "vision/nightly"), *pages, history(at))
