"""The schemas of Kubernetes' built-in kinds in a compact form, one file of data for each API package.

Written by `python -m tests.schemas` from the /openapi/v3 of a real API server; read here as data of the package.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from webhook.kube.gvk import GroupVersionKind
from webhook.kube.schema import UNTYPED, Ref, Schema, Shape, decode_shape
from webhook.kube.scope import Scope, Served

_API: Final = "io.k8s.api."


def package_of(name: str) -> str:
    """The file that holds a type: `core` of `io.k8s.api.core.v1.Pod`, `meta` of the types all kinds share."""
    return name.removeprefix(_API).split(".")[0] if name.startswith(_API) else "meta"


@cache
def package(name: str) -> dict[str, Any]:
    """The content of one file of data, empty where there is none."""
    data = pkgutil.get_data(__name__, f"{name}.json")
    return dict(json.loads(data)) if data is not None else {}


@cache
def _kinds() -> dict[str, str]:
    return {str(kind): str(name) for kind, name in package("kinds").items()}


@cache
def built_in_scopes() -> Mapping[tuple[str, str], Served]:
    """Every built-in kind whose objects can be listed, by group and kind."""
    found: dict[tuple[str, str], Served] = {}
    for name, scope in package("scopes").items():
        group, version, kind = name.split("/")
        versions = found[group, kind].versions if (group, kind) in found else frozenset()
        found[group, kind] = Served(Scope(scope), versions | {version})
    return found


@cache
def find(name: str) -> Shape:
    """The shape of a type by its full name; KeyError for a name that no built-in kind uses."""
    return decode_shape(package(package_of(name))[name])


def built_in_kinds() -> list[GroupVersionKind]:
    """Every kind that Kubernetes itself has."""
    return [GroupVersionKind(*name.split("/")) for name in _kinds()]


def is_built_in(gvk: GroupVersionKind) -> bool:
    """Whether Kubernetes itself has this kind."""
    return f"{gvk.group}/{gvk.version}/{gvk.kind}" in _kinds()


def schema_of(gvk: GroupVersionKind) -> Schema:
    """The schema of a built-in kind, UNTYPED for every other kind."""
    name = _kinds().get(f"{gvk.group}/{gvk.version}/{gvk.kind}")
    return Schema(Ref(name), find) if name is not None else UNTYPED
