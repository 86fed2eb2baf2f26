"""Reading an object as a job, by the table of kinds. The one place that says which pods an object makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from webhook.jobs.kinds import BY_KIND
from webhook.jobs.model import Job, Kind, Path, PodSet, Template

QUEUE: Final = "kueue.x-k8s.io/queue-name"
PRIORITY: Final = "kueue.x-k8s.io/priority-class"


def describe(obj: dict[str, Any]) -> Job | None:
    """Read an object as a job; None where its kind is not in the table.

    Never fails on a malformed object: what is not there, or is of the wrong type, makes no pods.
    """
    kind = row_of(obj)
    if kind is None:
        return None
    sets = tuple(pod_sets(obj, kind))
    priority = _text(_map(obj, "labels"), PRIORITY)
    return Job(kind, suspended(obj, kind), sets, queue_of(obj), priority, _pod_priority(obj, kind, sets))


def queue_of(obj: dict[str, Any]) -> str | None:
    """Give the queue that an object names: by its label, else by its annotation."""
    return _text(_map(obj, "labels"), QUEUE) or _text(_map(obj, "annotations"), QUEUE)


def row_of(obj: dict[str, Any]) -> Kind | None:
    """Give the row of an object's kind; the version does not matter."""
    api_version = obj.get("apiVersion")
    group = api_version.rpartition("/")[0] if isinstance(api_version, str) else ""
    return BY_KIND.get((group, str(obj.get("kind"))))


def pod_sets(obj: dict[str, Any], kind: Kind) -> Iterator[PodSet]:
    """Give the sets of pods an object of this kind makes, in the order of its controller."""
    if kind.reader is not None:
        yield from kind.reader(obj, _inner_sets)
        return
    minimum = _min_count(obj, kind)
    for row in kind.templates:
        for nodes, path, name in _walk(row, 0, [obj], (), row.name):
            template = nodes.pop()
            count = row.count(nodes or [obj])
            least = min(minimum, count) if minimum is not None else None
            made = row.made is not None
            yield PodSet(name, count, row.made(template) if row.made else template, path, least, made)


def _inner_sets(obj: dict[str, Any]) -> tuple[PodSet, ...]:
    """Give the pod sets of an object that stands inside another; an object that wraps again has none."""
    kind = row_of(obj)
    return tuple(pod_sets(obj, kind)) if kind is not None and kind.reader is None else ()


def _walk(row: Template, step: int, nodes: list[Any], path: Path, name: str) -> Iterator[tuple[list[Any], Path, str]]:
    """Follow a row's path from its `step`: gives the nodes (the template last), the path, and the pod set's name."""
    node = nodes[-1]
    for at in range(step, len(row.path)):
        key = row.path[at]
        if key in ("*", "[]"):
            for index, child, label in _children(node, key, row):
                yield from _walk(row, at + 1, [*nodes, child], (*path, index), name or label)
            return
        node = node.get(key) if isinstance(node, dict) else None
        if node is None:
            return
        nodes = [*nodes, node]
        path = (*path, key)
    if isinstance(node, dict):
        yield nodes, path, name


def _children(node: Any, key: str, row: Template) -> Iterator[tuple[str | int, Any, str]]:
    if key == "*" and isinstance(node, dict):
        first = [k for k in row.order if k in node]
        for name in (*first, *sorted(k for k in node if k not in row.order)):
            yield name, node[name], name.lower()
    elif key == "[]" and isinstance(node, list):
        for i, item in enumerate(node):
            label = (item.get("name") or item.get("groupName")) if isinstance(item, dict) else None
            yield i, item, str(label or i)


def suspended(obj: dict[str, Any], kind: Kind) -> bool | None:
    """Say whether the object is held back: its own field, or a Pod's scheduling gate; None where it has neither."""
    if kind.suspend_path is not None:
        return at(obj, kind.suspend_path) is True
    if not kind.gate:
        return None
    gates = at(obj, ("spec", "schedulingGates"))
    return isinstance(gates, list) and any(isinstance(g, dict) and g.get("name") == kind.gate for g in gates)


def at(obj: Any, path: tuple[str, ...]) -> Any:
    """Give the value at a path of keys, None where the path ends early."""
    for step in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(step)
    return obj


def _map(obj: dict[str, Any], field: str) -> dict[str, Any]:
    value = at(obj, ("metadata", field))
    return value if isinstance(value, dict) else {}


def _text(labels: dict[str, Any], key: str) -> str | None:
    value = labels.get(key)
    return value if isinstance(value, str) and value else None


def _min_count(obj: dict[str, Any], kind: Kind) -> int | None:
    if not kind.min_count_annotation:
        return None
    text = _map(obj, "annotations").get(kind.min_count_annotation)
    return int(text) if isinstance(text, str) and text.isdecimal() else None


def _pod_priority(obj: dict[str, Any], kind: Kind, sets: tuple[PodSet, ...]) -> str | None:
    own = [at(obj, path) for path in kind.priority_paths]
    of_pods = [at(s.template, ("spec", "priorityClassName")) for s in sets]
    return next((name for name in (*own, *of_pods) if isinstance(name, str) and name), None)
