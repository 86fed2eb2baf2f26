"""A row of the table of features, with the fields by which an object asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FeatureState(StrEnum):
    """Whether a feature is there."""

    YES = "yes"
    PART = "partial"
    OTHER = "different"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Sign:
    """A field that asks for a feature: `path` in an object of the kind `of`; with `value`, only where it is that.

    `of` is a kind, `job` (any job kind, and the labels and annotations that its Workload took over), or `podSet` (an
    entry of `spec.podSets`: its template, and what stands beside it).
    """

    of: str
    path: tuple[str, ...]
    value: str = ""


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of Kueue or Volcano. `note` says what is so, or what is given up and the way out.

    `gates` are the feature gates of Kueue that belong to it, `test` is a file of the repository that shows it. One of
    state `no` with `signs` makes what asks for it wait, and is an error to lint; but where the gate `ignored_without`
    is set to false, as Kueue then ignores what asks for it.
    """

    name: str
    state: FeatureState
    note: str
    test: str = ""
    gates: tuple[str, ...] = ()
    signs: tuple[Sign, ...] = ()
    ignored_without: str = ""
