"""The life of a job, what it lacks, and a what-if."""

import msgspec

from tests.dashboard.browser.two_teams.queues import GPU, MINUTE, now, running, waiting
from webhook.dashboard.model.workloads import (
    FieldChange,
    HolderRow,
    JobRef,
    LifeEvent,
    Outlook,
    PodSetRow,
    ShortageRow,
    WhatIf,
    WorkloadView,
)
from webhook.policy.queue_rules.deciding_clause import ClauseValues, RuleClause


def shortages(at: int) -> tuple[ShortageRow, ...]:
    """What segment-7b lacks."""
    holder = HolderRow(13, "vision", "vision/job-pretrain-v3-02c4d", "PyTorchJob/pretrain-v3", at + 95 * MINUTE)
    return (
        ShortageRow("main", "a100", GPU, 16, 3, 32, 16, holders=(holder, HolderRow(4, "serving"))),
        ShortageRow("main", "spot", GPU, 16, 10, 16, 16, note="the node's taint spot is not tolerated"),
    )


def patch() -> tuple[FieldChange, ...]:
    """What the policies changed in it."""
    worker = "/spec/pytorchReplicaSpecs/Worker/template/spec"
    values = [
        ("add", "/spec/runPolicy/suspend", b"true"),
        ("add", "/metadata/labels/kueue.x-k8s.io~1queue-name", b'"default"'),
        ("replace", f"{worker}/containers/0/resources/limits", b'{"nvidia.com/gpu": "8"}'),
        ("remove", f"{worker}/nodeName", b"null"),
    ]
    return tuple(FieldChange(op, path, msgspec.Raw(value)) for op, path, value in values)


def workload(namespace: str, name: str, revision: int) -> WorkloadView:
    """One of the jobs; what waits has the life of segment-7b."""
    at = now()
    row = {(row.namespace, row.name): row for row in (*waiting(at), *running(at))}[namespace, name]
    began = row.created
    events = [
        LifeEvent(began, "created", "ada"),
        LifeEvent(began, "shaped", "suspend-jobs, queue-name, gpu-defaults", changes=patch()),
        LifeEvent(began + 1000, "queued", queue="vision"),
        LifeEvent(began + 6 * MINUTE, "reserved", queue="vision", detail="a100: 16 nvidia.com/gpu"),
        LifeEvent(began + 7 * MINUTE, "admitted", queue="vision"),
        LifeEvent(began + 8 * MINUTE, "ready"),
    ]
    if row.position:
        events += [
            LifeEvent(
                began + 24 * MINUTE,
                "preempted",
                reason="InCohortReclamation",
                preemptor=JobRef("language/align-13b", "PyTorchJob/align-13b", "language"),
            ),
            LifeEvent(began + 24 * MINUTE + 30_000, "requeued", queue="vision"),
        ]
    clause = RuleClause(
        "time-window",
        "admit",
        'workload.labels[?"team"].orValue("") == "night" || now.getHours("Asia/Shanghai") < 8',
        "night/policy.yaml",
        14,
        (
            ClauseValues(
                (('workload.labels[?"team"].orValue("")', '"day"'), ('now.getHours("Asia/Shanghai")', "15")), "false"
            ),
        ),
    )
    sets = (
        PodSetRow("master", 1, {GPU: 8, "cpu": 64_000}),
        PodSetRow("worker", 1, {GPU: 8, "cpu": 64_000}, 1, {GPU: "a100"}, 1),
    )
    lacks = shortages(at) if row.position else ()
    rule = clause if row.position else None
    return WorkloadView(
        revision, at, row, sets, 0, rule, lacks, tuple(events), ("default", "nightly", "shared"), "journal"
    )


def what_if(query: dict[str, str], revision: int) -> WhatIf:
    """Few GPUs start at once, more wait."""
    at = now()
    stays = Outlook(
        False,
        "vision",
        position=1,
        reason="WaitingForQuota",
        message="main: requests 16 nvidia.com/gpu of a100, 3 free",
        start=at + 95 * MINUTE,
        shortages=shortages(at),
    )
    runs = Outlook(True, "vision", {GPU: "a100"})
    then = runs if int(query.get("gpus") or 16) <= 3 else stays
    return WhatIf(revision, f"{query.get('gpus', '16')} nvidia.com/gpu in all", stays, then, 38)
