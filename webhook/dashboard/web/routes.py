"""What is answered with JSON: the paths, what their queries may set, and who makes each answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from webhook.dashboard.model.json_view import JsonView
from webhook.dashboard.model.policies import PoliciesView
from webhook.dashboard.model.queues import ClusterView, FoundWorkloads, QueueView, StartRow, StartsView
from webhook.dashboard.model.simulation import ProgressView, SimulationView, TraceView
from webhook.dashboard.model.workloads import WhatIf, WorkloadView
from webhook.dashboard.web.access import PageReader
from webhook.dashboard.web.long_work import LongWork
from webhook.dashboard.web.query import FieldError, Query


@dataclass(frozen=True, slots=True)
class Question:
    """Who asks, with the names in the path and the query."""

    reader: PageReader
    names: Mapping[str, str]
    query: Query


@dataclass(frozen=True, slots=True)
class Route:
    """A path (names in braces), the answer's type, what the query may set, and what makes the answer."""

    path: str
    view: type[JsonView]
    query: tuple[str, ...]
    make: Callable[[LongWork, Question], Awaitable[JsonView]]

    def names(self, path: str) -> dict[str, str] | None:
        """Return the names in a path of this form; None where it is of another."""
        wanted, given = self.path.split("/"), path.split("/")
        if len(wanted) != len(given):
            return None
        pairs = list(zip(wanted, given, strict=True))
        if not all(mine == theirs or (mine.startswith("{") and theirs) for mine, theirs in pairs):
            return None
        return {mine[1:-1]: unquote(theirs) for mine, theirs in pairs if mine.startswith("{")}


ROUTES: Final = (
    Route(
        "/ui/api/cluster", ClusterView, ("filter", "offset", "limit"), lambda w, q: w.views.cluster(q.reader, q.query)
    ),
    Route(
        "/ui/api/queues/{name}",
        QueueView,
        ("offset", "running-offset", "limit", "namespace", "since"),
        lambda w, q: w.views.queue(q.reader, q.names["name"], q.query),
    ),
    Route(
        "/ui/api/workloads/{namespace}/{name}",
        WorkloadView,
        ("kind",),
        lambda w, q: w.views.workload(q.reader, q.names["namespace"], q.names["name"], q.query),
    ),
    Route(
        "/ui/api/workloads/{namespace}/{name}/what-if",
        WhatIf,
        ("kind", "resource", "gpus", "queue", "priority"),
        lambda w, q: w.what_if(q.reader, q.names["namespace"], q.names["name"], q.query),
    ),
    Route(
        "/ui/api/queues/{name}/starts",
        StartsView,
        ("offset", "limit", "namespace"),
        lambda w, q: w.views.starts(q.reader, q.names["name"], q.query),
    ),
    Route(
        "/ui/api/workloads/{namespace}/{name}/start",
        StartRow,
        ("kind",),
        lambda w, q: w.views.start(q.reader, q.names["namespace"], q.names["name"], q.query),
    ),
    Route("/ui/api/find", FoundWorkloads, ("text",), lambda w, q: w.views.find(q.reader, q.query)),
    Route("/ui/api/policies", PoliciesView, (), lambda w, q: w.views.policies(q.reader)),
    Route("/ui/api/trace", TraceView, (), lambda w, q: w.trace(q.reader)),
    Route(
        "/ui/api/simulate",
        SimulationView,
        ("queue", "flavor", "resource", "quota", "rules"),
        lambda w, q: w.simulate(q.reader, q.query),
    ),
    Route("/ui/api/simulate/progress", ProgressView, (), lambda w, q: w.progress(q.reader)),
)


def asked(path: str, reader: PageReader, query: Query) -> tuple[Route, Question] | None:
    """Return the route of a path, and what is asked there; None where there is none. Raises FieldError."""
    for route in ROUTES:
        names = route.names(path)
        if names is not None:
            if unknown := [name for name in query if name not in route.query]:
                raise FieldError(unknown[0], f"unknown parameter {unknown[0][:40]}")
            return route, Question(reader, names, query)
    return None
