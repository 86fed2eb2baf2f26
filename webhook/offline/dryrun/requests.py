"""Turns an object from a file into the admission request that an API server would send for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from webhook.admission.wire import API_VERSION, parse
from webhook.api.conversion.convert import ConversionError, as_stored
from webhook.api.scopes import Scopes
from webhook.jobs.kinds import KINDS, kind_of
from webhook.jobs.nulls import without_nulls
from webhook.kube.gvk import NAMESPACE, GroupVersionKind, gvk_of
from webhook.kube.schemas import is_built_in
from webhook.kube.typed.defaulted import defaulted
from webhook.kube.typed.from_objects import Listed, nothing
from webhook.kube.typed.plugins import admitted
from webhook.offline.generated_names import generated_name
from webhook.policy.facts import Facts
from webhook.policy.request import Request

Object = dict[str, Any]
_TEXTS: Final = ("labels", "annotations")
_IRREGULAR: Final = {"Endpoints": "endpoints"}


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends the objects, and how: operation CREATE, UPDATE (from the same object) or DELETE.

    `manager` is the field manager of the write, if it names one.
    """

    operation: str = "CREATE"
    user: str = "sluice-dry-run"
    groups: tuple[str, ...] = ("system:authenticated",)
    namespace: str = "default"
    manager: str = ""


@dataclass(frozen=True, slots=True)
class ResourceScopes:
    """What CRDs among the files say: (group, kind) -> resource, and the scopes of kinds.

    `listed` gives the objects that the API server's plugins look at: LimitRanges and default classes.
    """

    names: Mapping[tuple[str, str], str] = field(default_factory=dict)
    scopes: Scopes = field(default_factory=Scopes)
    listed: Listed = nothing

    @classmethod
    def of(cls, objects: Iterable[Object], facts: Facts | None = None) -> ResourceScopes:
        """Read the CustomResourceDefinitions of some objects, and those that the facts know as the cluster's."""
        listed = nothing if facts is None else listed_in(facts)
        names, objects = {}, [*objects, *listed("apiextensions.k8s.io", "CustomResourceDefinition", None)]
        for spec in (o.get("spec") for o in objects if o.get("kind") == "CustomResourceDefinition"):
            words = spec.get("names") if isinstance(spec, dict) else None
            if isinstance(spec, dict) and isinstance(words, dict):
                names[(str(spec.get("group")), str(words.get("kind")))] = str(words.get("plural"))
        return cls(names, Scopes.of(objects), listed)

    def of_kind(self, kind: GroupVersionKind) -> str:
        """Name the resource of a kind: a CRD's word, the table of job kinds, else the English plural."""
        if found := self.names.get((kind.group, kind.kind)):
            return found
        if row := kind_of(kind.group, kind.kind):
            return row.resource
        word = kind.kind.lower()
        if kind.kind in _IRREGULAR:
            return _IRREGULAR[kind.kind]
        if word.endswith("y") and word[-2:-1] not in "aeiou":
            return f"{word[:-1]}ies"
        return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"

    def known(self, groups: Collection[str], kind: str) -> list[str]:
        """Name the resources of a kind in these groups (`*`: all); a group that is not known to have it has none."""
        having = self.scopes.groups_of(kind) | {row.group for row in KINDS if row.kind == kind}
        here = having if "*" in groups else having & set(groups)
        return sorted({self.of_kind(GroupVersionKind(group, "", kind)) for group in here})


def received(obj: Object, resources: ResourceScopes, sender: Sender, number: int = 1) -> Object:
    """Return the object as admission sees it: in a namespace, named, and as the server reads built-in kinds.

    One of an older version of Kueue's API is in the version that is stored, which is the one that policies are written
    for: the server converts it before it asks (`matchPolicy: Equivalent`). `number` is that of the object among
    those with the same `generateName`.
    """
    metadata = obj.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, dict) else {}
    if resources.scopes.clustered(gvk_of(obj)):
        metadata.pop("namespace", None)
    elif not metadata.get("namespace"):
        metadata["namespace"] = sender.namespace
    if not metadata.get("name") and isinstance(prefix := metadata.get("generateName"), str):
        metadata["name"] = generated_name(prefix, number)
    found = {**obj, "metadata": metadata}
    with suppress(ConversionError):  # a malformed one stays as it is, and its fields are told
        found = as_stored(found)
    found = defaulted(found) if is_built_in(gvk_of(found)) else _without_nulls(found)
    return admitted(found, resources.listed)


def _without_nulls(obj: Object) -> Object:
    """Return an object of a custom kind as the API server reads it: it drops a field that is null and has no default.

    The schemas of the kinds with fields that may be null are not known here; a label that is null is empty.
    """
    found = without_nulls(obj)
    if found is obj:
        return obj
    metadata = found["metadata"]
    maps = {key: metadata[key] for key in _TEXTS if isinstance(metadata.get(key), dict)}
    read = {key: {k: "" if v is None else v for k, v in values.items()} for key, values in maps.items()}
    return {**found, "metadata": {**metadata, **read}} if read else found


def listed_in(facts: Facts) -> Listed:
    """Return what lists the objects of these facts."""
    return lambda group, kind, namespace: facts.params(GroupVersionKind(group, "v1", kind), namespace, None, None)


def namespace_of(obj: Object) -> str:
    """Return the namespace that a request for an object names: of a Namespace, its own name."""
    metadata = obj.get("metadata") or {}
    own = metadata.get("name") if gvk_of(obj) == NAMESPACE else ""
    return str(metadata.get("namespace") or own or "")


def request_for(obj: Object, resources: ResourceScopes, sender: Sender) -> Request:
    """Make the request for an object that was `received`. Raises BadReview where it cannot be one."""
    gvk = gvk_of(obj)
    metadata = obj.get("metadata") or {}
    kind = {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}
    resource = {"group": gvk.group, "version": gvk.version, "resource": resources.of_kind(gvk)}
    deleting = sender.operation == "DELETE"
    options = {"apiVersion": "meta.k8s.io/v1", "kind": f"{sender.operation.capitalize()}Options"}
    if sender.manager:
        options["fieldManager"] = sender.manager
    wire = {
        "uid": str(metadata.get("uid") or "00000000-0000-0000-0000-000000000000"),
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": str(metadata.get("name") or ""),
        "namespace": namespace_of(obj),
        "operation": sender.operation,
        "userInfo": {"username": sender.user, "groups": list(sender.groups)},
        "object": None if deleting else obj,
        "oldObject": None if sender.operation == "CREATE" else obj,
        "dryRun": True,
        "options": options,
    }
    return parse({"apiVersion": API_VERSION, "kind": "AdmissionReview", "request": wire})
