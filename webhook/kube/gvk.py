"""The names of API kinds and resources: group, version, kind or resource. Values only; nothing is looked up here.

They are keys of most maps: a named tuple is made and hashed in a third of the time of a data class.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple


class GroupVersionKind(NamedTuple):
    """A kind such as batch/v1 Job. The core group is the empty string."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """The `apiVersion` field of objects of this kind."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.api_version} {self.kind}"


class GroupVersionResource(NamedTuple):
    """A resource such as batch/v1 jobs, as in a URL and in matching rules."""

    group: str
    version: str
    resource: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version} {self.resource}" if self.group else f"{self.version} {self.resource}"


NAMESPACE: Final = GroupVersionKind("", "v1", "Namespace")
POD: Final = GroupVersionKind("", "v1", "Pod")
_KINDS: Final = 1024
"""The size of the caches below; a cluster has a few hundred kinds."""


@lru_cache(maxsize=_KINDS)
def kind_named(group: str, version: str, kind: str) -> GroupVersionKind:
    """Return the kind of these names; the same one each time, as every request names one."""
    return GroupVersionKind(group, version, kind)


@lru_cache(maxsize=_KINDS)
def resource_named(group: str, version: str, resource: str) -> GroupVersionResource:
    """Return the resource of these names; the same one each time."""
    return GroupVersionResource(group, version, resource)


def split_api_version(api_version: str) -> tuple[str, str]:
    """Split `group/version`; a lone version belongs to the core group."""
    group, slash, version = api_version.rpartition("/")
    return (group, version) if slash else ("", api_version)


def gvk_of(obj: Mapping[str, Any]) -> GroupVersionKind:
    """Return the kind of an object by its apiVersion and kind; absent fields become empty strings."""
    group, version = split_api_version(str(obj.get("apiVersion") or ""))
    return GroupVersionKind(group, version, str(obj.get("kind") or ""))
