"""The Workload that a job would get now, and how the one that it has differs. Reads the view, writes nothing."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Final

import orjson

from webhook.api.configuration.sections import QueueSettings
from webhook.api.job_to_workload import CARRIED, priority_fields, priority_of, with_spec_of, workload_name, workload_of
from webhook.api.snapshot.workload import ARRIVAL
from webhook.cluster.api.finalizers import FINALIZER
from webhook.cluster.api.kinds import LIMIT_RANGE, PRIORITY_CLASS, WORKLOAD_CLASS
from webhook.cluster.api.view import View
from webhook.cluster.jobs.edited import is_edited
from webhook.cluster.jobs.managed import GROUP_INDEX, IS_GROUP, OWNER_KIND, OWNER_NAME, key_of_job
from webhook.cluster.jobs.start_stop import as_grown, fits, has_bigger_pods
from webhook.cluster.jobs.steps import DIGEST, EPOCH, RENEWED
from webhook.jobs.elastic import REPLACES, SLICE, annotation, is_elastic
from webhook.jobs.job import Job
from webhook.jobs.read_job import prebuilt_of, read_job
from webhook.kube.condition_types import QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.store.objects import Object, key_of, version_of

OWN: Final = frozenset(
    {DIGEST, RENEWED, ARRIVAL, EPOCH, SLICE, REPLACES, IS_GROUP, GROUP_INDEX, OWNER_KIND, OWNER_NAME}
)
"""Annotations of a Workload that are not its job's, whatever the job says: by some it is found when it is evicted."""


class Drafts:
    """Makes the Workloads of jobs from the classes and LimitRanges in view."""

    def __init__(self, view: View, settings: QueueSettings) -> None:
        self._view, self._label_keys = view, settings.copied_labels
        self._annotated = settings.enabled("WorkloadIdentifierAnnotations", default=True)

    def of(self, job: Object, described: Job) -> tuple[Object, str]:
        """Return the Workload that the job would get now, and the digest of what matters in it."""
        classes = self._view.all(WORKLOAD_CLASS, PRIORITY_CLASS)
        workload = workload_of(job, described, priority_of(described, classes), self._ranges(job), self._label_keys)
        metadata = workload["metadata"]
        metadata.pop("creationTimestamp", None)
        carried = {k: v for k, v in (metadata.get("annotations") or {}).items() if k not in OWN}
        what = workload["spec"], carried, metadata.get("labels") if self._label_keys is None else None
        digest = hashlib.sha256(orjson.dumps(what, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
        metadata["annotations"] = {**carried, DIGEST: digest, ARRIVAL: _arrival(job)}
        metadata["finalizers"] = [FINALIZER]
        return workload, digest

    def fits(self, job: Object, described: Job, workload: Object) -> bool:
        """Return whether a Workload that somebody else made is on the terms of the job."""
        return fits(self.of(job, described)[0], workload, self._ranges(job))

    def has_bigger_pods(self, job: Object, described: Job, workload: Object) -> bool:
        """Return whether pods of the job would request more than its Workload, as it was when it got quota.

        One of Sluice's has what LimitRanges gave then; to another the queue added it.
        """
        ranges = () if annotation(workload, DIGEST) else self._ranges(job)
        return has_bigger_pods(self.of(job, described)[0], workload, ranges)

    def of_grown(self, job: Object, described: Job, current: Object) -> tuple[Object, str]:
        """Return the same of a running elastic job: `current` says what its templates were before it was started."""
        source = as_grown(job, described, current)
        return self.of(source, _as_many(read_job(source), described))

    def to_create(self, job: Object, described: Job, current: Object | None) -> Object:
        """Return the Workload to create; of an elastic job that has one (`current`), the one that is to replace it."""
        if not is_elastic(job):
            return self.of(job, described)[0]
        if current is None:
            draft, _ = self.of(job, _as_many(read_job(job), described))
        else:
            draft, _ = self.of_grown(job, described, current)
        key, generation = key_of_job(job), str(job["metadata"].get("generation") or 0)
        generation += f"_{described.scaled}" if described.scaled else ""
        name = workload_name(key.gvk.kind, key.gvk.group, key.name, key.uid, generation=generation)
        marks = {SLICE: name}
        if current is not None:
            chain = annotation(current, SLICE) or key_of(current)[1]
            marks = {SLICE: chain, REPLACES: "/".join(key_of(current))}
        metadata = {**draft["metadata"], "name": name, "annotations": {**draft["metadata"]["annotations"], **marks}}
        return {**draft, "metadata": metadata}

    def renewed(self, workload: Object, draft: Object) -> Object:
        """Return a Workload as its job would get it now, with what others wrote on it, and when it arrived."""
        metadata, new = {**workload["metadata"]}, draft["metadata"]
        old = metadata.get("annotations") or {}
        kept = {k: v for k, v in old.items() if k in OWN or not k.startswith(CARRIED)}
        came = {ARRIVAL: old.get(ARRIVAL, new["annotations"][ARRIVAL]), RENEWED: _generation(workload)}
        metadata["annotations"] = {**kept, **new["annotations"], **came}
        copied = {k: v for k, v in (metadata.get("labels") or {}).items() if k in (self._label_keys or ())}
        metadata["labels"] = {**(new.get("labels") or {}), **copied}  # what labelKeysToCopy names is copied once
        return with_spec_of(draft, {**workload, "metadata": metadata})

    def is_other(self, job: Object, described: Job, workload: Object) -> bool:
        """Return whether the job would get another Workload than it has: one of both was edited, or what it goes by.

        One that Sluice did not make is left as it is.
        """
        if not (old := annotation(workload, DIGEST)):
            return False
        draft, digest = self.of(job, described)
        if old != digest:
            return True
        return annotation(workload, RENEWED) != _generation(workload) and is_edited(draft, workload)

    def priority_change(self, job: Object, described: Job, workload: Object) -> Object:
        """Return what of a Workload's priority is to be written: its class is another, or has another value now.

        A class is neither set nor removed while quota is reserved, nor a PriorityClass changed (the CRD refuses it, as
        Kueue's does): then its number alone is taken over, and the class with the next reservation. A Workload that
        keeps a WorkloadPriorityClass has the number of that; so has one that its job names, whatever the job says.
        """
        spec, reserved = workload["spec"], holds(workload, QUOTA_RESERVED)
        new = priority_fields(priority_of(described, self._view.all(WORKLOAD_CLASS, PRIORITY_CLASS)))
        old_class, new_class = spec.get("priorityClassRef") or {}, new.get("priorityClassRef") or {}
        keeps = old_class.get("kind") == WORKLOAD_CLASS.kind and new_class.get("kind") != WORKLOAD_CLASS.kind
        if prebuilt_of(job, annotated=self._annotated) or (reserved and keeps):
            new = self._number_of(old_class)
        elif not new_class:
            return {}
        elif reserved and {old_class.get("kind"), new_class["kind"]} != {WORKLOAD_CLASS.kind}:
            del new["priorityClassRef"]
        return {name: value for name, value in new.items() if spec.get(name) != value}

    def _number_of(self, ref: Object) -> Object:
        """Return the priority that a WorkloadPriorityClass has now; nothing of another class, or one that is gone."""
        found = self._view.informer(WORKLOAD_CLASS).get(str(ref.get("name"))) if ref else None
        if found is None or ref.get("kind") != WORKLOAD_CLASS.kind:
            return {}
        return {"priority": int(found.get("value") or 0)}

    def _ranges(self, job: Object) -> list[Object]:
        return self._view.informer(LIMIT_RANGE).all(key_of(job)[0])


def _as_many(fresh: Job | None, described: Job) -> Job:
    """Return a job as it is read now, with the numbers of pods that are known: another object may say them."""
    if fresh is None:
        return described
    counts = {pods.name: pods.count for pods in described.pod_sets}
    sets = tuple(replace(pods, count=counts.get(pods.name, pods.count)) for pods in fresh.pod_sets)
    return replace(fresh, pod_sets=sets)


def _generation(workload: Object) -> str:
    return str(workload["metadata"].get("generation") or 0)


def _arrival(job: Object) -> str:
    return f"{job['metadata'].get('creationTimestamp') or ''} {version_of(job)}"
