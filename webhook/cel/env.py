"""`Env`, the environment of an expression: variables, functions, object types, and the container of names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from webhook.cel import host
from webhook.cel.function_types import Function
from webhook.cel.functions import rows
from webhook.cel.ranges import Sizer
from webhook.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    OPTIONAL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
    list_of,
    map_of,
    object_type,
    opaque,
    optional_of,
    type_of,
)

_TYPE_NAMES: dict[str, Type] = {
    **{t.name: t for t in (BOOL, BYTES, DOUBLE, INT, STRING, UINT)},
    "net.IP": opaque("net.IP"),
    "net.CIDR": opaque("net.CIDR"),
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "null_type": NULL,
    "type": TYPE,
    "google.protobuf.Timestamp": TIMESTAMP,
    "google.protobuf.Duration": DURATION,
    OPTIONAL: optional_of(DYN),
}
VARIABLES = "kubernetes.variables"
"""The type of `variables`: an object the host computes field by field, by its method `cel_find`."""
_NO_TYPE = Type("")
_PATCH = {"op": STRING, "path": STRING, "from": STRING, "value": DYN}


def merge(given: Iterable[Function]) -> dict[str, Function]:
    """Rows by name; rows of one name become one, in the order they came."""
    table: dict[str, Function] = {}
    for row in given:
        known = table.get(row.name)
        if known is None:
            table[row.name] = row
            continue
        ids = {o.id for o in known.overloads}
        fresh = tuple(o for o in row.overloads if o.id not in ids)
        table[row.name] = replace(known, overloads=known.overloads + fresh)
    return table


@dataclass(frozen=True)
class Env:
    """An environment. `objects` are the fields of object types by name.

    `mutation` adds the types `Object…` and `JSONPatch` and the function `jsonpatch.escapeKey`, as the API server does
    for mutating policies. `checked` False takes names and calls as they come, at run time. `trusted` says that the
    host gives numbers, texts, bools and times as declared: no code looks at their types again. `sizes` says how big
    values can be, for the estimate of costs.
    """

    variables: Mapping[str, Type] = field(default_factory=dict)
    mutation: bool = False
    container: str = ""
    objects: Mapping[str, Mapping[str, Type]] = field(default_factory=dict)
    checked: bool = True
    macros: bool = True
    trusted: bool = False
    sizes: Sizer | None = None

    @cached_property
    def functions(self) -> dict[str, Function]:
        """Every function of the environment by name."""
        return _functions(self.mutation)

    def candidates(self, name: str) -> list[str]:
        """The names `name` may mean, from the innermost container outwards."""
        if name.startswith("."):
            return [name[1:]]
        parts = self.container.split(".") if self.container else []
        return [".".join([*parts[:n], name]) for n in range(len(parts), -1, -1)]

    def type_named(self, name: str) -> Type | None:
        """The type a name stands for when it is not a variable."""
        if name in self.objects:
            return object_type(name)
        if self.mutation and (name in ("Object", "JSONPatch") or name.startswith("Object.")):
            return object_type(name)
        return _TYPE_NAMES.get(name)

    def type_value(self, name: str) -> Type | None:
        """The type a name denotes as a value; object types can be made, but are no values."""
        return _TYPE_NAMES.get(name)

    def field_type(self, type_name: str, name: str) -> Type | None:
        """The type of a field of an object type, None where there is no such field."""
        if self.mutation and (type_name == "Object" or type_name.startswith("Object.")):
            return DYN
        if self.mutation and type_name == "JSONPatch":
            return _PATCH.get(name, _NO_TYPE)
        known = self.objects.get(type_name) or host.fields(type_name)
        return known.get(name)

    def field_names(self, type_name: str) -> tuple[str, ...]:
        """The fields of an object type that are listed; none where any name may be a field."""
        return tuple(self.objects.get(type_name) or host.fields(type_name))

    def function(self, name: str) -> Function | None:
        """The function `name` means here."""
        return next((f for n in self.candidates(name) if (f := self.functions.get(n))), None)


_TABLES: dict[bool, dict[str, Function]] = {}


def _functions(mutation: bool) -> dict[str, Function]:
    if mutation not in _TABLES:
        _TABLES[mutation] = merge(f for f in rows() if mutation or not f.mutation_only)
    return _TABLES[mutation]


def validation_env(*, params: bool = True, authorizer: bool = True, variables: Type = DYN, typed: bool = True) -> Env:
    """The environment of a ValidatingAdmissionPolicy. `typed` False declares request and namespaceObject as dyn."""
    return _admission_env(params=params, authorizer=authorizer, variables=variables, typed=typed, mutation=False)


def mutation_env(*, params: bool = True, authorizer: bool = True, variables: Type = DYN, typed: bool = True) -> Env:
    """The environment of a MutatingAdmissionPolicy."""
    return _admission_env(params=params, authorizer=authorizer, variables=variables, typed=typed, mutation=True)


def _admission_env(*, params: bool, authorizer: bool, variables: Type, typed: bool, mutation: bool) -> Env:
    names: dict[str, Type] = {
        "object": DYN,
        "oldObject": DYN,
        "request": object_type("kubernetes.AdmissionRequest") if typed else DYN,
        "namespaceObject": object_type("kubernetes.Namespace") if typed else DYN,
        "variables": variables,
    }
    if params:
        names["params"] = DYN
    if authorizer:
        names["authorizer"] = object_type("kubernetes.authorization.Authorizer")
        names["authorizer.requestResource"] = object_type("kubernetes.authorization.ResourceCheck")
    return Env(names, mutation=mutation, objects=ADMISSION_OBJECTS if typed else {})


_GVK = {"group": STRING, "version": STRING}
_LABELS = map_of(STRING, STRING)
ADMISSION_OBJECTS: dict[str, dict[str, Type]] = {
    "kubernetes.GroupVersionKind": {**_GVK, "kind": STRING},
    "kubernetes.GroupVersionResource": {**_GVK, "resource": STRING},
    "kubernetes.UserInfo": {
        "username": STRING,
        "uid": STRING,
        "groups": list_of(STRING),
        "extra": map_of(STRING, list_of(STRING)),
    },
    "kubernetes.AdmissionRequest": {
        "kind": object_type("kubernetes.GroupVersionKind"),
        "resource": object_type("kubernetes.GroupVersionResource"),
        "subResource": STRING,
        "requestKind": object_type("kubernetes.GroupVersionKind"),
        "requestResource": object_type("kubernetes.GroupVersionResource"),
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": object_type("kubernetes.UserInfo"),
        "dryRun": BOOL,
        "options": DYN,
    },
    "kubernetes.NamespaceSpec": {"finalizers": list_of(STRING)},
    "kubernetes.NamespaceCondition": {
        "status": STRING,
        "type": STRING,
        "lastTransitionTime": TIMESTAMP,
        "message": STRING,
        "reason": STRING,
    },
    "kubernetes.NamespaceStatus": {
        "conditions": list_of(object_type("kubernetes.NamespaceCondition")),
        "phase": STRING,
    },
    "kubernetes.NamespaceMetadata": {
        "name": STRING,
        "generateName": STRING,
        "namespace": STRING,
        "labels": _LABELS,
        "annotations": _LABELS,
        "UID": STRING,
        "creationTimestamp": TIMESTAMP,
        "deletionGracePeriodSeconds": INT,
        "deletionTimestamp": TIMESTAMP,
        "generation": INT,
        "resourceVersion": STRING,
        "finalizers": list_of(STRING),
    },
    "kubernetes.Namespace": {
        "metadata": object_type("kubernetes.NamespaceMetadata"),
        "spec": object_type("kubernetes.NamespaceSpec"),
        "status": object_type("kubernetes.NamespaceStatus"),
    },
}
"""What the API server declares for `request` and `namespaceObject` (pkg/admission/plugin/cel/compile.go)."""

__all__ = ["ADMISSION_OBJECTS", "Env", "mutation_env", "type_of", "validation_env"]
