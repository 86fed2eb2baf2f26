"""What a job is to Sluice: its kind, whether it is suspended, and the sets of pods it will make.

Values only. The table of kinds is in `kinds.py`, reading an object in `describe.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from webhook.kube.gvk import GroupVersionKind

Path = tuple[str | int, ...]
Count = Callable[[Sequence[Any]], int]
"""From the nodes on the way to a template (the object first, the template's holder last) to its number of pods."""


@dataclass(frozen=True, slots=True)
class Template:
    """Where pod templates of one role stand in an object.

    `path` leads to the template; `*` stands for each key of a map, `[]` for each item of a list. `name` is the pod
    set's name; where it is empty, the map's key (in lower case) or the item's `name` is. `count` gives the pods.
    """

    path: tuple[str, ...]
    count: Count
    name: str = ""
    order: tuple[str, ...] = ()
    """The order of a map's keys that the kind's controller has; other keys follow in alphabetical order."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of the table of job kinds.

    `suspend_path` is the kind's own field, None where it has none (a Pod is held by a scheduling gate, a Deployment
    by the gates of its pods). `versions` are the API versions the row is right for, the preferred one first.
    `note` says what a reader would trip over.
    """

    group: str
    versions: tuple[str, ...]
    kind: str
    resource: str
    suspend_path: tuple[str, ...] | None
    templates: tuple[Template, ...]
    min_count_annotation: str = ""
    note: str = ""
    priority_paths: tuple[tuple[str, ...], ...] = ()
    """Where the kind names a PriorityClass of its own, before the templates are asked."""

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind in its preferred version."""
        return GroupVersionKind(self.group, self.versions[0], self.kind)


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods of one role: `count` of them, made from `template`, which stands at `path` of the object.

    `min_count` is the least number the job can run with (None: it needs all).
    """

    name: str
    count: int
    template: dict[str, Any]
    path: Path
    min_count: int | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """An object that makes pods. `suspended` is None where the kind has no such field.

    `queue` is the label `kueue.x-k8s.io/queue-name`, else the annotation of that name. `priority_class` is the label
    `kueue.x-k8s.io/priority-class` (a WorkloadPriorityClass), `pod_priority_class` the PriorityClass of its pods.
    """

    kind: Kind
    suspended: bool | None
    pod_sets: tuple[PodSet, ...]
    queue: str | None
    priority_class: str | None
    pod_priority_class: str | None = None
