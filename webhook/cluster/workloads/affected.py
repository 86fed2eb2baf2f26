"""Finds the Workloads affected by a change of a queue or a priority class, in steps."""

from __future__ import annotations

from collections.abc import Callable, Collection

from webhook.cluster.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD, WORKLOAD_CLASS
from webhook.cluster.api.view import View
from webhook.cluster.pace import Pass, every
from webhook.jobs.read_job import QUEUE
from webhook.kube.fields import at
from webhook.store.objects import Object, key_of

Cause = tuple[str, str, str]
"""Kind, namespace and name of the changed object."""


def every_workload(view: View) -> Pass[list[str]]:
    """Return, in steps, the keys of all Workloads."""
    return _named(view.informer(WORKLOAD).all(), lambda _: True)


def affected(view: View, causes: Collection[Cause]) -> Pass[list[str]]:
    """Return, in steps, the keys of Workloads that use a changed queue or WorkloadPriorityClass."""
    keys: list[str] = []
    for kind, namespace, name in causes:
        if kind == LOCAL_QUEUE.kind:
            keys += yield from _named(view.informer(WORKLOAD).of(namespace, (QUEUE, name)), lambda _: True)
    queues = {name for kind, _, name in causes if kind == CLUSTER_QUEUE.kind}
    classes = {name for kind, _, name in causes if kind == WORKLOAD_CLASS.kind}
    if not queues and not classes:
        return keys
    local_queues = {
        key_of(local) for local in view.informer(LOCAL_QUEUE).all() if at(local, ("spec", "clusterQueue")) in queues
    }

    def concerns(workload: Object) -> bool:
        local_queue = key_of(workload)[0], at(workload, ("spec", "queueName"))
        holder, class_ = ("status", "admission", "clusterQueue"), ("spec", "priorityClassRef", "name")
        return local_queue in local_queues or at(workload, holder) in queues or at(workload, class_) in classes

    keys += yield from _named(view.informer(WORKLOAD).all(), concerns)
    return keys


def _named(workloads: list[Object], concerns: Callable[[Object], bool]) -> Pass[list[str]]:
    names: list[str] = []
    for pause, workload in every(workloads):
        if concerns(workload):
            names.append("/".join(key_of(workload)))
        if pause:
            yield
    return names
