"""Makes queues and arrivals from one generator file: cohorts of equal queues, and classes of jobs that arrive in each.

It corresponds to the generator of Kueue's performance runner; arrivals are at fixed intervals, not random.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.diagnostics import Diagnostic, SourceError, did_you_mean
from webhook.documents import Document
from webhook.queue.model import (
    WEIGHT,
    BorrowWithinCohort,
    ClusterQueue,
    Cohort,
    Flavor,
    FlavorQuotas,
    LocalQueue,
    Namespace,
    Preemption,
    Quota,
    ResourceGroup,
    Snapshot,
)
from webhook.simulate.trace import Arrival, milliseconds, quantity

Path = tuple[str | int, ...]
MOST: Final = 1_000_000
"""Of cohorts, queues or jobs of one entry."""
FLAVOR: Final = "default"
NAMESPACE: Final = "default"
COHORT: Final = ("name", "count", "queues")
QUEUE: Final = ("name", "count", "quota", "weight", "strategy", "preemption", "workloads")
QUOTA: Final = ("nominal", "borrowingLimit", "lendingLimit")
PREEMPTION: Final = ("withinClusterQueue", "reclaimWithinCohort", "borrowWithinCohort", "maxPriorityThreshold")
WORDS: Final = {
    "strategy": ("BestEffortFIFO", "StrictFIFO"),
    "withinClusterQueue": ("Never", "LowerPriority", "LowerOrNewerEqualPriority"),
    "reclaimWithinCohort": ("Never", "LowerPriority", "Any"),
    "borrowWithinCohort": ("Never", "LowerPriority"),
}
"""The values of fields that have only some; the first is the one of a field that is left out."""
CLASS: Final = ("class", "count", "every", "start", "run", "priority", "requests", "pods", "user")


@dataclass(frozen=True, slots=True)
class Generated:
    """Queues, and what arrives in them."""

    snapshot: Snapshot
    arrivals: tuple[Arrival, ...]


def generate(document: Document) -> Generated:
    """Make queues and arrivals of a generator file. Raises SourceError (`TRACE004`) with the place of each mistake."""
    return _Generator(document).run()


class _Generator:
    """One file: collects mistakes, and makes as much as it can."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.wrong: list[Diagnostic] = []
        self.queues: list[ClusterQueue] = []
        self.cohorts: list[Cohort] = []
        self.arrivals: list[Arrival] = []

    def run(self) -> Generated:
        for path, cohort in self.items((), self.document.value, "cohorts", COHORT):
            for i in range(self.number(path, cohort, "count", 1)):
                name = f"{self.name(path, cohort, 'name', 'cohort')}-{i}"
                self.cohorts.append(Cohort(name))
                for at, queue in self.items(path, cohort, "queues", QUEUE):
                    self.add_queues(at, queue, name)
        if self.wrong:
            raise SourceError(dict.fromkeys(self.wrong))
        doors = tuple(LocalQueue(NAMESPACE, q.name, q.name) for q in self.queues)
        snapshot = Snapshot((Flavor(FLAVOR),), tuple(self.queues), tuple(self.cohorts), doors, (Namespace(NAMESPACE),))
        return Generated(snapshot, tuple(sorted(self.arrivals, key=lambda a: (a.at, a.queue, a.name))))

    def add_queues(self, path: Path, queue: Mapping[str, Any], cohort: str) -> None:
        for i in range(self.number(path, queue, "count", 1)):
            name = f"{cohort}-{self.name(path, queue, 'name', 'queue')}-{i}"
            quotas = {
                resource: self.quota((*path, "quota", resource), resource, quota)
                for resource, quota in self.map(path, queue, "quota").items()
            }
            group = ResourceGroup(tuple(quotas), (FlavorQuotas(FLAVOR, quotas),))
            self.queues.append(
                ClusterQueue(
                    name,
                    cohort,
                    (group,),
                    queueing_strategy=self.word(path, queue, "strategy"),
                    preemption=self.preemption((*path, "preemption"), self.map(path, queue, "preemption")),
                    weight=self.weight(path, queue),
                )
            )
            for at, work in self.items(path, queue, "workloads", CLASS):
                self.arrivals.extend(self.work(at, work, name))

    def work(self, path: Path, work: Mapping[str, Any], queue: str) -> Iterator[Arrival]:
        group, user = self.name(path, work, "class", "work"), self.name(path, work, "user", "")
        every, start, run = (self.time(path, work, name) for name in ("every", "start", "run"))
        requests = self.requests((*path, "requests"), self.map(path, work, "requests"))
        pods, priority = self.number(path, work, "pods", 1), self.number(path, work, "priority", 0, -MOST)
        if pods == 0:
            self.mistake((*path, "pods"), "a job has at least one pod")
        for i in range(self.number(path, work, "count", 1)):
            name = f"{queue}-{group}-{i}"
            yield Arrival(start + i * every, run, NAMESPACE, queue, name, requests, pods, None, priority, group, user)

    def quota(self, path: Path, resource: str, given: Any) -> Quota:
        if not isinstance(given, Mapping):
            given = {"nominal": given}
        self.known(path, given, QUOTA)
        read = {name: self.amount((*path, name), resource, given[name]) for name in QUOTA if name in given}
        return Quota(read.get("nominal", 0), read.get("borrowingLimit"), read.get("lendingLimit"))

    def preemption(self, path: Path, given: Mapping[str, Any]) -> Preemption:
        self.known(path, given, PREEMPTION)
        within, reclaim, borrow = (self.word(path, given, name) for name in PREEMPTION[:3])
        most = None
        if given.get("maxPriorityThreshold") is not None:
            most = self.number(path, given, "maxPriorityThreshold", 0, -(2**31), 2**31)
        return Preemption(within, reclaim, BorrowWithinCohort(borrow, most))

    def requests(self, path: Path, given: Mapping[str, Any]) -> dict[str, int]:
        return {name: self.amount((*path, name), name, value) for name, value in given.items()}

    def amount(self, path: Path, resource: str, value: Any) -> int:
        try:
            return quantity(resource, value)
        except ValueError as error:
            self.mistake(path, str(error))
            return 0

    def time(self, path: Path, given: Mapping[str, Any], name: str) -> int:
        try:
            return milliseconds(given.get(name, 0))
        except ValueError as error:
            self.mistake((*path, name), str(error))
            return 0

    def number(
        self, path: Path, given: Mapping[str, Any], name: str, default: int, least: int = 0, most: int = MOST
    ) -> int:
        value = given.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self.mistake((*path, name), f'"{value}" is not a whole number from {least:,} to {most:,}')
            return default
        return value

    def weight(self, path: Path, given: Mapping[str, Any]) -> int:
        value = given.get("weight", 1)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
            self.mistake((*path, "weight"), f'"{value}" is not a number from 0 to {MOST:,}')
            return WEIGHT
        return round(value * WEIGHT)

    def word(self, path: Path, given: Mapping[str, Any], name: str) -> str:
        value, known = given.get(name, WORDS[name][0]), WORDS[name]
        if value not in known:
            self.mistake((*path, name), f'"{value}" is not one of {", ".join(known)}')
            return known[0]
        return str(value)

    def name(self, path: Path, given: Mapping[str, Any], name: str, default: str) -> str:
        value = given.get(name, default)
        if isinstance(value, bool) or not isinstance(value, str | int):
            self.mistake((*path, name), f"{name} must be a string")
        return str(value)

    def map(self, path: Path, given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        found = given.get(name)
        if found is None or isinstance(found, Mapping):
            return found or {}
        self.mistake((*path, name), f"{name} must be a map")
        return {}

    def items(self, path: Path, parent: Any, name: str, known: tuple[str, ...]) -> Iterator[tuple[Path, Any]]:
        found = parent.get(name) if isinstance(parent, Mapping) else None
        if not isinstance(found, list):
            self.mistake((*path, name), f"{name} must be a list")
            return
        for i, item in enumerate(found):
            if not isinstance(item, Mapping):
                self.mistake((*path, name, i), f"an item of {name} must be a map")
                continue
            self.known((*path, name, i), item, known)
            yield (*path, name, i), item

    def known(self, path: Path, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for name in given:
            if name not in known:
                hint = did_you_mean(name, known) or f"known: {', '.join(known)}"
                self.wrong.append(
                    self.document.diagnostic("TRACE004", (*path, name), f'no field "{name}"', key=True, hint=hint)
                )

    def mistake(self, path: Path, message: str) -> None:
        self.wrong.append(self.document.diagnostic("TRACE004", path, message))
