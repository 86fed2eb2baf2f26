"""The model of a job: its kind, whether it is suspended, and its pod sets.

Values only. The table of kinds is in `kinds.py`; objects are read in `read_job.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from webhook.kube.gvk import GroupVersionKind

Path = tuple[str | int, ...]
GroupKind = tuple[str, str]
Nodes = Sequence[Any]
"""The nodes on the path to a template: the object first, the parent of the template last."""
Count = Callable[[Nodes], int]
"""Returns the number of pods of a template from the nodes on its path."""


@dataclass(frozen=True, slots=True)
class Template:
    """Where an object has the pod templates of one role.

    `path` leads to the template; `*` matches each key of a map, `[]` each item of a list. `name` is the pod set's name;
    if it is empty, the map's key (in lower case) or the item's `name` is used. `count` returns the number of pods.
    """

    path: tuple[str, ...]
    count: Count
    name: str = ""
    order: tuple[str, ...] = ()
    """The order of a map's keys in the kind's controller; other keys follow in alphabetical order."""
    made: Callable[[Any], dict[str, Any]] | None = None
    """Makes a template of a node that is none (`spec.driver` of a SparkApplication); rules may only read it."""
    flat: bool = False
    """Whether the node itself has the fields of an admission: node selector, tolerations, labels and annotations."""
    default: Callable[[Any], dict[str, Any] | None] | None = None
    """Returns the controller's default if the object has no template; an admission writes it."""
    grown: Callable[[Nodes, dict[str, Any]], dict[str, Any]] | None = None
    """Returns the template with the containers and requests that the kind's controller adds; they count as quota."""
    straight: bool = field(init=False)
    """Whether the path has no wildcards and so at most one match."""

    def __post_init__(self) -> None:
        """Compute `straight`."""
        object.__setattr__(self, "straight", "*" not in self.path and "[]" not in self.path)


@dataclass(frozen=True, slots=True)
class JobPodSet:
    """Pods of one role: `count` of them, made from `template` at `path` of the object.

    `min_count` is the least number the job can run with; None if it needs all.
    """

    name: str
    count: int
    template: dict[str, Any]
    path: Path
    min_count: int | None = None
    made: bool = False
    """The template is made up from other fields: rules may read it, but a patch cannot be mapped back."""
    place: Path | None = None
    """Where an admission is written if not to the template; None with a made-up template means nowhere."""
    flat: bool = False
    """The node at `place` has the fields itself: node selector, tolerations, labels, annotations."""
    jobs: int = 1
    """The number of Jobs of equal size that make these pods, if the kind counts finished Jobs."""
    absent: bool = False
    """The object has no template at `path`: this is the controller's default."""


SetsOf = Callable[[dict[str, Any]], tuple[JobPodSet, ...]]


@dataclass(frozen=True, slots=True)
class Runtime:
    """How a job is read whose templates are in another object.

    `named` returns kind and name of that object, None if the job refers to none that is known; `pod_sets` reads both.
    """

    named: Callable[[dict[str, Any]], tuple[GroupVersionKind, str] | None]
    pod_sets: Callable[[dict[str, Any], dict[str, Any]], tuple[JobPodSet, ...]]


@dataclass(frozen=True, slots=True)
class JobKind:
    """One row of the table of job kinds.

    `suspend_path` is the kind's own field, None if it has none (a Pod is held by its `gate`, a Deployment by the gates
    of its pods). `versions` are the API versions that the row describes, the preferred one first. `note` explains what
    may be surprising.
    """

    group: str
    versions: tuple[str, ...]
    kind: str
    resource: str
    suspend_path: tuple[str, ...] | None
    templates: tuple[Template, ...]
    min_count_annotation: str = ""
    queued: bool = True
    """Whether the object itself is queued; not a CronJob (its Jobs are), nor a Deployment (its Pods are)."""
    reader: Callable[[dict[str, Any], SetsOf], tuple[JobPodSet, ...]] | None = None
    """Reads the pod sets of a kind whose templates have no fixed path (AppWrapper); takes a reader for wrapped ones."""
    spread: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Returns an object with its settings for all roles copied into each, if the kind allows only one of both."""
    opened: Callable[[dict[str, Any], tuple[JobPodSet, ...]], dict[str, Any]] | None = None
    """Returns an object with empty values at the places where an admission is written."""
    closed: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Returns an object without these values and the admission in them."""
    runtime: Runtime | None = None
    """Another object that has the templates (TrainJob); without it, `templates` are read."""
    note: str = ""
    priority_paths: tuple[tuple[str, ...], ...] = ()
    """Paths of the kind's own PriorityClass names; they take precedence over the templates'."""
    makes: tuple[GroupKind, ...] = ()
    """The kinds of objects that the kind's controller creates and owns as controller (`owners.py`)."""
    wraps: bool = False
    """Whether the objects that it creates are embedded in its spec (AppWrapper), and no others are created."""
    elsewhere: tuple[str, ...] = ()
    """A field that selects existing pods: if set, the object creates none, and is not held."""
    cluster: tuple[str, ...] = ()
    """Path in the status of the name of its RayCluster, where an autoscaler sets the worker counts."""
    elastic: bool = False
    """Whether a job of this kind can change its size while it runs, by a gate in its template (`elastic.py`)."""
    grouped: bool = False
    """Whether its pods are queued in groups that follow from the object (`pod_parents.py`)."""
    gate: str = ""
    """The scheduling gate that holds an object without suspend field: it is removed once, never added again."""

    @property
    def held(self) -> bool:
        """Whether a queue can hold the object until it is admitted; only Volcano itself can hold its Job."""
        return self.queued and (self.suspend_path is not None or bool(self.gate))

    @property
    def framework(self) -> str:
        """The name of the kind in Kueue's `integrations.frameworks`."""
        kind = self.kind.lower()
        return kind if self.group in ("", "apps") else f"{self.group}/{kind}"

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind in its preferred version."""
        return GroupVersionKind(self.group, self.versions[0], self.kind)


@dataclass(frozen=True, slots=True)
class Job:
    """An object that makes pods. `suspended` is None if the kind has no such field.

    `queue` is the label `kueue.x-k8s.io/queue-name`, else the annotation of that name. `priority_class` is the label
    `kueue.x-k8s.io/priority-class` (a WorkloadPriorityClass), `pod_priority_class` the PriorityClass of its pods.
    """

    kind: JobKind
    suspended: bool | None
    pod_sets: tuple[JobPodSet, ...]
    queue: str | None
    priority_class: str | None
    pod_priority_class: str | None = None
    scaled: str = ""
    """The generation of the object that has the pod counts, if that is not the job itself."""
