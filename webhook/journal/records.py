"""The records of a journal, each written as a line of JSON.

A journal holds everything that changed the core's state: the initial facts, the events, and each call with its
decisions. Facts are those of `webhook.queue.model`: no image, command or environment variable of a pod is included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from webhook.queue.decisions import Admitted, Decisions, Evicted, Preempted
from webhook.queue.events import (
    AdmissionUnwritten,
    Definition,
    DefinitionChanged,
    DefinitionGone,
    Event,
    WorkloadChanged,
    WorkloadEvicted,
    WorkloadGone,
)
from webhook.queue.memory import Attempt, Memory, ParkedClass
from webhook.queue.model import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    Flavor,
    LocalQueue,
    Namespace,
    Snapshot,
    Workload,
)
from webhook.queue.pending.queue import FlavorProgress, HeadVerdict

VERSION: Final = 2
"""The version of the format; a reader rejects any other."""
DEFINITIONS: Final[Mapping[str, type[Definition]]] = {
    kind.__name__: kind for kind in (Flavor, ClusterQueue, Cohort, LocalQueue, Namespace, AdmissionCheck)
}


@dataclass(frozen=True, slots=True)
class Begin:
    """The start of a file, from which a replay can begin: the facts, and the memory of the state (`queue/memory.py`).

    `at` and all times are milliseconds since the epoch. `epoch` counts the leaders; `rules` are the names of the rules
    in force, `parameters` and `settings` their overrides, `digest` is that of all policies, `budget` the most heads
    looked at in one call.
    """

    at: int
    identity: str
    epoch: int
    rules: tuple[str, ...]
    parameters: Mapping[str, Any]
    settings: Mapping[str, Any]
    digest: str
    budget: int
    snapshot: Snapshot
    memory: Memory
    users: str = "keep"
    """Whether user names are kept or hashed (`heading.UserNames`)."""
    lease: str = ""
    """When the lease was created, by the API server's clock: with another, as after an uninstall, epochs begin anew."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A call of the core at a time, and its decisions, which may be empty."""

    now: int
    admitted: tuple[Admitted, ...] = ()
    preempted: tuple[Preempted, ...] = ()
    evicted: tuple[Evicted, ...] = ()
    ready: tuple[Admitted, ...] = ()

    @property
    def count(self) -> int:
        """How many decisions these are."""
        return len(self.admitted) + len(self.preempted) + len(self.evicted) + len(self.ready)


Record = Begin | Event | Decided


def decided(now: int, made: Decisions) -> Decided:
    """Return the decisions as a journal keeps them: changes only, not the heads that were looked at."""
    return Decided(now, made.admitted, made.preempted, made.evicted, made.ready)


def line_of(record: Record) -> bytes:
    """Return a record as one line, including the line break."""
    match record:
        case Begin():
            value = {"begin": VERSION, **_fields(record), "memory": _written(record.memory)}
        case Decided():
            value = {"decided": record.now, **{k: v for k, v in _fields(record).items() if v and k != "now"}}
        case WorkloadChanged(workload):
            value = {"workload": workload}
        case WorkloadGone(key):
            value = {"gone": "Workload", "key": key}
        case AdmissionUnwritten(key):
            value = {"unwritten": key}
        case WorkloadEvicted():
            value = {"evicted": record}
        case DefinitionChanged(definition):
            value = {"changed": type(definition).__name__, "to": definition}
        case DefinitionGone(kind, key):
            value = {"gone": kind.__name__, "key": key}
    return msgspec.json.encode(value) + b"\n"


def record_of(line: bytes) -> Record:
    """Read a line. Raises ValueError with what is wrong with it."""
    try:
        value = msgspec.json.decode(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("a record must be a JSON object")
    try:
        return _record(value)
    except KeyError as error:
        raise ValueError(f"the field {error} is missing, or its value unknown") from None
    except (TypeError, AttributeError) as error:
        raise ValueError(f"a field has the wrong type: {error}") from None


def _record(value: dict[str, Any]) -> Record:
    if "begin" in value:
        if value["begin"] != VERSION:
            raise ValueError(f"format {value['begin']} of the journal is unknown; this Sluice reads format {VERSION}")
        record = msgspec.convert({**value, "memory": _read(value["memory"])}, Begin)
        if unknown := record.memory.unknown_to(record.snapshot):
            raise ValueError(f"the memory is about {unknown}, which the snapshot does not contain")
        return record
    if "decided" in value:
        return msgspec.convert({**value, "now": value["decided"]}, Decided)
    if "workload" in value:
        return WorkloadChanged(msgspec.convert(value["workload"], Workload))
    if "unwritten" in value:
        return AdmissionUnwritten(msgspec.convert(value["unwritten"], str))
    if "evicted" in value:
        return msgspec.convert(value["evicted"], WorkloadEvicted)
    if "changed" in value:
        return DefinitionChanged(msgspec.convert(value["to"], DEFINITIONS[value["changed"]]))
    if value["gone"] == "Workload":
        return WorkloadGone(msgspec.convert(value["key"], str))
    return DefinitionGone(DEFINITIONS[value["gone"]], msgspec.convert(value["key"], str))


def _fields(record: Begin | Decided) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def _written(memory: Memory) -> dict[str, Any]:
    """Return a memory as plain JSON values: the pairs that are keys in it become lists, and shortages are left out."""
    attempts = {
        key: {"verdict": _verdict(attempt.verdict), "progress": _progress(attempt.progress)}
        for key, attempt in memory.attempts.items()
    }
    return {
        "now": memory.now,
        "cycle": memory.cycle,
        "generations": memory.generations,
        "attempts": attempts,
        "parked": _classes(memory.parked),
        "woken": _classes(memory.woken),
        "denied": {key: _verdict(verdict) for key, verdict in memory.denied.items()},
        "unsettled": sorted(memory.unsettled),
    }


def _classes(classes: Mapping[str, ParkedClass]) -> dict[str, Any]:
    return {
        key: {**{name: getattr(one, name) for name in one.__dataclass_fields__}, "verdict": _verdict(one.verdict)}
        for key, one in classes.items()
    }


def _verdict(verdict: HeadVerdict | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    return {name: getattr(verdict, name) for name in verdict.__dataclass_fields__ if name != "assignment"}


def _progress(progress: FlavorProgress | None) -> dict[str, Any] | None:
    if progress is None:
        return None
    tried = [[*group, at] for group, at in progress.tried.items()]
    return {"tried": tried, "cycle": progress.cycle, "generation": progress.generation}


def _read(value: Mapping[str, Any]) -> Memory:
    attempts = {
        key: Attempt(_verdict_of(one["verdict"]), _progress_of(one["progress"]))
        for key, one in value["attempts"].items()
    }
    denied = {key: _verdict_of(verdict) for key, verdict in value["denied"].items()}
    classes = _classes_of(value["parked"]), _classes_of(value["woken"])
    unsettled = frozenset(msgspec.convert(value["unsettled"], list[str]))
    now, cycle = msgspec.convert(value["now"], int), msgspec.convert(value["cycle"], int)
    generations = msgspec.convert(value["generations"], dict[str, int])
    return Memory(now, cycle, generations, attempts, *classes, denied, unsettled)


def _classes_of(value: Mapping[str, Any]) -> dict[str, ParkedClass]:
    return {
        key: ParkedClass(
            _verdict_of(one["verdict"]),
            msgspec.convert(one["watch"], tuple[tuple[int, int], ...]),
            *(msgspec.convert(one[name], bool) for name in ("preempts", "reclaims", "barred", "volatile")),
        )
        for key, one in value.items()
    }


def _verdict_of(value: dict[str, Any] | None) -> HeadVerdict | None:
    return None if value is None else msgspec.convert(value, HeadVerdict)


def _progress_of(value: dict[str, Any] | None) -> FlavorProgress | None:
    if value is None:
        return None
    tried = {(name, place): at for name, place, at in msgspec.convert(value["tried"], list[tuple[str, int, int]])}
    return FlavorProgress(tried, msgspec.convert(value["cycle"], int), msgspec.convert(value["generation"], int))
