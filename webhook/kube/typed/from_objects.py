"""Admission plugins that read other objects: LimitRanges, priority classes, storage classes and ingress classes.

Rules: k8s.io/kubernetes plugin/pkg/admission, Admit of LimitRanger, Priority, DefaultStorageClass and
DefaultIngressClass. RuntimeClass is not here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from webhook.kube.typed.structs import structs

Object = dict[str, Any]
Listed = Callable[[str, str, str | None], Sequence[Object]]
"""Returns the objects of a group and kind, in a namespace or (None) cluster-scoped, as they are stored."""

_LIMIT_RANGER: Final = "kubernetes.io/limit-ranger"
_OLD_STORAGE: Final = "volume.beta.kubernetes.io/storage-class"
_OLD_INGRESS: Final = "kubernetes.io/ingress.class"
_DEFAULT_STORAGE: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_DEFAULT_INGRESS: Final = ("ingressclass.kubernetes.io/is-default-class",)


def nothing(group: str, kind: str, namespace: str | None) -> Sequence[Object]:
    """Return no objects, for use without a cluster."""
    return ()


def limit_ranges(pod: Object, listed: Listed) -> None:
    """LimitRanger: containers get the limits and requests that they leave out, and an annotation says which."""
    namespace = str(pod["metadata"].get("namespace") or "")
    for limit_range in listed("", "LimitRange", namespace):
        items = [i for i in structs(limit_range.get("spec") or {}, "limits") if i.get("type") == "Container"]
        requests = {k: v for item in items for k, v in (item.get("defaultRequest") or {}).items()}
        limits = {k: v for item in items for k, v in (item.get("default") or {}).items()}
        told = [
            f"{', '.join(sorted(added))} {word} for {what} {container['name']}"
            for field, what in (("containers", "container"), ("initContainers", "init container"))
            for container in structs(pod["spec"], field)
            for word, added in _completed(container, requests, limits)
            if added
        ]
        if told:
            metadata = pod["metadata"]
            text = f"LimitRanger plugin set: {'; '.join(told)}"
            metadata["annotations"] = {**(metadata.get("annotations") or {}), _LIMIT_RANGER: text}


def _completed(container: Object, requests: Object, limits: Object) -> Iterator[tuple[str, list[str]]]:
    """Fill in what a container's resources leave out. Return what was filled in."""
    resources = container["resources"] = dict(container.get("resources") or {})
    for word, field, defaults in (("request", "requests", requests), ("limit", "limits", limits)):
        own = resources.get(field) or {}
        added = [name for name in defaults if name not in own]
        if added:
            resources[field] = {**own, **{name: defaults[name] for name in added}}
        yield word, added


def priority_class(spec: Object, listed: Listed) -> Object | None:
    """Priority: the class that a Pod names, else the cluster's default, whose name the Pod gets; None if there is none.

    Of several defaults, the one with the lowest value counts.
    """
    classes = listed("scheduling.k8s.io", "PriorityClass", None)
    if name := spec.get("priorityClassName"):
        return next((found for found in classes if found["metadata"].get("name") == name), None)
    default = min((c for c in classes if c.get("globalDefault") is True), key=lambda c: c.get("value", 0), default=None)
    if default is not None:
        spec["priorityClassName"] = default["metadata"]["name"]
    return default


def storage_class(claim: Object, listed: Listed) -> Object:
    """DefaultStorageClass: a claim that names no class gets the default one."""
    classes = listed("storage.k8s.io", "StorageClass", None)
    return _with_class(claim, "storageClassName", _OLD_STORAGE, classes, _DEFAULT_STORAGE)


def ingress_class(ingress: Object, listed: Listed) -> Object:
    """DefaultIngressClass: an Ingress that names no class gets the default one."""
    classes = listed("networking.k8s.io", "IngressClass", None)
    return _with_class(ingress, "ingressClassName", _OLD_INGRESS, classes, _DEFAULT_INGRESS)


def _with_class(obj: Object, field: str, old: str, classes: Sequence[Object], marks: Sequence[str]) -> Object:
    """Set the default class in a field of the spec, unless the field or its former annotation is set."""
    spec, annotations = obj.get("spec"), obj["metadata"].get("annotations") or {}
    if not isinstance(spec, dict) or field in spec or old in annotations:
        return obj
    name = _default(classes, marks)
    return {**obj, "spec": {**spec, field: name}} if name else obj


def _default(classes: Sequence[Object], marks: Sequence[str]) -> str:
    """Return the name of the class marked as default: the newest, then the first by name."""
    found = [c["metadata"] for c in classes if any(_marked(c, mark) for mark in marks)]
    by_name = sorted(found, key=lambda metadata: str(metadata.get("name")))
    newest: Object = max(by_name, key=lambda metadata: str(metadata.get("creationTimestamp") or ""), default={})
    return str(newest.get("name") or "")


def _marked(found: Object, mark: str) -> bool:
    return (found["metadata"].get("annotations") or {}).get(mark) == "true"
