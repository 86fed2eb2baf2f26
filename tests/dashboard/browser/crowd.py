"""Clusters made up for what breaks a layout: 1,000 queues with 50,000 pending workloads, and names that are hostile."""

import msgspec

from tests.dashboard.browser.two_teams import answers as two_teams
from tests.dashboard.browser.two_teams.queues import COLUMNS, GPU, now
from webhook.dashboard.model.policies import PoliciesView
from webhook.dashboard.model.queues import (
    ClusterView,
    FoundWorkloads,
    QueueView,
    QuotaCell,
    QuotaNode,
    StartsView,
    WorkloadPage,
)
from webhook.dashboard.model.workloads import WorkloadView

QUEUES, PENDING, COHORTS = 1000, 50_000, 50
HOSTILE = "<img src=x onerror=document.title='taken'>"
LONG = "a-name-that-goes-on-" * 12


def crowd(path: tuple[str, ...], query: dict[str, str], revision: int) -> msgspec.Struct:
    """Answer as a cluster of 50 cohorts with 20 queues each; one queue has all jobs of the small cluster many times."""
    match path:
        case ("cluster",):
            found = _many(revision)
            start = int(query.get("offset") or 0)
            page = found[start:][: int(query.get("limit") or len(found))]
            return ClusterView(revision, now(), len(found), start, COLUMNS, page)
        case ("queues", name):
            view = two_teams.queue("vision", revision)
            node = msgspec.structs.replace(view.node, name=name, pending=PENDING + revision)
            return msgspec.structs.replace(view, node=node, waiting=_page(int(query.get("offset") or 0)))
        case ("queues", _, "starts"):
            return StartsView(())
    return two_teams.answer(path, query, revision)


def hostile(path: tuple[str, ...], query: dict[str, str], revision: int) -> msgspec.Struct:
    """Answer as the small cluster, but each name that people choose is markup or far too long."""
    match path:
        case ("queues", _):
            made: msgspec.Struct = two_teams.queue("vision", revision)
        case ("workloads", _, _):
            made = two_teams.workload("vision", "job-segment-7b-4f2a1", revision)
        case _:
            made = two_teams.answer(path, query, revision)
    if isinstance(made, ClusterView | QueueView | WorkloadView | PoliciesView | FoundWorkloads):
        return _spoiled(made)
    return made


def _many(revision: int) -> tuple[QuotaNode, ...]:
    nodes = []
    for cohort in range(COHORTS):
        each = QUEUES // COHORTS
        nodes.append(
            QuotaNode(
                f"cohort-{cohort:02}",
                "cohort",
                0,
                pending=PENDING // COHORTS,
                admitted=each * 3,
                cells=(QuotaCell(0, 0, each * 16, each * 12, each * 12, 0, 0, each * 4, each * 16),),
            )
        )
        for place in range(each):
            used = (place * 5 + cohort + revision) % 20
            cells = (
                QuotaCell(0, 16, 16, used, used, max(0, used - 16), 0, max(0, 16 - used), 40),
                QuotaCell(1, 8, 8, used // 4, used // 4, 0, 2, 2, 8),
            )
            name = f"queue-{cohort:02}-{place:02}"
            nodes.append(QuotaNode(name, "queue", 1, f"cohort-{cohort:02}", PENDING // QUEUES, 3, 4, 3, cells=cells))
    return tuple(nodes)


def _page(offset: int) -> WorkloadPage:
    row = two_teams.waiting(now())[0]
    rows = (
        msgspec.structs.replace(row, name=f"job-{place}", job=f"Job/train-{place}", position=place + 1, asks={GPU: 8})
        for place in range(offset, min(PENDING, offset + 50))
    )
    return WorkloadPage(PENDING, PENDING, offset, tuple(rows))


NAMES = {
    "name",
    "job",
    "user",
    "message",
    "localQueue",
    "clusterQueue",
    "by",
    "detail",
    "parent",
    "inactive",
    "reason",
    "file",
}


def _spoiled(made: msgspec.Struct) -> msgspec.Struct:
    count = 0

    def spoil(value: object) -> object:
        nonlocal count
        if isinstance(value, dict):
            spoiled = {}
            for key, inner in value.items():
                if key in NAMES and isinstance(inner, str) and inner:
                    count += 1
                    spoiled[key] = f"{HOSTILE}{count}" if count % 2 else f"{count}-{LONG}"
                else:
                    spoiled[key] = spoil(inner)
            return spoiled
        return [spoil(inner) for inner in value] if isinstance(value, list | tuple) else value

    return msgspec.json.decode(
        msgspec.json.encode(spoil(msgspec.json.decode(msgspec.json.encode(made)))), type=type(made)
    )
