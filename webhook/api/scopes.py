"""The served kinds and their scopes without a cluster: built-in kinds, Sluice's own CRDs, and CRDs among the objects.

With a cluster, discovery is used instead (`cluster.api.param_kinds`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from webhook.api.crds.kinds import KINDS
from webhook.kube.gvk import GroupVersionKind
from webhook.kube.schemas import built_in_scopes
from webhook.kube.scope import Scope, Served

Object = dict[str, Any]
GroupKind = tuple[str, str]
_OWN: Final[Mapping[GroupKind, Served]] = {
    (row.group, row.kind): Served(
        Scope.NAMESPACED if row.namespaced else Scope.CLUSTER, frozenset(version.name for version in row.versions)
    )
    for row in KINDS
}
_VOLCANO: Final[Mapping[GroupKind, Served]] = {
    ("scheduling.volcano.sh", "Queue"): Served(Scope.CLUSTER, frozenset({"v1beta1"}))
}


@dataclass(frozen=True, slots=True)
class Scopes:
    """The scope of each kind; `defined` is what given CRDs say."""

    defined: Mapping[GroupKind, Served] = field(default_factory=dict)

    @classmethod
    def of(cls, objects: Iterable[Object]) -> Scopes:
        """Read the CustomResourceDefinitions among some objects."""
        specs = [o.get("spec") for o in objects if o.get("kind") == "CustomResourceDefinition"]
        return cls(dict(_definition(spec) for spec in specs if isinstance(spec, dict)))

    def scope(self, gvk: GroupVersionKind) -> Scope | None:
        """Return the scope of a kind, None where it is not served in this version.

        A kind of a foreign group that no CRD is given for counts as served, in namespaces.
        """
        found = self._served(gvk)
        if found is not None:
            return found.scope if gvk.version in found.versions else None
        return None if built_in(gvk.group) else Scope.NAMESPACED

    def clustered(self, gvk: GroupVersionKind) -> bool:
        """Return whether objects of this kind stand in no namespace; the version does not matter."""
        found = self._served(gvk)
        return found is not None and found.scope is Scope.CLUSTER

    def groups_of(self, kind: str) -> set[str]:
        """Return the groups that are known to have a kind."""
        return {group for table in self._tables for group, name in table if name == kind}

    def _served(self, gvk: GroupVersionKind) -> Served | None:
        key = (gvk.group, gvk.kind)
        return next((t[key] for t in self._tables if key in t), None)

    @property
    def _tables(self) -> tuple[Mapping[GroupKind, Served], ...]:
        return self.defined, _OWN, _VOLCANO, built_in_scopes()


def built_in(group: str) -> bool:
    """Return whether Kubernetes itself serves an API group."""
    return group in _built_in_groups()


@cache
def _built_in_groups() -> frozenset[str]:
    return frozenset(group for group, _ in built_in_scopes())


def _definition(spec: Mapping[str, Any]) -> tuple[GroupKind, Served]:
    names, versions = spec.get("names"), spec.get("versions")
    kind = names.get("kind") if isinstance(names, dict) else None
    served = frozenset(
        str(version.get("name"))
        for version in (versions if isinstance(versions, list) else ())
        if isinstance(version, dict) and version.get("served") is not False
    )
    scope = Scope.CLUSTER if spec.get("scope") == "Cluster" else Scope.NAMESPACED
    return (str(spec.get("group")), str(kind)), Served(scope, served)
