"""Searches for a random cluster that breaks a law, and shrinks it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import Any, Final

from webhook.api.snapshot.reader import MALFORMED, snapshot
from webhook.offline.laws.checks import LAWS, QueueLaw, give_back
from webhook.offline.laws.clusters import NOW, Object, at_present
from webhook.queue.cycle.decide import decide
from webhook.queue.events import WorkloadChanged
from webhook.queue.rules import Rules
from webhook.queue.state import State

TRIED_CLUSTERS: Final = 25
"""Clusters a law is tried on where nobody says how many."""
_STEPS: Final = 600
"""Tries that making a counterexample smaller may take."""
_OPTIONAL: Final = ("cohortName", "parentName", "queueingStrategy", "preemption", "flavorFungibility", "fairSharing")


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A cluster that breaks a law, and how."""

    why: str
    objects: list[Object]


def counterexample(law: str, rules: Rules, examples: int = TRIED_CLUSTERS) -> Counterexample | None:
    """Look for a small cluster that breaks a law, among so many random ones, always the same; None where none does."""
    tried = LAWS[law]
    for seed in range(examples):
        random = Random(f"{law} {seed}")  # noqa: S311  the same each time is what is wanted
        objects = tried.cluster(random)
        if tried.settled:
            objects = _settled(objects, rules)
        if why := tried.broken(objects, rules):
            small = _smaller(objects, tried, rules)
            return Counterexample(tried.broken(small, rules) or why, small)
    return None


def _settled(objects: Sequence[Object], rules: Rules) -> list[Object]:
    """Let the first half of the Workloads start as the rules say, and the rest wait."""
    given = snapshot(objects)
    first = given.workloads[: len(given.workloads) // 2]
    state = State.from_snapshot(replace(given, workloads=first))
    for at in range(3):
        give_back(state, decide(state, rules, NOW - 3600_000 + at))
    for late in given.workloads[len(first) :]:
        state.apply(WorkloadChanged(late))
    return at_present(objects, state.snapshot())


def _smaller(objects: list[Object], law: QueueLaw, rules: Rules) -> list[Object]:
    """Leave out and make smaller what the law is broken without, as long as something can be."""
    left = _STEPS

    def breaks(tried: list[Object]) -> bool:
        nonlocal left
        left -= 1
        try:
            return left >= 0 and bool(law.broken(tried, rules))
        except MALFORMED:  # it cannot be read any more, so it is no counterexample
            return False

    at, changed = 0, False
    while left > 0:
        tried = next(islice(_simpler(objects), at, None), None)
        if tried is None and not changed:
            break
        if tried is None:
            at, changed = 0, False
        elif breaks(tried):
            objects, changed = tried, True
        else:
            at += 1
    return objects


def _simpler(objects: list[Object]) -> Iterator[list[Object]]:
    """Yield clusters that are a little simpler, the simplest first."""
    for kind in ("Workload", "ClusterQueue", "Cohort", "ResourceFlavor"):
        for at, obj in enumerate(objects):
            if obj["kind"] == kind:
                yield [o for other, o in enumerate(objects) if other != at and not _leads_to(o, obj)]
    for at, obj in enumerate(objects):
        for simpler in _simpler_object(obj):
            yield [*objects[:at], simpler, *objects[at + 1 :]]


def _leads_to(obj: Object, queue: Object) -> bool:
    name = queue["metadata"]["name"] if queue["kind"] == "ClusterQueue" else None
    leads: bool = obj["kind"] == "LocalQueue" and obj["spec"]["clusterQueue"] == name
    return leads


def _simpler_object(obj: Object) -> Iterator[Object]:
    for key in _OPTIONAL:
        if key in obj.get("spec", {}):
            yield _without(obj, "spec", key)
    if obj["kind"] == "Workload" and "status" not in obj:
        yield from _simpler_workload(obj)
    for row in range(_rows(obj)):
        path = ("spec", "resourceGroups", 0, "flavors", row, "resources", 0)
        resource = _at(obj, path)
        for limit in ("borrowingLimit", "lendingLimit"):
            if limit in resource:
                yield _without(obj, *path, limit)
        if (nominal := int(resource["nominalQuota"])) > 0:
            for less in sorted({0, nominal // 2, nominal - 1}):
                yield _with(obj, str(less), *path, "nominalQuota")


def _simpler_workload(obj: Object) -> Iterator[Object]:
    sets = obj["spec"]["podSets"]
    if len(sets) > 1:
        yield _without(obj, "spec", "podSets", len(sets) - 1)
    if obj["spec"]["priority"]:
        yield _with(obj, 0, "spec", "priority")
    for at, pods in enumerate(sets):
        if "minCount" in pods:
            yield _without(obj, "spec", "podSets", at, "minCount")
        elif pods["count"] > 1:
            yield _with(obj, 1, "spec", "podSets", at, "count")


def _at(obj: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        obj = obj[step]
    return obj


def _without(obj: Object, *path: str | int) -> Object:
    made = copy.deepcopy(obj)
    del _at(made, path[:-1])[path[-1]]
    return made


def _with(obj: Object, value: object, *path: str | int) -> Object:
    made = copy.deepcopy(obj)
    _at(made, path[:-1])[path[-1]] = value
    return made


def _rows(obj: Object) -> int:
    groups = obj["spec"].get("resourceGroups") if obj["kind"] in ("ClusterQueue", "Cohort") else None
    return len(groups[0]["flavors"]) if groups else 0
