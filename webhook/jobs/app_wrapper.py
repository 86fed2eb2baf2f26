"""The pod sets of an AppWrapper: its components hold whole objects, and say or let us infer where their pods are."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
        found += _declared(component, path, i) or _inferred(component["template"], path, i, sets_of)
    return tuple(found)


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


def _declared(component: dict[str, Any], path: Path, index: int) -> list[JobPodSet]:
    entries = component.get("podSets")
    found = []
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        path_text = entry.get("path") if isinstance(entry, dict) else None
        steps: Path = tuple(int(s) if s.isdecimal() else s for s in _STEP.findall(str(path_text or "")))
        template = _at(component, steps)
        if steps and isinstance(template, dict):
            found.append(JobPodSet(f"component-{index}-{number}", _replicas(entry), template, (*path, *steps)))
    return found


def _inferred(template: dict[str, Any], path: Path, index: int, sets_of: SetsOf) -> list[JobPodSet]:
    return [
        replace(inner, name=f"component-{index}-{inner.name}", path=(*path, "template", *inner.path))
        for inner in sets_of(template)
    ]


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
