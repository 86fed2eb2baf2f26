"""Pod sets of an AppWrapper: its components are whole objects that declare their pod sets, or are of known kinds."""

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
    """Return the pod sets of every component: declared ones (`podSets[].path`), else those of its kind."""
    wrapped: list[JobPodSet] = []
    for i, component in _components(obj):
        path: Path = ("spec", "components", i)
        sets = _declared(component, path) or _inferred(component["template"], path, sets_of)
        wrapped += [replace(pods, place=(*path, "podSetInfos", n), flat=True) for n, pods in enumerate(sets)]
    name = _named(obj)[1] or ""
    return tuple(replace(pods, name=f"{name}-{number}") for number, pods in enumerate(wrapped))


def with_room(obj: dict[str, Any], pod_sets: tuple[JobPodSet, ...]) -> dict[str, Any]:
    """Return an AppWrapper with empty `podSetInfos`, where an admission is written: templates are immutable."""
    rooms = Counter(pods.place[2] for pods in pod_sets if pods.place)
    return _with_components(
        obj, lambda at, each: {**each, "podSetInfos": [{} for _ in range(rooms[at])]} if rooms[at] else each
    )


def without_room(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an AppWrapper without what an admission wrote."""
    return _with_components(obj, lambda _, each: {name: each[name] for name in each if name != "podSetInfos"})


def _with_components(obj: dict[str, Any], new: Callable[[int, dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    changed = {at: new(at, component) for at, component in _components(obj)}
    components = [changed.get(at, component) for at, component in enumerate(obj["spec"]["components"])]
    return {**obj, "spec": {**obj["spec"], "components": components}}


def wraps(obj: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether `other` is a component of `obj`, by kind and name."""
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
    declared = []
    for entry in entries if isinstance(entries, list) else ():
        path_text = entry.get("path") if isinstance(entry, dict) else None
        steps: Path = tuple(int(s) if s.isdecimal() else s for s in _STEP.findall(str(path_text or "")))
        template = _at(component, steps)
        if steps and isinstance(template, dict):
            declared.append(JobPodSet("", _replicas(entry), template, (*path, *steps)))
    return declared


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
