"""Reads a trace of arrivals: when each job arrives, how long it runs, and its request. CSV, JSON lines and SWF.

A trace says nothing about quota; the queues come from state files, or with the trace from a generator file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from webhook.api.amounts import amount, from_nanos, texts, to_nanos
from webhook.api.configuration.sections import ResourceSettings
from webhook.api.durations import duration_ms
from webhook.api.transformations import counted
from webhook.diagnostics import Diagnostic, SourceError
from webhook.kube.quantity import QuantityError
from webhook.queue.model import Workload
from webhook.queue.quota.usage_by_owner import requests_of
from webhook.simulate.trace_rows import RowError, rows_of

COLUMNS: Final = ("time", "queue", "run", "name", "namespace", "priority", "count", "min", "class", "user")
_LISTED: Final = f"listed columns: {', '.join(COLUMNS)}"
_SECONDS: Final = re.compile(r"[0-9]+(\.[0-9]+)?")
_MOST: Final = 2**63
_WHOLE: Final = re.compile(r"-?[0-9]{1,10}")
_LARGEST: Final = 2**31 - 1
"""Of a number of pods and of a priority: Kubernetes has 32 bits for each."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One job of a trace. Times are milliseconds from the start of the trace; `requests` are those of one pod."""

    at: int
    run: int
    namespace: str
    queue: str
    name: str
    requests: Mapping[str, int]
    count: int = 1
    least: int | None = None
    priority: int = 0
    group: str = ""
    user: str = ""


def milliseconds(value: object) -> int:
    """Read a time of a trace: a duration such as `10m`, or a number of seconds. Raises ValueError."""
    text = str(value).strip()
    try:
        return round(float(text) * 1000) if _SECONDS.fullmatch(text) else duration_ms(text)
    except OverflowError:
        raise ValueError(f'"{text[:12]}..." is too large; give a duration such as 90s') from None


def quantity(resource: str, value: Any) -> int:
    """Read a quantity as the core's number. Raises ValueError."""
    try:
        found = amount(resource, value)
    except (QuantityError, TypeError, AttributeError):
        raise ValueError(f'"{value}" is not a quantity') from None
    if found < 0:
        raise ValueError(f'"{value}" is less than 0')
    if found > _MOST:
        raise ValueError(f'"{str(value)[:12]}..." is too large')
    return found


def as_counted(arrival: Arrival, resources: ResourceSettings) -> Arrival:
    """Return an arrival that requests what quota counts: without excluded resources, and transformed.

    A trace that was recorded has it already: a transformation whose outputs the arrival requests is not done again.
    """
    asked = arrival.requests
    left = tuple(each for each in resources.transformations if asked.keys().isdisjoint(each.outputs))
    made = counted({r: to_nanos(r, n) for r, n in asked.items()}, replace(resources, transformations=left))
    return replace(arrival, requests={r: from_nanos(r, n) for r, n in made.items()})


def read_trace(text: str, file: str) -> list[Arrival]:
    """Read a trace by its name's ending: `.csv`, `.swf`, else JSON lines; in order of arrival.

    Raises SourceError (`TRACE001`) with every line that cannot be read, at the column that is wrong.
    """
    arrivals: list[Arrival] = []
    wrong: list[Diagnostic] = []
    for row in rows_of(text, file):
        try:
            if isinstance(row.values, RowError):
                raise row.values
            if row.values is not None:
                arrivals.append(arrival(row.values, row.line))
        except RowError as error:
            wrong.append(row.diagnostic(file, error))
    if wrong:
        raise SourceError(wrong)
    return sorted(arrivals, key=lambda a: (a.at, a.namespace, a.name))


def arrival(row: Mapping[str, Any], line: int) -> Arrival:
    """Read one row; columns that are none of `COLUMNS` are resources of one pod. Raises RowError."""
    given = {k: v for k, v in row.items() if k and v not in (None, "")}
    if missing := [c for c in ("time", "queue", "run") if c not in given]:
        raise RowError(f"no {', '.join(missing)}; time, queue and run are required")
    requests = given.pop("requests", {})
    if not isinstance(requests, Mapping):
        raise RowError("must be a map from resources to quantities", "requests")
    asked = {**requests, **{k: v for k, v in given.items() if k not in COLUMNS}}
    for column, value in {**given, **asked}.items():
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise RowError(f"{json.dumps(value, ensure_ascii=False)} is neither a string nor a number", str(column))
    return Arrival(
        at=_time(given, "time"),
        run=_time(given, "run"),
        namespace=str(given.get("namespace", "default")),
        queue=str(given["queue"]),
        name=str(given.get("name", f"job-{line}")),
        requests={str(name): _quantity(str(name), value) for name, value in asked.items()},
        count=_whole(given, "count") if "count" in given else 1,
        least=_whole(given, "min") if "min" in given else None,
        priority=_whole(given, "priority", -_LARGEST - 1) if "priority" in given else 0,
        group=str(given.get("class", "")),
        user=str(given.get("user", "")),
    )


def arrival_of(workload: Workload, at: int, run: int) -> Arrival:
    """Return a workload as it arrives at a time and runs; several pod sets become one pod with their total request."""
    count, least, requests = 1, None, requests_of(workload)
    if len(workload.pod_sets) == 1:
        (pods,) = workload.pod_sets
        count, least, requests = pods.count, pods.min_count, dict(pods.requests)
    return Arrival(
        at=at, run=run, namespace=workload.namespace, queue=workload.queue_name, name=workload.name,
        requests=requests, count=count, least=least, priority=workload.priority, group=workload.priority_class,
        user=workload.user,
    )  # fmt: skip


def row_of(arrival: Arrival) -> dict[str, Any]:
    """Return an arrival as a row of a trace, which `arrival` reads."""
    return {
        "time": f"{arrival.at}ms",
        "run": f"{arrival.run}ms",
        "namespace": arrival.namespace,
        "queue": arrival.queue,
        "name": arrival.name,
        "priority": arrival.priority,
        "count": arrival.count,
        "requests": texts(arrival.requests),
        **({"min": arrival.least} if arrival.least is not None else {}),
        **({"user": arrival.user} if arrival.user else {}),
        **({"class": arrival.group} if arrival.group else {}),
    }


def _time(given: Mapping[str, Any], column: str) -> int:
    try:
        return milliseconds(given[column])
    except ValueError as error:
        raise RowError(f"{error}, or a number of seconds", column) from None


def _quantity(resource: str, value: Any) -> int:
    try:
        return quantity(resource, value)
    except ValueError as error:
        raise RowError(f"{error}; every column that is not listed is a resource", resource, _LISTED) from None


def _whole(given: Mapping[str, Any], column: str, least: int = 1) -> int:
    value = given[column]
    if isinstance(value, bool) or not _WHOLE.fullmatch(str(value)) or not least <= int(value) <= _LARGEST:
        raise RowError(f'"{value}" is not a whole number from {least:,} to {_LARGEST:,}', column)
    return int(value)
