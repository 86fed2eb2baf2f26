"""Turns Kubernetes objects into the queue core's snapshot or events.

Reads kueue.x-k8s.io v1beta1 and v1beta2, Volcano's Queue and PodGroup, and related objects; other kinds are ignored.
Objects are not validated: the API server and `lint` do that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from webhook.api import volcano
from webhook.api.configuration.read import GROUP as CONFIGURATION
from webhook.api.configuration.sections import QueueSettings
from webhook.api.scopes import Scopes
from webhook.api.snapshot import queue_objects, slices
from webhook.api.snapshot import workload as load
from webhook.api.snapshot.workload import Surroundings, requeueing
from webhook.kube.gvk import GroupVersionKind, split_api_version
from webhook.kube.well_known import KUEUE
from webhook.queue.definitions import key_of
from webhook.queue.events import (
    Definition,
    DefinitionChanged,
    DefinitionGone,
    Event,
    WorkloadChanged,
    WorkloadGone,
)
from webhook.queue.model import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    Flavor,
    LocalQueue,
    Namespace,
    Snapshot,
    Workload,
)

Object = Mapping[str, Any]
_Key = tuple[type[Definition], str]
VOLCANO: Final = "scheduling.volcano.sh"
_Read = Callable[[Object, Mapping[str, bool]], Definition]
"""From an object, and the feature gates that are set, to the definition."""
QUOTA_KINDS: Final[Mapping[str, tuple[type[Definition], _Read]]] = {
    "ResourceFlavor": (Flavor, queue_objects.flavor),
    "ClusterQueue": (ClusterQueue, queue_objects.cluster_queue),
    "Cohort": (Cohort, queue_objects.cohort),
    "LocalQueue": (LocalQueue, queue_objects.local_queue),
    "AdmissionCheck": (AdmissionCheck, queue_objects.check),
}
MALFORMED: Final = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError)
"""What reading an object of odd types raises."""
VOLCANO_KINDS: Final = ("Queue", "PodGroup", "Node")
AROUND: Final = ("LimitRange", "PriorityClass", "WorkloadPriorityClass", "Configuration", "RuntimeClass")
"""Kinds that change how Workloads are read."""
_READ: Final[Mapping[str, Collection[str]]] = {
    KUEUE: (*QUOTA_KINDS, "Workload", "WorkloadPriorityClass"),
    VOLCANO: ("Queue", "PodGroup"),
    CONFIGURATION: ("Configuration",),
    "": ("Namespace", "ResourceQuota", "LimitRange", "Node"),
    "scheduling.k8s.io": ("PriorityClass",),
    "node.k8s.io": ("RuntimeClass",),
}
"""API group -> the kinds that are read."""
_NAMESPACED: Final = frozenset(
    kind
    for group, kinds in _READ.items()
    for kind in kinds
    if not Scopes().clustered(GroupVersionKind(group, "", kind))
)
PASSED_OVER: Final = 500
"""So many Workloads that do not name what changed are one step."""
SURROUNDINGS: Final = "surroundings"
"""Among the problems: of those kinds."""


def snapshot(objects: Iterable[Object], settings: QueueSettings | None = None) -> Snapshot:
    """Return the snapshot of a cluster's objects; their order does not matter, of equal names the last counts.

    `settings` count where no Configuration is among them.
    """
    return Reader(objects, settings=settings).snapshot()


class Reader:
    """Keeps the objects it has seen, so that one object's change becomes the events it causes.

    A malformed object raises what reading it does, unless the reader is `tolerant`: then `problems` says what is wrong
    with it, a Workload keeps what of it can be read (the quota it holds first), and a definition stays as it was.
    """

    def __init__(
        self,
        objects: Iterable[Object] = (),
        *,
        tolerant: bool = False,
        settings: QueueSettings | None = None,
        left_alone: Callable[[str, Mapping[str, str]], str] | None = None,
    ) -> None:
        """Take the objects. `settings` count where no Configuration is among them.

        `left_alone` says why jobs of a namespace, by its name and labels, are not started: their Workloads wait.
        """
        self._tolerant, self._settings, self._left_alone = tolerant, settings or QueueSettings(), left_alone
        self.problems: dict[str, str] = {}
        self._sent: dict[_Key, Definition] = {}
        self._of_volcano: dict[_Key, None] = {}
        self._objects: dict[str, dict[str, Object]] = {}
        for obj in objects:
            for item in obj.get("items") or () if str(obj.get("kind", "")).endswith("List") else (obj,):
                if kind := _kind(item):
                    self._objects.setdefault(kind, {})[_name(item)] = item
        self._in_namespace: dict[str, dict[str, None]] = {}
        for name in self._objects.get("Workload", {}):
            self._note(name, there=True)
        self._around = self._surroundings()
        self._workloads: dict[str, Workload] = {}
        self._heirs: dict[str, dict[str, None]] = {}

    def snapshot(self) -> Snapshot:
        """Return the snapshot of all objects seen."""
        definitions = self._definitions()
        self._sent = definitions
        self._workloads = self._all_workloads()
        by_type: dict[type[Any], list[Any]] = {}
        for (kind, _), definition in sorted(definitions.items(), key=lambda item: item[0][1]):
            by_type.setdefault(kind, []).append(definition)
        return Snapshot(
            flavors=tuple(by_type.get(Flavor, ())),
            cluster_queues=tuple(by_type.get(ClusterQueue, ())),
            cohorts=tuple(by_type.get(Cohort, ())),
            local_queues=tuple(by_type.get(LocalQueue, ())),
            namespaces=tuple(by_type.get(Namespace, ())),
            checks=tuple(by_type.get(AdmissionCheck, ())),
            workloads=tuple(w for _, w in sorted(self._workloads.items())),
            requeueing=requeueing(self._around.settings),
        )

    def changed(self, obj: Object) -> list[Event]:
        """Take note of an object that was added or changed, and give the events for a state built from `snapshot`."""
        return [event for step in self.in_steps(obj) for event in step]

    def gone(self, obj: Object) -> list[Event]:
        """Take note of an object that was deleted, and give the events."""
        return [event for step in self.in_steps(obj, gone=True) for event in step]

    def in_steps(self, obj: Object, *, gone: bool = False) -> Iterator[Sequence[Event]]:
        """Yield the same events in steps: a Workload each, where many go by the object."""
        kind, name = _kind(obj), _name(obj)
        found = self._objects.setdefault(kind, {}) if kind else {}
        before = found.get(name)
        if not kind or (gone and found.pop(name, None) is None):
            return
        if not gone:
            found[name] = obj
        if kind == "Workload":
            self._note(name, there=not gone)
            self._disinherit(name, before)
        if kind in AROUND:
            yield from self._around_changed(kind, obj)
            return
        yield self._events(kind, obj)
        if kind == "Namespace" and self._left_alone is not None:
            why = [self._left_alone(name, load.labels_of(each)) for each in (before, found.get(name))]
            if why[0] != why[1]:
                yield from self._reread(self._in_namespace.get(name, ()))

    def _events(self, kind: str, obj: Object) -> list[Event]:
        """Return what the change of one object comes to; only what depends on it is read again."""
        if kind == "Workload":
            return self._one(_name(obj), self._objects[kind].get(_name(obj)))
        if kind in VOLCANO_KINDS:
            before = self._of_volcano
            events = self._redefined(self._volcano(), before)
            return [*events, *self._differences(self._all_workloads())] if kind == "PodGroup" else events
        if kind in QUOTA_KINDS:
            made, read = QUOTA_KINDS[kind]
            return self._one_definition(made, read, kind, _name(obj))
        space = _name(obj).partition("/")[0]
        return self._one_definition(Namespace, self._namespace, "Namespace", space)

    def _around_changed(self, kind: str, obj: Object) -> Iterator[Sequence[Event]]:
        """Read the Workloads again that go by an object around them; all, where what is around cannot be read.

        Other settings change how definitions are read too.
        """
        is_odd, known = SURROUNDINGS in self.problems, self._around.known
        self._around = self._surroundings()
        if is_odd or SURROUNDINGS in self.problems or kind == "Configuration" or "PodGroup" in self._objects:
            if kind == "Configuration":
                yield self._redefined(self._definitions(), tuple(self._sent))
            yield self._differences(self._all_workloads())
            return
        self._around.known.update(load.still_known(known, kind, obj))
        if kind == "LimitRange":
            yield from self._reread(self._in_namespace.get(load.namespace_of(obj), ()))
        else:
            yield from self._reread(self._objects.get("Workload", ()), lambda workload: load.names(workload, kind, obj))

    def _reread(
        self, keys: Iterable[str], concerned: Callable[[Object], bool] = lambda _: True
    ) -> Iterator[Sequence[Event]]:
        workloads = self._objects.get("Workload", {})
        for number, key in enumerate(list(keys), 1):
            workload = workloads[key]
            if concerned(workload):
                yield self._one(key, workload)
            elif number % PASSED_OVER == 0:
                yield ()

    def _note(self, workload: str, *, there: bool) -> None:
        """Note that a Workload is in its namespace, or no longer."""
        namespace = workload.partition("/")[0]
        if there:
            self._in_namespace.setdefault(namespace, {})[workload] = None
        elif found := self._in_namespace.get(namespace):
            del found[workload]
            if not found:
                del self._in_namespace[namespace]

    def _disinherit(self, workload: str, before: Object | None) -> None:
        """Forget which Workload one replaced; reading it notes whom it replaces now."""
        replaced = slices.replaced(before) if before is not None else ""
        if heirs := self._heirs.get(replaced):
            heirs.pop(workload, None)
            if not heirs:
                del self._heirs[replaced]

    def _one_definition(self, made: type[Definition], read: _Read, kind: str, name: str) -> list[Event]:
        obj = self._objects.get(kind, {}).get(name)
        if obj is None:
            self.problems.pop(f"{made.__name__} {name}", None)
        definition = self._definition(made, read, obj) if obj is not None else None
        return self._redefined({(made, name): definition} if definition is not None else {}, {(made, name)})

    def _redefined(self, definitions: dict[_Key, Definition], before: Collection[_Key]) -> list[Event]:
        """Note definitions as they stand; those of `before` that are not among them are gone."""
        gone = [key for key in before if key not in definitions and self._sent.pop(key, None) is not None]
        changed = [key for key, definition in definitions.items() if self._sent.get(key) != definition]
        self._sent.update(definitions)
        return [*(DefinitionChanged(definitions[key]) for key in changed), *(DefinitionGone(*key) for key in gone)]

    def _volcano(self) -> dict[_Key, Definition]:
        """Read Volcano's queues, each of which depends on all the others."""
        queues = self._objects.get("Queue")
        found = volcano.definitions(queues.values(), self._all("PodGroup"), self._all("Node")) if queues else []
        definitions = {(kind, key_of(d)): d for kind, d in found}
        self._of_volcano = dict.fromkeys(definitions)
        return definitions

    def _namespace(self, obj: Object, gates: Mapping[str, bool]) -> Definition:
        space = str(obj["metadata"]["name"])
        return queue_objects.namespace(
            obj, [q for q in self._all("ResourceQuota") if q["metadata"].get("namespace") == space]
        )

    def _one(self, key: str, obj: Object | None) -> list[Event]:
        """Read a Workload again, and those that replace it: they ask for what it does not hold."""
        events = self._itself(key, obj)
        if not events:
            return events
        found = self._objects["Workload"]
        heirs = [other for other in self._heirs.get(key, ()) if other in found]
        return [*events, *(event for other in heirs for event in self._itself(other, found[other]))]

    def _itself(self, key: str, obj: Object | None) -> list[Event]:
        if obj is None:
            self.problems.pop(f"Workload {key}", None)
            return [WorkloadGone(key)] if self._workloads.pop(key, None) is not None else []
        workload = self._workload(obj)
        if self._workloads.get(key) == workload:
            return []
        self._workloads[key] = workload
        return [WorkloadChanged(workload)]

    def _differences(self, workloads: dict[str, Workload]) -> list[Event]:
        known, self._workloads = self._workloads, workloads
        events: list[Event] = [WorkloadChanged(w) for k, w in workloads.items() if known.get(k) != w]
        return [*events, *(WorkloadGone(k) for k in known if k not in workloads)]

    def _all(self, kind: str) -> Iterable[Object]:
        return self._objects.get(kind, {}).values()

    def _surroundings(self) -> Surroundings:
        found = {kind: tuple(self._all(kind)) for kind in AROUND}
        if not self._tolerant:
            return Surroundings.of(found, self._settings)
        try:
            around = Surroundings.of(found, self._settings)
        except MALFORMED as error:
            self.problems[SURROUNDINGS] = f"{', '.join(AROUND)}: {error!r}"
            return Surroundings(settings=self._settings)
        self.problems.pop(SURROUNDINGS, None)
        return around

    def _workload(self, obj: Object) -> Workload:
        """Read a Workload; of one that replaces another, what it asks for beyond that."""
        workload, before = self._alone(obj), slices.replaced(obj)
        if not before:
            return workload
        self._heirs.setdefault(before, {})[workload.key] = None
        old = self._objects["Workload"].get(before)
        return slices.beyond(workload, self._alone(old) if old is not None else None)

    def _alone(self, obj: Object) -> Workload:
        workload = self._read(obj)
        if workload.problem or self._left_alone is None or not load.has_job(obj):
            return workload
        namespace = self._objects.get("Namespace", {}).get(workload.namespace)
        return replace(workload, problem=self._left_alone(workload.namespace, load.labels_of(namespace)))

    def _read(self, obj: Object) -> Workload:
        if not self._tolerant:
            return load.workload(obj, self._around)
        key = f"Workload {_name(obj)}"
        try:
            workload = load.workload(obj, self._around)
        except MALFORMED as error:
            self.problems[key] = repr(error)
            return self._part(obj, f"the Workload cannot be read: {error!r}")
        self.problems.pop(key, None)
        return workload

    def _part(self, obj: Object, problem: str) -> Workload:
        """Read what can be read of a malformed Workload: without its pod sets, else by name only."""
        namespace, _, name = _name(obj).partition("/")
        try:
            spec = {**obj["spec"], "podSets": []}
            return replace(load.workload({**obj, "spec": spec}, self._around), problem=problem)
        except MALFORMED:
            return Workload(namespace, name, problem=problem)

    def _definition(self, made: type[Definition], read: _Read, obj: Object) -> Definition | None:
        if not self._tolerant:
            return self._counting(read(obj, self._around.settings.feature_gates))
        key = f"{made.__name__} {_name(obj)}"
        try:
            definition = self._counting(read(obj, self._around.settings.feature_gates))
        except MALFORMED as error:
            self.problems[key] = repr(error)
            return self._sent.get((made, _name(obj)))
        self.problems.pop(key, None)
        return definition

    def _counting(self, definition: Definition) -> Definition:
        """Return a ClusterQueue with what the settings say: of resources that no group covers, and of past usage."""
        settings = self._around.settings
        if isinstance(definition, ClusterQueue) and settings.ignores_undeclared:
            definition = replace(definition, ignores_undeclared=True)
        if isinstance(definition, ClusterQueue) and not settings.orders_by_usage:
            definition = replace(definition, admission_mode="")
        return definition

    def _all_workloads(self) -> dict[str, Workload]:
        workloads = {name: self._workload(obj) for name, obj in self._objects.get("Workload", {}).items()}
        for group in self._all("PodGroup"):
            made = volcano.workload(group, self._around)
            workloads.setdefault(made.key, made)
        return workloads

    def _definitions(self) -> dict[_Key, Definition]:
        readers = {**QUOTA_KINDS, "Namespace": (Namespace, self._namespace)}
        found = {
            (made, key_of(definition)): definition
            for kind, (made, read) in readers.items()
            for obj in self._all(kind)
            if (definition := self._definition(made, read, obj)) is not None
        }
        return {**found, **self._volcano()}


def _kind(obj: Object) -> str:
    """Return the kind of an object that matters here, "" for any other."""
    kind = str(obj.get("kind") or "")
    group, _ = split_api_version(str(obj.get("apiVersion") or ""))
    return kind if kind in _READ.get(group, ()) else ""


def _name(obj: Object) -> str:
    metadata = obj.get("metadata") or {}
    name = str(metadata.get("name") or "")
    return f"{metadata.get('namespace') or 'default'}/{name}" if obj.get("kind") in _NAMESPACED else name
