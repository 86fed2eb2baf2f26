"""Reads an object as a job by the table of kinds. The only place that determines the pods of an object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from webhook.jobs.job import Job, JobKind, JobPodSet, Path, Template
from webhook.jobs.kinds import BY_KIND
from webhook.kube.fields import at

QUEUE: Final = "kueue.x-k8s.io/queue-name"
PRIORITY: Final = "kueue.x-k8s.io/priority-class"
PREBUILT: Final = "kueue.x-k8s.io/prebuilt-workload-name"
"""The label, or annotation, with the name of a Workload that was created separately for a job."""
MARK: Final = "kueue.x-k8s.io/managed"
"""The label that the policy `suspend-pods` adds to a Pod with its gate: only such Pods are managed."""
POD_FINALIZER: Final = MARK
"""The finalizer that it adds to Pods which no controller recreates: their end is counted before they are removed."""
Templates = tuple[tuple[Path, dict[str, Any], bool], ...]
"""For each pod set: path, template, and whether the template is made up."""


def read_job(obj: dict[str, Any], runtime: dict[str, Any] | None = None) -> Job | None:
    """Read an object as a job; None if its kind is not in the table.

    `runtime` is the object with the templates of a job that only refers to them (`JobKind.runtime`), if known. Never
    fails on a malformed object: fields that are missing or of the wrong type make no pods.
    """
    kind = row_of(obj)
    if kind is None:
        return None
    if kind.runtime is not None and runtime is not None:
        sets = kind.runtime.pod_sets(obj, runtime)
    else:
        sets = tuple(pod_sets(obj, kind))
    priority = _text(_map(obj, "labels"), PRIORITY)
    return Job(kind, suspended(obj, kind), sets, queue_of(obj), priority, _pod_priority(obj, kind, sets))


def is_held(obj: dict[str, Any], kind: JobKind, *, stored: bool = False) -> bool:
    """Return whether a queue decides when an object of this kind starts, whatever its queue.

    A Pod that exists (`stored`, or with a uid) must have been created with our gate; a new one will get it.
    """
    if kind.elsewhere and at(obj, kind.elsewhere):
        return False
    there = stored or bool((obj.get("metadata") or {}).get("uid"))
    return kind.held and (not kind.gate or not there or _text(_map(obj, "labels"), MARK) == "true")


def queue_of(obj: dict[str, Any]) -> str | None:
    """Return the queue name of an object: its label, else its annotation."""
    return _text(_map(obj, "labels"), QUEUE) or _text(_map(obj, "annotations"), QUEUE)


def prebuilt_of(obj: dict[str, Any], *, annotated: bool = True) -> str | None:
    """Return the name of a job's prebuilt Workload: from its label, else from its annotation if `annotated`."""
    named = _text(_map(obj, "annotations"), PREBUILT) if annotated else None
    return _text(_map(obj, "labels"), PREBUILT) or named


def row_of(obj: dict[str, Any]) -> JobKind | None:
    """Return the row of an object's kind, in any version; None if it is not in the table."""
    api_version = obj.get("apiVersion")
    group = api_version.rpartition("/")[0] if isinstance(api_version, str) else ""
    return BY_KIND.get((group, str(obj.get("kind"))))


def pod_sets(obj: dict[str, Any], kind: JobKind) -> Iterator[JobPodSet]:
    """Yield the pod sets of an object of this kind, in the order of its controller."""
    if kind.reader is not None:
        yield from kind.reader(obj, _inner_sets)
        return
    minimum = _min_count(obj, kind)
    obj = kind.spread(obj) if kind.spread else obj
    for row in kind.templates:
        for nodes, path, name in _places(row, obj):
            template = nodes.pop()
            count = row.count(nodes or [obj])
            least = min(minimum, count) if minimum is not None else None
            whole = _whole(row, nodes, template)
            place = path if row.flat else None
            yield JobPodSet(name, count, whole, path, least, row.made is not None, place=place, flat=row.flat)
        if row.default and at(obj, row.path) is None and (template := row.default(obj)) is not None:
            yield JobPodSet(row.name, 1, template, row.path, absent=True)


def _whole(row: Template, nodes: list[Any], template: dict[str, Any]) -> dict[str, Any]:
    """Return a template as its controller uses it; `nodes` lead to it."""
    if row.made:
        return row.made(template)
    return row.grown(nodes, template) if row.grown and isinstance(template.get("spec"), dict) else template


def templates(obj: dict[str, Any]) -> Templates | None:
    """Return path, template and whether it is made up for every pod set; None if the object is not a job.

    The same templates as those of `read_job`, without counts.
    """
    kind = row_of(obj)
    if kind is None:
        return None
    if kind.reader is not None:
        return tuple((s.path, s.template, s.made) for s in kind.reader(obj, _inner_sets))
    rows: list[tuple[Path, dict[str, Any], bool]] = []
    obj = kind.spread(obj) if kind.spread else obj
    for row in kind.templates:
        if row.straight:
            template = at(obj, row.path)
            if isinstance(template, dict):
                rows.append((row.path, row.made(template) if row.made else template, row.made is not None))
        else:
            for path, template in _reached(row, obj):
                rows.append((path, row.made(template) if row.made else template, row.made is not None))
    return tuple(rows)


def _reached(row: Template, obj: dict[str, Any]) -> list[tuple[Path, dict[str, Any]]]:
    """Follow a row's path like `_places`, but return only paths and templates."""
    reached: list[tuple[Path, Any]] = [((), obj)]
    for key in row.path:
        if key in ("*", "[]"):
            reached = [((*way, at), inner) for way, node in reached for at, inner, _ in _children(node, key, row)]
        else:
            reached = [((*way, key), node[key]) for way, node in reached if isinstance(node, dict) and key in node]
    return [(way, node) for way, node in reached if isinstance(node, dict)]


def _inner_sets(obj: dict[str, Any]) -> tuple[JobPodSet, ...]:
    """Return the pod sets of a wrapped object; none for an object that itself wraps others."""
    kind = row_of(obj)
    return tuple(pod_sets(obj, kind)) if kind is not None and kind.reader is None else ()


def _places(row: Template, obj: dict[str, Any]) -> list[tuple[list[Any], Path, str]]:
    """Follow a row's path: return the nodes (the template last), the path, and the pod set's name of each match."""
    places: list[tuple[list[Any], Path, str]] = [([obj], (), row.name)]
    for key in row.path:
        if key in ("*", "[]"):
            places = [
                ([*nodes, child], (*path, index), name or label)
                for nodes, path, name in places
                for index, child, label in _children(nodes[-1], key, row)
            ]
            continue
        stepped = []
        for nodes, path, name in places:
            node = nodes[-1].get(key) if isinstance(nodes[-1], dict) else None
            if node is not None:
                stepped.append(([*nodes, node], (*path, key), name))
        places = stepped
    return [place for place in places if isinstance(place[0][-1], dict)]


def _children(node: Any, key: str, row: Template) -> list[tuple[str | int, Any, str]]:
    """Return the children that match a wildcard: index or key, child, and the name of its pod set."""
    if key == "*" and isinstance(node, dict):
        first = [k for k in row.order if k in node]
        return [(k, node[k], k.lower()) for k in (*first, *sorted(k for k in node if k not in row.order))]
    if key == "[]" and isinstance(node, list):
        names = [(i.get("name") or i.get("groupName")) if isinstance(i, dict) else None for i in node]
        return [(at, item, str(name or at).lower()) for at, (item, name) in enumerate(zip(node, names, strict=True))]
    return []


def suspended(obj: dict[str, Any], kind: JobKind) -> bool | None:
    """Return whether the object is suspended, by its field or a Pod's scheduling gate; None if it has neither."""
    if kind.suspend_path is not None:
        return at(obj, kind.suspend_path) is True
    if not kind.gate:
        return None
    gates = at(obj, ("spec", "schedulingGates"))
    return isinstance(gates, list) and any(isinstance(g, dict) and g.get("name") == kind.gate for g in gates)


def _map(obj: dict[str, Any], field: str) -> dict[str, Any]:
    value = at(obj, ("metadata", field))
    return value if isinstance(value, dict) else {}


def _text(labels: dict[str, Any], key: str) -> str | None:
    value = labels.get(key)
    return value if isinstance(value, str) and value else None


def _min_count(obj: dict[str, Any], kind: JobKind) -> int | None:
    if not kind.min_count_annotation:
        return None
    text = _map(obj, "annotations").get(kind.min_count_annotation)
    return int(text) if isinstance(text, str) and text.isdecimal() else None


def _pod_priority(obj: dict[str, Any], kind: JobKind, sets: tuple[JobPodSet, ...]) -> str | None:
    own = [at(obj, path) for path in kind.priority_paths]
    of_pods = [at(s.template, ("spec", "priorityClassName")) for s in sets]
    return next((name for name in (*own, *of_pods) if isinstance(name, str) and name), None)
