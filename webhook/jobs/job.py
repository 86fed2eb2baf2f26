"""What a job is to Sluice: its kind, whether it is suspended, and the sets of pods it will make.

Values only. The table of kinds is in `kinds.py`, reading an object in `describe.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from webhook.kube.gvk import GroupVersionKind

Path = tuple[str | int, ...]
GroupKind = tuple[str, str]
Nodes = Sequence[Any]
"""The nodes on the way to a template: the object first, the one that holds the template last."""
Count = Callable[[Nodes], int]
"""From the nodes on the way to a template to its number of pods."""


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
    made: Callable[[Any], dict[str, Any]] | None = None
    """Makes a template out of a node that is none (`spec.driver` of a SparkApplication); rules only read it."""
    flat: bool = False
    """Whether that node has by itself what an admission writes: node selector, tolerations, labels and annotations."""
    default: Callable[[Any], dict[str, Any] | None] | None = None
    """Gives what the kind's controller takes where the object has no template; with an admission it is written."""
    grown: Callable[[Nodes, dict[str, Any]], dict[str, Any]] | None = None
    """Gives the template as the pods hold quota: with containers and requests that the kind's controller adds."""
    straight: bool = field(init=False)
    """Whether the path leads to one place at most."""

    def __post_init__(self) -> None:
        """Look for wildcards, once."""
        object.__setattr__(self, "straight", "*" not in self.path and "[]" not in self.path)


@dataclass(frozen=True, slots=True)
class JobPodSet:
    """Pods of one role: `count` of them, made from `template`, which stands at `path` of the object.

    `min_count` is the least number the job can run with (None: it needs all).
    """

    name: str
    count: int
    template: dict[str, Any]
    path: Path
    min_count: int | None = None
    made: bool = False
    """The template is made up from fields that are none; rules may read it, but a patch cannot be mapped back."""
    place: Path | None = None
    """Where an admission writes, where that is not the template; None with a template that is made up: nowhere."""
    flat: bool = False
    """The fields at `place` stand side by side there: node selector, tolerations, labels, annotations."""
    jobs: int = 1
    """How many Jobs of equal size make these pods, where the kind counts Jobs that have ended."""
    absent: bool = False
    """The object has no template at `path` yet: this is the one that its controller would take."""


SetsOf = Callable[[dict[str, Any]], tuple[JobPodSet, ...]]


@dataclass(frozen=True, slots=True)
class Runtime:
    """How the pods of a job are read where their templates stand in another object.

    `named` gives kind and name of that object, None where the job names none that is known; `pod_sets` reads both.
    """

    named: Callable[[dict[str, Any]], tuple[GroupVersionKind, str] | None]
    pod_sets: Callable[[dict[str, Any], dict[str, Any]], tuple[JobPodSet, ...]]


@dataclass(frozen=True, slots=True)
class JobKind:
    """One row of the table of job kinds.

    `suspend_path` is the kind's own field, None where it has none (a Pod is held by its `gate`, a Deployment by the
    gates of its pods). `versions` are the API versions the row is right for, the preferred one first.
    `note` says what a reader would trip over.
    """

    group: str
    versions: tuple[str, ...]
    kind: str
    resource: str
    suspend_path: tuple[str, ...] | None
    templates: tuple[Template, ...]
    min_count_annotation: str = ""
    queued: bool = True
    """Whether the object itself waits in a queue; a CronJob does not (its Jobs do), nor a Deployment (its Pods do)."""
    reader: Callable[[dict[str, Any], SetsOf], tuple[JobPodSet, ...]] | None = None
    """Reads the pod sets of a kind whose templates no path can name (AppWrapper), with a reader for what it wraps."""
    spread: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Gives an object with what it says for all its roles said in each of them, where the kind refuses both."""
    opened: Callable[[dict[str, Any], tuple[JobPodSet, ...]], dict[str, Any]] | None = None
    """Gives an object with room for an admission at the places of its pod sets, where they hold nothing else."""
    closed: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Takes that room away again, and with it the admission."""
    runtime: Runtime | None = None
    """Another object that has the templates (TrainJob); `templates` are what is read without it."""
    note: str = ""
    priority_paths: tuple[tuple[str, ...], ...] = ()
    """Where the kind names a PriorityClass of its own, before the templates are asked."""
    makes: tuple[GroupKind, ...] = ()
    """The kinds of the objects that the kind's controller makes and names itself as controller of (`owners.py`)."""
    wraps: bool = False
    """Whether the objects it makes stand whole in its own spec (AppWrapper), and nothing else is made."""
    elsewhere: tuple[str, ...] = ()
    """A field that names pods that are there already: where it is set, the object makes none, and is not held."""
    cluster: tuple[str, ...] = ()
    """Where its status names the RayCluster that it made: an autoscaler writes there how many workers there are."""
    elastic: bool = False
    """Whether a job of this kind can change its size while it runs, by a gate in its template (`elastic.py`)."""
    grouped: bool = False
    """Whether its pods are queued in groups that the object says beforehand (`pod_parents.py`)."""
    gate: str = ""
    """The scheduling gate that holds the object, where it has no suspend field: taken off once, never put back."""

    @property
    def held(self) -> bool:
        """Whether a queue can hold the object until its quota is there; Volcano's Job is held by Volcano alone."""
        return self.queued and (self.suspend_path is not None or bool(self.gate))

    @property
    def framework(self) -> str:
        """The name that Kueue's `integrations.frameworks` has for the kind."""
        kind = self.kind.lower()
        return kind if self.group in ("", "apps") else f"{self.group}/{kind}"

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind in its preferred version."""
        return GroupVersionKind(self.group, self.versions[0], self.kind)


@dataclass(frozen=True, slots=True)
class Job:
    """An object that makes pods. `suspended` is None where the kind has no such field.

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
    """The generation of the object that says how many pods there are, where that is not the job itself."""
