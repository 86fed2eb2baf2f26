"""The parameters of native policies: an API server finds them in the cluster only, and Sluice in its files too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from webhook.kube.gvk import GroupVersionKind, gvk_of
from webhook.kube.selectors import compile_selector

Object = dict[str, Any]


def parameters(objects: Iterable[Object], made: Iterable[Object]) -> list[Object]:
    """Return those objects that the bindings among the native policies name, and the CRDs of their kinds first."""
    given, native = list(objects), list(made)
    kinds = {o["metadata"]["name"]: o["spec"]["paramKind"] for o in native if o["spec"].get("paramKind")}
    wanted = [
        (gvk_of(kind), ref)
        for spec in (o["spec"] for o in native)
        if (ref := spec.get("paramRef")) and (kind := kinds.get(spec["policyName"]))
    ]
    named = [o for o in given if any(_is_named(o, kind, ref) for kind, ref in wanted)]
    return [*_definitions(given, {gvk_of(o) for o in named}), *named]


def _is_named(obj: Object, kind: GroupVersionKind, ref: Mapping[str, Any]) -> bool:
    found, metadata = gvk_of(obj), obj.get("metadata") or {}
    if (found.group, found.kind) != (kind.group, kind.kind):
        return False
    if ref.get("namespace") and metadata.get("namespace") != ref["namespace"]:
        return False
    if ref.get("name"):
        return bool(metadata.get("name") == ref["name"])
    return bool(compile_selector(ref.get("selector"))(metadata.get("labels") or {}))


def _definitions(objects: Iterable[Object], kinds: Iterable[GroupVersionKind]) -> Iterator[Object]:
    known = {(kind.group, kind.kind) for kind in kinds}
    for obj in objects:
        spec = obj.get("spec") if obj.get("kind") == "CustomResourceDefinition" else None
        if isinstance(spec, dict) and (spec.get("group"), (spec.get("names") or {}).get("kind")) in known:
            yield obj
