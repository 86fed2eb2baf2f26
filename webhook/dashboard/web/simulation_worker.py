"""Runs a trace twice in a process of its own, for the one that serves: `python -m …`, the task pickled on stdin.

Writes a line for each step to stdout: `done` with the part that is done, then `result`, or `refused` with a sentence.
It takes what processor time is left over, and a bounded memory. It is started by `simulations.py`.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Final

import msgspec

from webhook.dashboard.model.simulation import SimulatedSeries
from webhook.dashboard.views.simulate import OtherQuota, run, with_quota
from webhook.diagnostics import SourceError
from webhook.documents import Document
from webhook.policy.queue_rules.configured import Configured
from webhook.policy.queue_rules.files import rules_configured
from webhook.policy_reload.compile_worker import NICE, bound_memory
from webhook.queue.model import Snapshot
from webhook.simulate.trace import Arrival

DONE: Final = b"done "
RESULT: Final = b"result "
REFUSED: Final = b"refused "
CHUNK: Final = 50
"""Objects of the task in one piece: whoever writes them gives way in between."""
OFTEN: Final = 100
"""Steps that are told of one run."""


@dataclass(frozen=True, slots=True)
class SimulationTask:
    """What is run: definitions and arrivals under the rules and quota of today, then under others.

    `names` are those of both runs; points are of `queue`, or of all for the empty name.
    """

    today: Snapshot
    arrivals: tuple[Arrival, ...]
    documents: tuple[Document, ...]
    rules: tuple[Configured, Configured]
    quota: OtherQuota | None
    queue: str
    names: tuple[str, str]


class BothSeries(msgspec.Struct, frozen=True):
    """What came of it."""

    today: SimulatedSeries
    other: SimulatedSeries


def pieces(task: SimulationTask) -> Iterator[bytes]:
    """Write a task in pieces."""
    parts: dict[str, Any] = {
        name: found for name in Snapshot.__slots__ if isinstance(found := getattr(task.today, name), tuple)
    }
    yield pickle.dumps(replace(task, today=_with(task.today, dict.fromkeys(parts, ())), arrivals=()))
    for name, objects in (*parts.items(), ("arrivals", task.arrivals)):
        for start in range(0, len(objects), CHUNK):
            yield pickle.dumps((name, objects[start:][:CHUNK]))
    yield pickle.dumps(None)


def read(source: BinaryIO) -> SimulationTask:
    """Read a task."""
    task: SimulationTask = pickle.load(source)  # noqa: S301 - written by our own parent
    parts: dict[str, list[Any]] = {}
    while (piece := pickle.load(source)) is not None:  # noqa: S301
        parts.setdefault(piece[0], []).extend(piece[1])
    arrivals = tuple(parts.pop("arrivals", ()))
    return replace(task, today=_with(task.today, parts), arrivals=arrivals)


def _with(facts: Snapshot, parts: Mapping[str, Any]) -> Snapshot:
    filled: dict[str, Any] = {name: tuple(found) for name, found in parts.items()}
    return replace(facts, **filled)


def both(task: SimulationTask, tell: Callable[[float], None]) -> BothSeries:
    """Run both; `tell` hears which part is done. Raises SourceError, ValueError where rules or quota cannot be used."""
    other = task.today if task.quota is None else with_quota(task.today, task.quota)
    first, second = (rules_configured(task.documents, wanted) for wanted in task.rules)
    arrivals = task.arrivals
    every = max(1, len(arrivals) // OFTEN)

    def half(begun: float) -> Callable[[int], None]:
        return lambda jobs: None if jobs % every else tell(begun + jobs / len(arrivals) / 2)

    today = run(task.names[0], task.today, first, arrivals, task.queue, half(0.0))
    return BothSeries(today, run(task.names[1], other, second, arrivals, task.queue, half(0.5)))


def main() -> None:
    """Read the task, and write what comes of it."""
    os.nice(NICE)
    bound_memory()
    task = read(sys.stdin.buffer)
    gc.disable()  # what is made stays until the end
    out = sys.stdout.buffer

    def tell(part: float) -> None:
        out.write(DONE + f"{part:.3f}\n".encode())
        out.flush()

    try:
        out.write(RESULT + msgspec.json.encode(both(task, tell)) + b"\n")
    except (SourceError, ValueError) as error:
        out.write(REFUSED + msgspec.json.encode(str(error)) + b"\n")
    out.flush()
    os._exit(0)  # nothing is left to be put in order


if __name__ == "__main__":
    main()
