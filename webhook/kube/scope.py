"""The scope of a kind: namespaced or cluster-scoped."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Scope(StrEnum):
    """A kind's scope, in the words of a CustomResourceDefinition."""

    NAMESPACED = "Namespaced"
    CLUSTER = "Cluster"


@dataclass(frozen=True, slots=True)
class Served:
    """The scope of a kind, and the versions that it is served in."""

    scope: Scope
    versions: frozenset[str]
