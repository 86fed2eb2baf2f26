"""Parses the rows of a trace file: CSV, JSON lines and SWF, each row with the places of its columns."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from webhook import documents
from webhook.diagnostics import Diagnostic, Place, SourceError

SWF_FIELDS: Final = 18
_CSV_FIELD: Final = re.compile(r'("(?:[^"]|"")*"|[^,]*)(?:,|$)')
_WORD: Final = re.compile(r"\S+")
Span = tuple[int, int]
"""A column from 1, and a length in characters."""


class RowError(ValueError):
    """A row of a trace, or its value in `column`, is not valid; `hint` is the way out."""

    def __init__(self, message: str, column: str = "", hint: str = "") -> None:
        super().__init__(f'column "{column}": {message}' if column else message)
        self.column, self.hint = column, hint


@dataclass(frozen=True, slots=True)
class TraceRow:
    """A line of a trace. `values` are by column: None where the line says nothing, an error where it is not a row.

    `spans` finds the columns in the line.
    """

    line: int
    source: str
    values: Mapping[str, Any] | RowError | None
    spans: Callable[[], Mapping[str, Span]]

    def diagnostic(self, file: str, error: RowError) -> Diagnostic:
        """Return what is wrong with the row, at its column."""
        place = Place(file, self.line, *self.spans().get(error.column, (1, 0)))
        return Diagnostic("TRACE001", place, str(error), source=self.source, hint=error.hint)


def rows_of(text: str, file: str) -> Iterator[TraceRow]:
    """Read the lines of a trace by the ending of its name: `.csv`, `.swf`, else JSON lines."""
    reader = _swf if file.endswith(".swf") else _csv if file.endswith(".csv") else _json_lines
    return reader(text)


def _csv(text: str) -> Iterator[TraceRow]:
    lines = text.split("\n")
    reader = csv.DictReader(io.StringIO(text))
    try:
        names = tuple(reader.fieldnames or ())
        if twice := next((name for name in names if names.count(name) > 1), None):
            yield TraceRow(1, lines[0], RowError("there is another column of this name", twice), dict)
        for row in reader:
            source = lines[reader.line_num - 1].rstrip("\r")
            values = RowError("more fields than columns") if None in row else row
            yield TraceRow(reader.line_num, source, values, partial(_csv_spans, source, names))
    except csv.Error as error:
        line, ends = reader.line_num + 1, "new-line" in str(error)
        told = "a line has a carriage return inside it" if ends else str(error)
        hint = "end lines with a line feed" if ends else "a quote that is not closed takes in the lines that follow it"
        yield TraceRow(line, lines[min(line, len(lines)) - 1], RowError(f"not CSV: {told}", hint=hint), dict)


def _csv_spans(line: str, names: tuple[str, ...]) -> Mapping[str, Span]:
    """Return the places of the fields; of a row that goes over several lines they are not known."""
    found = [(match.start(1) + 1, len(match[1])) for match in _CSV_FIELD.finditer(line)]
    return dict(zip(names, found, strict=False)) if len(found) >= len(names) else {}


def _json_lines(text: str) -> Iterator[TraceRow]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield TraceRow(number, line, _json_row(line), partial(_json_spans, line))


def _json_row(line: str) -> Mapping[str, Any] | RowError:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        return RowError(f"not JSON: {error.msg}")
    except (RecursionError, ValueError):  # nested too deeply, or a number of thousands of digits
        return RowError("not JSON that can be read: a number is too long, or lists are nested too deeply")
    return row if isinstance(row, dict) else RowError("a line must be a JSON object")


def _json_spans(line: str) -> Mapping[str, Span]:
    """Return the places of the fields of a line, and of the resources under `requests`."""
    try:
        (document,) = documents.read(line)
    except (SourceError, ValueError):
        return {}
    found = sorted(document.nodes.items(), key=lambda item: len(item[0]), reverse=True)
    return {str(path[-1]): (node.column, node.end_column - node.column) for path, node in found if path}


def _swf(text: str) -> Iterator[TraceRow]:
    """Read the Standard Workload Format: one processor is one CPU of one pod; jobs that never ran are left out.

    Source: Chapin et al., "Benchmarks and Standards for the Evaluation of Parallel Job Schedulers", version 2.
    """
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split()
        if not fields or fields[0].startswith(";"):
            continue
        values: Mapping[str, Any] | RowError | None
        try:
            values = _swf_row(fields)
        except RowError as error:
            values = error
        yield TraceRow(number, line, values, partial(_swf_spans, line))


def _swf_spans(line: str) -> Mapping[str, Span]:
    return {str(at): (match.start() + 1, len(match[0])) for at, match in enumerate(_WORD.finditer(line), 1)}


def _swf_row(fields: list[str]) -> Mapping[str, Any] | None:
    """Read the fields of a line, which the format numbers from 1."""
    if len(fields) < SWF_FIELDS:
        raise RowError(f"{len(fields)} fields; the Standard Workload Format has {SWF_FIELDS}")
    allocated, asked, memory, user, queue = (int(_number(fields, at)) for at in (5, 8, 10, 12, 15))
    processors = asked if asked > 0 else allocated
    if _number(fields, 4) <= 0 or processors <= 0:
        return None
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


def _number(fields: list[str], at: int) -> float:
    try:
        found = float(fields[at - 1])
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise RowError(f'"{fields[at - 1]}" is not a number', str(at))
    return found
