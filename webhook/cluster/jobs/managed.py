"""Which objects are jobs that the queues hold, and which Workload belongs to which. Reads the view, writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from webhook.api.configuration.managed import managed
from webhook.api.configuration.sections import QueueSettings
from webhook.api.job_to_workload import JOB_UID_LABEL, workload_name
from webhook.cluster.api.kinds import LABELS, MANAGED, PARENTS, WORKLOAD
from webhook.cluster.api.view import View
from webhook.jobs.elastic import is_elastic, scaled
from webhook.jobs.job import Job
from webhook.jobs.kinds import KINDS
from webhook.jobs.owners import admits, controller_of, is_external, stand_in
from webhook.jobs.pod_groups import group_of
from webhook.jobs.pod_parents import is_shaped, parent_of
from webhook.jobs.read_job import is_held, read_job
from webhook.jobs.train_job import RUNTIME
from webhook.kube.fields import at
from webhook.kube.gvk import NAMESPACE, POD, GroupVersionKind, gvk_of, split_api_version
from webhook.store.objects import ALL, Object, has_labels, key_of, uid_of

Labels = dict[str, str]
Opted = Callable[[Labels], bool]
"""Whether the labels of a namespace put its jobs under the queues' rule."""

RAY_CLUSTER: Final = GroupVersionKind("ray.io", "v1", "RayCluster")
MANAGED_KINDS = frozenset((gvk.group, gvk.kind) for gvk in MANAGED)


@dataclass(frozen=True, slots=True)
class JobKey:
    """A job object, by name and uid: another of the same name is another job."""

    gvk: GroupVersionKind
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.gvk.kind} {self.namespace}/{self.name}"

    @property
    def workload(self) -> str:
        """The name of the job's Workload."""
        return workload_name(self.gvk.kind, self.gvk.group, self.name, self.uid)


IS_GROUP: Final = "kueue.x-k8s.io/is-group-workload"
"""The annotation, "true", of a Workload that belongs to a group of pods."""
OWNER_KIND: Final = "kueue.x-k8s.io/job-owner-gvk"
OWNER_NAME: Final = "kueue.x-k8s.io/job-owner-name"
GROUP_INDEX: Final = "kueue.x-k8s.io/component-workload-index"
"""Annotations of a Workload: of what it is the group, and which of its groups."""
OF_GROUP: Final = "group"
"""Stands for the uid in the key of a group of pods, which is no object."""
OF_PARENT: Final = "parent"
"""Stands for the uid in the key of an object whose pods are queued in groups: they name it by its name."""

LOST: Final = "lost"
"""Stands for the uid in the key of a Workload that names its job by a label alone, and so is found by its own name."""


def key_of_group(namespace: str, name: str) -> JobKey:
    """Return the key of a group of pods, whose name is that of its Workload."""
    return JobKey(POD, namespace, name, OF_GROUP)


def key_of_job(job: Object) -> JobKey:
    """Return the key of a job object; of a pod in a group that of the group."""
    namespace, name = key_of(job)
    if group := group_of(job):
        return key_of_group(namespace, group)
    return JobKey(gvk_of(job), namespace, name, uid_of(job))


def keys_of_parents(obj: Object) -> Iterator[JobKey]:
    """Return the keys of the objects whose pods are queued in groups, and with whom this object has to do."""
    namespace, name = key_of(obj)
    gvk = gvk_of(obj)
    if any((gvk.group, gvk.kind) == (each.group, each.kind) for each in PARENTS):
        yield JobKey(gvk, namespace, name, OF_PARENT)
    named = [(owner.get("kind"), owner.get("name")) for owner in at(obj, ("metadata", "ownerReferences")) or ()]
    if gvk.kind == POD.kind and (parent := parent_of(obj)) is not None:
        named = [parent]
    for kind, of in named:
        yield from (JobKey(each, namespace, str(of), OF_PARENT) for each in PARENTS if each.kind == kind)


def key_of_owner(workload: Object) -> JobKey | None:
    """Return the key of the job that a Workload belongs to, by its controller reference."""
    reference = controller_of(workload)
    if reference is None:
        return None
    group, version = split_api_version(str(reference.get("apiVersion") or ""))
    gvk = GroupVersionKind(group, version, str(reference.get("kind") or ""))
    if (group, gvk.kind) not in MANAGED_KINDS:
        return None
    return JobKey(gvk, key_of(workload)[0], str(reference.get("name") or ""), str(reference.get("uid") or ""))


def key_of_maker(obj: Object) -> JobKey | None:
    """Return the key of the job that made a RayCluster, and that may follow its size."""
    reference = controller_of(obj) if gvk_of(obj).kind == RAY_CLUSTER.kind else None
    made = next((row.gvk for row in KINDS if row.cluster and reference and row.kind == reference.get("kind")), None)
    if made is None or reference is None:
        return None
    return JobKey(made, key_of(obj)[0], str(reference.get("name")), str(reference.get("uid")))


def key_of_lost(workload: Object) -> JobKey | None:
    """Return the key of a Workload that had a job and lost the reference to it, as the garbage collector does.

    It does where a job is deleted and what it owned is not (`kubectl delete --cascade=orphan`); the label stays.
    """
    if at(workload, ("metadata", "ownerReferences")) or not lost_job(workload):
        return None
    return JobKey(WORKLOAD, *key_of(workload), LOST)


def lost_job(workload: Object) -> str:
    """Return the UID of the job that a Workload was made for; empty where it was made by hand."""
    return str((at(workload, ("metadata", "labels")) or {}).get(JOB_UID_LABEL) or "")


class ManagedJobs:
    """Which objects are jobs that the queues hold: by their namespace, their kind, and whether they name a queue."""

    def __init__(self, view: View, opted: Opted, settings: QueueSettings) -> None:
        """Take the namespaces that opted in. The settings may leave some out, and take in jobs without a queue."""
        self._view, self._opted = view, opted
        self._unnamed, self._managed = settings.manage_jobs_without_queue_name, managed(settings)

    def read(self, job: Object) -> Job | None:
        """Read an object as a job that a queue holds, None where it is none.

        A Pod is only ours where it was created with our gate: a Pod that ran before cannot be held, only deleted. The
        pods of a kind that is queued are, whether plain ones are or not.
        """
        described = self.read_owner(job)
        return described if described is not None and described.pod_sets else None

    def read_owner(self, job: Object) -> Job | None:
        """Read a job as one that a queue holds, with pods or without: what it makes waits for it."""
        described = self._described(job)
        if described is None or not is_held(job, described.kind):
            return None
        if not described.queue and not self._unnamed:
            return None
        return described if self._is_managed(job, described) else None

    def lacks_pods(self, job: Object) -> str:
        """Return why a job that a queue holds has no pods, so that it can never start; empty where it has some."""
        described = self.read_owner(job)
        if described is None or described.pod_sets:
            return ""
        named = self._runtime(job, described)
        return f'{named[0].kind} "{named[1]}" not found, or it has no pods' if named else "the job has no pods"

    def _described(self, job: Object) -> Job | None:
        """Read a job with the runtime that has its templates; one whose runtime is not there has no pods yet."""
        described = read_job(job)
        if described is not None and described.kind.cluster and is_elastic(job):
            return self._scaled(job, described)
        named = self._runtime(job, described) if described is not None else None
        if described is None or named is None:
            return described
        gvk, name = named
        runtime = self._view.informer(gvk).get(name, key_of(job)[0] if gvk == RUNTIME else "")
        return replace(described, pod_sets=()) if runtime is None else read_job(job, runtime)

    def _runtime(self, job: Object, described: Job) -> tuple[GroupVersionKind, str] | None:
        """Return kind and name of the object that has a job's templates; None if there is none, or it is not seen."""
        named = described.kind.runtime.named(job) if described.kind.runtime else None
        return named if named is not None and self._view.follows(named[0]) else None

    def _scaled(self, job: Object, described: Job) -> Job:
        """Return a job with the workers that its RayCluster has, where that one scales by itself."""
        name = at(job, described.kind.cluster)
        cluster = self._view.informer(RAY_CLUSTER).get(name, key_of(job)[0]) if isinstance(name, str) else None
        if cluster is None or at(cluster, ("spec", "enableInTreeAutoscaling")) is not True:
            return described
        return scaled(described, cluster)

    def read_parent(self, parent: Object) -> Job | None:
        """Read an object whose pods are queued in groups, None where it is none."""
        described = read_job(parent)
        if described is None or not described.kind.grouped or not is_shaped(parent, described):
            return None
        if not described.queue and not self._unnamed:
            return None
        return described if self._is_managed(parent, described) else None

    def _is_managed(self, job: Object, described: Job) -> bool:
        namespace = self._view.informer(NAMESPACE).get(key_of(job)[0])
        labels = ((namespace or {}).get("metadata") or {}).get("labels") or {}
        return self._opted(labels) and self._managed.holds(job, described, labels)


def is_followed(job: Object) -> bool:
    """Return whether the view follows this object: of Pods only those that were gated here."""
    gvk = gvk_of(job)
    return has_labels(job, LABELS.get((gvk.group, gvk.kind), ALL))


class ViewOwners:
    """Looks owners and their Workloads up in the view."""

    def __init__(self, view: View, settings: QueueSettings) -> None:
        self._view = view
        self.external = settings.external

    def owner(self, reference: Object, namespace: str) -> Object | None:
        """Return the managed job with the uid of a reference, None where it is not in view."""
        uid = str(reference.get("uid"))
        if is_external(reference, self):
            return stand_in(reference, namespace) if self._view.informer(WORKLOAD).of(namespace, uid) else None
        return self._view.by_uid(uid, MANAGED)

    def admitted(self, job: Object) -> bool:
        """Return whether the job's Workload is admitted; one of Kueue's (mode external) has another name than ours."""
        key = key_of_job(job)
        own = workload_of_key(self._view, key)
        found = self._view.informer(WORKLOAD).of(key.namespace, key.uid) if own is None else (own,)
        return any(admits(workload, key.uid) for workload in found)


def workload_of_key(view: View, key: JobKey) -> Object | None:
    """Return the Workload of a job, None where it has none yet."""
    return view.informer(WORKLOAD).get(key.workload, key.namespace)
