"""Every answer about the cluster of two teams."""

import msgspec

from tests.dashboard.browser.two_teams.jobs import what_if, workload
from tests.dashboard.browser.two_teams.queues import (
    COLUMNS,
    nodes,
    now,
    queue,
    running,
    waiting,
)
from tests.dashboard.browser.two_teams.rules import policies, simulation, trace
from webhook.dashboard.model.queues import (
    ClusterView,
    FoundWorkloads,
    StartRow,
    StartsView,
)
from webhook.dashboard.model.session import SessionView
from webhook.dashboard.model.simulation import ProgressView


def session() -> SessionView:
    """Whoever asks may see all."""
    return SessionView(
        "read-only",
        "0.1.0",
        leads=True,
        rules=("kueue", "time-window"),
        history="journal",
        may=("cluster", "policies", "simulate"),
    )


def answer(path: tuple[str, ...], query: dict[str, str], revision: int) -> msgspec.Struct:
    """The answer to a question; KeyError where there is none."""
    match path:
        case ("session",):
            return session()
        case ("cluster",):
            found = nodes(revision)
            return ClusterView(revision, now(), len(found), 0, COLUMNS, found)
        case ("queues", name):
            return queue(name, revision)
        case ("workloads", namespace, name):
            return workload(namespace, name, revision)
        case ("queues", name, "starts"):
            rows = queue(name, revision).waiting.rows
            return StartsView(tuple(StartRow(f"{r.namespace}/{r.name}", r.start, r.start_unknown) for r in rows))
        case ("workloads", namespace, name, "start"):
            row = workload(namespace, name, revision).workload
            return StartRow(f"{namespace}/{name}", row.start, row.start_unknown)
        case ("workloads", _, _, "what-if"):
            return what_if(query, revision)
        case ("policies",):
            return policies()
        case ("simulate",):
            return simulation(query)
        case ("simulate", "progress"):
            return ProgressView(0.4)
        case ("trace",):
            return trace()
        case ("find",):
            rows = [row for row in (*waiting(now()), *running(now())) if query["text"] in row.name + row.job]
            names = [n.name for n in nodes(revision) if n.kind == "queue" and query["text"] in n.name]
            return FoundWorkloads(tuple(names), tuple(rows))
    raise KeyError(path)
