"""A trace: which work arrives when, for how long it runs, and what it asks for. CSV, JSON lines and SWF.

A trace says nothing about quota; the queues come from state files, or with the trace from a generator file.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.api.amounts import amount
from webhook.diagnostics import Diagnostic, Place, SourceError
from webhook.kube.quantity import QuantityError

UNITS: Final = {"ms": 1, "s": 1000, "": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|d|)")
COLUMNS: Final = ("time", "queue", "run", "name", "namespace", "priority", "count", "min", "class", "user")
SWF_FIELDS: Final = 18


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


def milliseconds(text: object) -> int:
    """Read a time such as `200ms`, `1.5s`, `10m`, or a number of seconds. Raises ValueError."""
    match = DURATION.fullmatch(str(text).strip())
    if match is None:
        raise ValueError(f'"{text}" is not a valid time; use 200ms, 1.5s, 10m, 2h or seconds')
    return round(float(match[1]) * UNITS[match[2]])


def read_trace(text: str, file: str) -> list[Arrival]:
    """Read a trace by its name's ending: `.csv`, `.swf`, else JSON lines; in order of arrival.

    Raises SourceError (`TRACE001`) with every line that cannot be read.
    """
    reader = _swf if file.endswith(".swf") else _csv if file.endswith(".csv") else _json_lines
    arrivals: list[Arrival] = []
    wrong: list[Diagnostic] = []
    for line, row in reader(text):
        try:
            if isinstance(row, ValueError):
                raise row
            if row is not None:
                arrivals.append(arrival(row, line))
        except (ValueError, TypeError, QuantityError) as error:
            wrong.append(Diagnostic("TRACE001", Place(file, line, 1), str(error)))
    if wrong:
        raise SourceError(wrong)
    return sorted(arrivals, key=lambda a: (a.at, a.namespace, a.name))


def arrival(row: Mapping[str, Any], line: int) -> Arrival:
    """Read one row; columns that are none of `COLUMNS` are resources of one pod. Raises ValueError."""
    given = {k: v for k, v in row.items() if k and v not in (None, "")}
    if missing := [c for c in ("time", "queue", "run") if c not in given]:
        raise ValueError(f"no {', '.join(missing)}; time, queue and run are required")
    requests = {**given.pop("requests", {}), **{k: v for k, v in given.items() if k not in COLUMNS}}
    return Arrival(
        at=milliseconds(given["time"]),
        run=milliseconds(given["run"]),
        namespace=str(given.get("namespace", "default")),
        queue=str(given["queue"]),
        name=str(given.get("name", f"job-{line}")),
        requests={name: amount(name, value) for name, value in requests.items()},
        count=int(given.get("count", 1)),
        least=int(given["min"]) if "min" in given else None,
        priority=int(given.get("priority", 0)),
        group=str(given.get("class", "")),
        user=str(given.get("user", "")),
    )


Row = tuple[int, Mapping[str, Any] | ValueError | None]


def _csv(text: str) -> Iterator[Row]:
    reader = csv.DictReader(io.StringIO(text))
    for row in reader:
        if None in row:
            yield reader.line_num, ValueError("more fields than columns")
        else:
            yield reader.line_num, row


def _json_lines(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            yield number, ValueError(f"not JSON: {error.msg}")
            continue
        yield number, row if isinstance(row, dict) else ValueError("a line must be a JSON object")


def _swf(text: str) -> Iterator[Row]:
    """Read the Standard Workload Format: one processor is one CPU of one pod; jobs that never ran are left out.

    Source: Chapin et al., "Benchmarks and Standards for the Evaluation of Parallel Job Schedulers", version 2.
    """
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split()
        if not fields or fields[0].startswith(";"):
            continue
        try:
            yield number, _swf_row(fields)
        except ValueError as error:
            yield number, error


def _swf_row(fields: list[str]) -> Mapping[str, Any] | None:
    if len(fields) < SWF_FIELDS:
        raise ValueError(f"{len(fields)} fields; the Standard Workload Format has {SWF_FIELDS}")
    allocated, asked, user, queue = (int(fields[i]) for i in (4, 7, 11, 14))
    processors = asked if asked > 0 else allocated
    if float(fields[3]) <= 0 or processors <= 0:
        return None
    memory = int(float(fields[9]))
    return {
        "time": fields[1],
        "run": fields[3],
        "name": f"job-{fields[0]}",
        "queue": f"q{max(queue, 0)}",
        "user": f"u{user}",
        "class": f"q{max(queue, 0)}",
        "count": processors,
        "requests": {"cpu": 1, **({"memory": memory * 1024} if memory > 0 else {})},
    }
