"""The pod sets of an AppWrapper: its components hold whole objects, and say or let us infer where their pods are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from webhook.jobs.job import GroupKind, JobPodSet, Path, SetsOf
from webhook.kube.gvk import gvk_of

_STEP = re.compile(r"[^.\[\]]+")


def wrapped_pod_sets(obj: dict[str, Any], sets_of: SetsOf) -> tuple[JobPodSet, ...]:
    """Give the pod sets of every component: where it declares them (`podSets[].path`), else where its kind has them."""
    found: list[JobPodSet] = []
    for i, component in _components(obj):
        path: Path = ("spec", "components", i)
        sets = _declared(component, path) or _inferred(component["template"], path, sets_of)
        found += [replace(pods, place=(*path, "podSetInfos", n), flat=True) for n, pods in enumerate(sets)]
    name = _named(obj)[1] or ""
    return tuple(replace(pods, name=f"{name}-{number}") for number, pods in enumerate(found))


def with_room(obj: dict[str, Any], pod_sets: tuple[JobPodSet, ...]) -> dict[str, Any]:
    """Give an AppWrapper with room for an admission: its templates may not change, `podSetInfos` are put over them."""
    rooms = Counter(pods.place[2] for pods in pod_sets if pods.place)
    return _with_components(
        obj, lambda at, each: {**each, "podSetInfos": [{} for _ in range(rooms[at])]} if rooms[at] else each
    )


def without_room(obj: dict[str, Any]) -> dict[str, Any]:
    """Give an AppWrapper without what an admission wrote."""
    return _with_components(obj, lambda _, each: {name: each[name] for name in each if name != "podSetInfos"})


def _with_components(obj: dict[str, Any], new: Callable[[int, dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    changed = {at: new(at, component) for at, component in _components(obj)}
    components = [changed.get(at, component) for at, component in enumerate(obj["spec"]["components"])]
    return {**obj, "spec": {**obj["spec"], "components": components}}


def wraps(obj: dict[str, Any], other: dict[str, Any]) -> bool:
    """Say whether `other` stands in `obj` as a component: an object of its kind and its name."""
    return any(_named(component["template"]) == _named(other) for _, component in _components(obj))


def _named(obj: dict[str, Any]) -> tuple[GroupKind, Any]:
    metadata = obj.get("metadata")
    gvk = gvk_of(obj)
    return (gvk.group, gvk.kind), metadata.get("name") if isinstance(metadata, dict) else None


def _components(obj: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    spec = obj.get("spec")
    components = spec.get("components") if isinstance(spec, dict) else None
    for i, component in enumerate(components if isinstance(components, list) else ()):
        if isinstance(component, dict) and isinstance(component.get("template"), dict):
            yield i, component


def _declared(component: dict[str, Any], path: Path) -> list[JobPodSet]:
    entries = component.get("podSets")
    found = []
    for entry in entries if isinstance(entries, list) else ():
        path_text = entry.get("path") if isinstance(entry, dict) else None
        steps: Path = tuple(int(s) if s.isdecimal() else s for s in _STEP.findall(str(path_text or "")))
        template = _at(component, steps)
        if steps and isinstance(template, dict):
            found.append(JobPodSet("", _replicas(entry), template, (*path, *steps)))
    return found


def _inferred(template: dict[str, Any], path: Path, sets_of: SetsOf) -> list[JobPodSet]:
    return [replace(inner, path=(*path, "template", *inner.path)) for inner in sets_of(template)]


def _replicas(entry: dict[str, Any]) -> int:
    value = entry.get("replicas", 1)
    return value if isinstance(value, int) and value >= 0 else 1


def _at(value: Any, steps: Path) -> Any:
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value
