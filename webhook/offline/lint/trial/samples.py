"""Ordinary objects to try policies on: one of each job kind, with and without GPUs, made from the table of kinds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from webhook.jobs.job import JobKind, Template
from webhook.jobs.kinds import KINDS
from webhook.jobs.read_job import QUEUE

Object = dict[str, Any]
NAMESPACE: Final = "team-a"
_PLAIN: Final[Object] = {"name": "main", "image": "registry.example/train:1"}
_GPU: Final[Object] = {
    "name": "main",
    "image": "registry.example/train:1",
    "resources": {
        "limits": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"},
        "requests": {"cpu": "2", "memory": "8Gi", "nvidia.com/gpu": "1"},
    },
}
_MANY_CONTAINERS: Final = 100
_MANY_VARIABLES: Final = 10
_SIDE: Final[Object] = {"name": "side", "image": "registry.example/side:1", "restartPolicy": "Always"}


@dataclass(frozen=True, slots=True)
class SampleObject:
    """An object and what is ordinary about it: `plain` asks for nothing, `full` has GPUs, labels, tolerations."""

    title: str
    obj: Object


@cache
def samples() -> tuple[SampleObject, ...]:
    """Return the samples of all kinds."""
    return tuple(sample for kind in KINDS if kind.templates for sample in of_kind(kind))


def of_kind(kind: JobKind) -> Iterator[SampleObject]:
    """Yield the samples of one kind: one that asks for nothing, one with everything."""
    for title, metadata, spec in (("plain", {}, _pod_spec(_PLAIN)), ("full", _metadata(), _full_spec())):
        obj: Object = {
            "apiVersion": kind.gvk.api_version,
            "kind": kind.kind,
            "metadata": {"name": f"{title}-sample", "namespace": NAMESPACE, **metadata},
        }
        for template in kind.templates:
            _put(obj, template, spec, labelled=bool(metadata))
        yield SampleObject(f"a {title} {kind.gvk}", obj)


def large(kind: JobKind) -> SampleObject:
    """Return a very large object of a kind: as many containers and variables as a request has room for in practice."""
    variables = [{"name": f"NAME_{i}", "value": "value"} for i in range(_MANY_VARIABLES)]
    containers = [{**_GPU, "name": f"main-{i}", "env": variables} for i in range(_MANY_CONTAINERS)]
    metadata = {"name": "large-sample", "namespace": NAMESPACE, **_metadata()}
    obj: Object = {"apiVersion": kind.gvk.api_version, "kind": kind.kind, "metadata": metadata}
    for template in kind.templates:
        _put(obj, template, {**_full_spec(), "containers": containers}, labelled=True)
    return SampleObject(f"a {kind.gvk} with {_MANY_CONTAINERS} containers", obj)


def _metadata() -> Object:
    return {"labels": {QUEUE: "default", "app": "sample"}, "annotations": {"example.com/note": "a sample"}}


def _pod_spec(container: Object) -> Object:
    return {"restartPolicy": "Never", "containers": [dict(container)]}


def _full_spec() -> Object:
    spec = _pod_spec(_GPU)
    spec["initContainers"] = [dict(_SIDE)]
    spec["tolerations"] = [{"key": "dedicated", "operator": "Equal", "value": "train", "effect": "NoSchedule"}]
    spec["nodeSelector"] = {"kubernetes.io/arch": "amd64"}
    return spec


def _put(obj: Object, template: Template, spec: Object, *, labelled: bool) -> None:
    """Put a pod template where the row says; templates that are made from other fields get an empty map."""
    node: Any = obj
    steps = [step for step in template.path if step != "[]"]
    for i, step in enumerate(template.path):
        if step == "[]":
            continue
        into_list = template.path[i + 1 : i + 2] == ("[]",)
        name = (template.order[0] if template.order else "Worker") if step == "*" else step
        child = node.setdefault(name, [{"name": "group", "replicas": 1}] if into_list else {})
        node = child[0] if into_list else child
    if template.made is None:
        node.setdefault("spec", {}).update(spec)
        if steps:  # a Job without labels of its own gets those of its template
            node.setdefault("metadata", {"labels": {"app": "sample"}} if labelled else {"annotations": {"a": "b"}})
