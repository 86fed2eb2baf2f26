"""Which jobs are looked at again after a change of something else: those that it concerns, some at a time.

A namespace and its LimitRanges concern what is in it; a class, a runtime or a ClusterQueue those that name it; a
flavor that comes back those that could not start without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from webhook.cluster.api.kinds import (
    CLUSTER_QUEUE,
    FLAVOR,
    LIMIT_RANGE,
    MANAGED,
    PARENTS,
    PRIORITY_CLASS,
    RUNTIMES,
    WORKLOAD,
    WORKLOAD_CLASS,
)
from webhook.cluster.api.view import View
from webhook.cluster.core.changes import matters_to_jobs
from webhook.cluster.jobs.managed import JobKey, key_of_job, keys_of_parents
from webhook.cluster.jobs.workloads_of_jobs import JobWorkloads
from webhook.cluster.pace import Pass, in_slices
from webhook.jobs.kinds import KINDS as JOB_KINDS
from webhook.jobs.read_job import PRIORITY, row_of
from webhook.kube.fields import at
from webhook.kube.gvk import NAMESPACE, GroupVersionKind
from webhook.store.objects import Object, key_of

_HAVE_RUNTIMES: Final = frozenset((gvk.group, gvk.kind) for gvk in RUNTIMES)


@dataclass(frozen=True, slots=True)
class _Cause:
    """What changed, by kind and name. `is_default` says that it is, or was, the PriorityClass of those without one."""

    kind: tuple[str, str]
    namespace: str
    name: str
    is_default: bool = False


EVERYTHING: Final = _Cause(("", ""), "", "")


class AffectedJobs:
    """Hears of changes, and gives `add` the keys of the jobs that they concern while `run` runs."""

    def __init__(self, view: View, workloads: JobWorkloads, add: Callable[[JobKey], None]) -> None:
        self._view, self._workloads, self._add = view, workloads, add
        self._causes: dict[_Cause, None] = {}
        self._news = asyncio.Event()

    def heard(self, gvk: GroupVersionKind, old: Object | None, new: Object | None) -> None:
        """Take note of a change in the view."""
        obj = new if new is not None else old
        is_new_flavor = gvk == FLAVOR and old is None
        if obj is None or not (is_new_flavor or matters_to_jobs(gvk, old, new)):
            return
        is_default = any((side or {}).get("globalDefault") is True for side in (old, new))
        self._causes[_Cause((gvk.group, gvk.kind), *key_of(obj), is_default)] = None
        self._news.set()

    async def run(self) -> None:
        """Add every job there is, then those that changes concern, until this is cancelled."""
        self._causes = {EVERYTHING: None}
        while True:
            self._news.clear()
            while self._causes:
                cause = next(iter(self._causes))
                del self._causes[cause]
                await in_slices(self._pass(cause))
            await self._news.wait()

    def _pass(self, cause: _Cause) -> Pass[None]:
        for key in self._keys(cause):
            if key is not None:
                self._add(key)
            yield

    def _keys(self, cause: _Cause) -> Iterator[JobKey | None]:
        """Return the keys of jobs, and None for each object that is looked at in vain."""
        if cause.kind in _HAVE_RUNTIMES:
            return self._with_runtime(cause)
        if cause.kind == (WORKLOAD_CLASS.group, WORKLOAD_CLASS.kind):
            return chain(self._of_class(cause.name), self._of_workloads(lambda workload: _keeps_class(workload, cause)))
        if cause.kind == (PRIORITY_CLASS.group, PRIORITY_CLASS.kind):
            workloads = self._of_workloads(lambda workload: _names_class(workload, cause))
            return chain(workloads, self._that_say(cause.name))
        if cause.kind == (CLUSTER_QUEUE.group, CLUSTER_QUEUE.kind):
            return self._of_workloads(lambda w: at(w, ("status", "admission", "clusterQueue")) == cause.name)
        if cause.kind == (FLAVOR.group, FLAVOR.kind):
            return self._of_workloads(lambda workload: cause.name in _flavors(workload))
        of_namespace = {(LIMIT_RANGE.group, LIMIT_RANGE.kind): cause.namespace}
        of_namespace[NAMESPACE.group, NAMESPACE.kind] = cause.name
        return self._in(of_namespace.get(cause.kind))

    def _in(self, namespace: str | None) -> Iterator[JobKey | None]:
        """Return all jobs of a namespace, or of all of them."""
        for gvk in MANAGED:
            yield from map(key_of_job, self._view.informer(gvk).all(namespace))
        for gvk in PARENTS:
            for parent in self._view.informer(gvk).all(namespace):
                yield next(keys_of_parents(parent))
        yield from map(self._workloads.job_of, self._view.informer(WORKLOAD).all(namespace))

    def _with_runtime(self, cause: _Cause) -> Iterator[JobKey | None]:
        for gvk in MANAGED:
            for job in self._view.informer(gvk).all(cause.namespace or None):
                kind = row_of(job)
                named = kind.runtime.named(job) if kind is not None and kind.runtime is not None else None
                names_it = named is not None and (named[0].kind, named[1]) == (cause.kind[1], cause.name)
                yield key_of_job(job) if names_it else None

    def _of_class(self, name: str) -> Iterator[JobKey | None]:
        for gvk in MANAGED:
            for job in self._view.informer(gvk).all():
                yield key_of_job(job) if _label(job) == name else None
        for gvk in PARENTS:
            for parent in self._view.informer(gvk).all():
                yield next(keys_of_parents(parent)) if _label(parent) == name else None

    def _that_say(self, name: str) -> Iterator[JobKey | None]:
        """Return the jobs that name a PriorityClass beside their pods: a Workload has it only if the class exists."""
        for kind in JOB_KINDS:
            for job in self._view.informer(kind.gvk).all() if kind.priority_paths else ():
                names_it = any(at(job, path) == name for path in kind.priority_paths)
                yield key_of_job(job) if names_it else None

    def _of_workloads(self, concerns: Callable[[Object], bool]) -> Iterator[JobKey | None]:
        """Return the jobs of Workloads; one that has none yet is looked at anyway, and one of a group by its parent."""
        for workload in self._view.informer(WORKLOAD).all():
            if not concerns(workload):
                yield None
                continue
            yield self._workloads.job_of(workload)
            yield from keys_of_parents(workload)


def _label(job: Object) -> Any:
    return (at(job, ("metadata", "labels")) or {}).get(PRIORITY)


def _flavors(workload: Object) -> Iterator[str]:
    """Return the flavors that the admission of a Workload names."""
    for assignment in at(workload, ("status", "admission", "podSetAssignments")) or ():
        yield from (assignment.get("flavors") or {}).values()


def _keeps_class(workload: Object, cause: _Cause) -> bool:
    """Return whether a Workload names a WorkloadPriorityClass, which its job need not."""
    ref = at(workload, ("spec", "priorityClassRef")) or {}
    return (ref.get("kind"), ref.get("name")) == (cause.kind[1], cause.name)


def _names_class(workload: Object, cause: _Cause) -> bool:
    """Return whether a Workload has its priority from a PriorityClass: one that it names, or the one of all others."""
    ref = at(workload, ("spec", "priorityClassRef")) or {}
    if ref.get("kind") == WORKLOAD_CLASS.kind:
        return False
    pods = at(workload, ("spec", "podSets")) or ()
    named = {ref.get("name"), *(at(each, ("template", "spec", "priorityClassName")) for each in pods)} - {None}
    return cause.name in named or (cause.is_default and not named)
