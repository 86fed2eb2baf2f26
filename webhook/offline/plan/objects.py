"""Prepares the objects of a cluster for `plan`: unpacks lists, converts versions, and turns jobs into Workloads."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.api.configuration.managed import managed
from webhook.api.configuration.read import configuration_in, is_configuration, settings_among
from webhook.api.configuration.sections import PODS_TAKE_DEFAULT, QueueSettings
from webhook.api.conversion.convert import as_stored
from webhook.api.job_to_workload import priority_of, workload_of
from webhook.api.snapshot.workload import labels_of
from webhook.api.workload_owner import owners_of
from webhook.jobs.pod_groups import group_of
from webhook.jobs.read_job import is_held, prebuilt_of, read_job, row_of
from webhook.kube.typed.defaulted import defaulted
from webhook.kube.well_known import NAMESPACE_NAME
from webhook.offline.generated_names import generated_name
from webhook.policy.loading.list_items import objects_in

Object = dict[str, Any]
DEFAULT_QUEUE: Final = "default"
NAMESPACE_QUEUE: Final = "sluice.dev/default-queue"
"""What a namespace says, as annotation or label, of jobs that name no queue: read by the policy `queue-name`."""
DONE: Final = frozenset({"Complete", "Failed", "Succeeded", "Finished"})


@dataclass(frozen=True, slots=True)
class Cluster:
    """What `plan` decides from. `jobs` maps a Workload's `namespace/name` to the job it was made of (`Job ns/name`).

    `unqueued` are jobs that name no queue, and so do not wait for quota. `by_parts` name one, but nobody can hold
    them as `serve` does: what they make waits (a Deployment's Pods, a CronJob's Jobs), or nothing (Volcano's Job).
    """

    objects: tuple[Object, ...]
    jobs: Mapping[str, str]
    unqueued: tuple[str, ...] = ()
    by_parts: tuple[str, ...] = ()


def cluster_of(values: Iterable[Any], *, stored: bool = False, settings: QueueSettings | None = None) -> Cluster:
    """Turn the values of files into the objects the queue core is built from.

    A job whose Workload is among the objects, that is owned by another object or is finished, makes no Workload; nor
    does one that is `stored` and names its Workload, or its group: it waits until that is there. A job
    without a queue gets the one that the shipped policy `queue-name` gives it: the namespace's default queue, else the
    LocalQueue `default` where there is one, as Kueue's webhook does; a Pod only where a Configuration says so. One that
    is `stored` was through admission: it waits nowhere, nor does what no queue can hold. A Configuration, else the
    `settings`, says which kinds and namespaces are queued, and whether jobs without a queue wait.
    """
    numbers: Counter[tuple[str, str, str]] = Counter()
    objects = [_named(as_stored(o), numbers) for o in unpacked(values)]
    by_kind: dict[str, list[Object]] = defaultdict(list)
    for obj in objects:
        by_kind[str(obj.get("kind"))].append(obj)
    classes = by_kind["WorkloadPriorityClass"] + by_kind["PriorityClass"]
    ranges: dict[str, list[Object]] = defaultdict(list)
    for limit_range in by_kind["LimitRange"]:
        ranges[limit_range["metadata"]["namespace"]].append(limit_range)
    local_queues = {(q["metadata"]["namespace"], q["metadata"]["name"]) for q in by_kind["LocalQueue"]}
    spaces = {space["metadata"]["name"]: space for space in by_kind["Namespace"]}
    owned = {key for w in by_kind["Workload"] for key in (_key(w), *owners_of(w))}
    settings = settings_among(objects) or settings or QueueSettings()
    held, labels = managed(settings), settings.copied_labels
    made, jobs, unqueued, by_parts = [], {}, [], []
    for obj in objects:
        job = read_job(obj) if obj.get("kind") != "Workload" else None
        if job is None or not job.pod_sets or _ours(obj, owned, stored=stored) or is_done(obj):
            continue
        space, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
        around = labels_of(spaces.get(space))
        if not is_held(obj, job.kind, stored=stored) or not held.holds(obj, job, {NAMESPACE_NAME: space, **around}):
            if job.queue is not None:
                by_parts.append(f"{obj['kind']} {space}/{name}")
            continue
        fallback = DEFAULT_QUEUE if (space, DEFAULT_QUEUE) in local_queues else ""
        no_default = stored or (bool(job.kind.gate) and not settings.switches[PODS_TAKE_DEFAULT])
        queue = job.queue or ("" if no_default else _of_namespace(spaces.get(space)) or fallback)
        if not queue and not settings.manage_jobs_without_queue_name:
            unqueued.append(f"{obj['kind']} {space}/{name}")
            continue
        full = defaulted(obj)
        described, priority = read_job(full) or job, priority_of(job, classes)
        workload = workload_of(full, described, priority, ranges[space], labels)
        workload["spec"]["queueName"] = queue
        made.append(workload)
        jobs[f"{space}/{workload['metadata']['name']}"] = f"{obj['kind']} {space}/{name}"
    return Cluster((*objects, *made), jobs, tuple(unqueued), tuple(by_parts))


def unpacked(values: Iterable[Any]) -> Iterable[Object]:
    """Yield every object, those of lists one by one; what is none is left out.

    The Configuration in a ConfigMap comes first: another one counts before it.
    """
    found = [value for value in objects_in(values) if isinstance(value, dict)]
    for value in found:
        if not is_configuration(value) and (inner := configuration_in(value)) is not None:
            yield {**inner, "metadata": {}}
    for value in found:
        if value.get("kind") and isinstance(value.get("metadata"), dict):
            yield value
        elif is_configuration(value) or row_of(value) is not None:  # a file of Kueue's has none, a job may lack it
            yield {**value, "metadata": {}}


def is_done(obj: Mapping[str, Any]) -> bool:
    """Return whether a job has ended: by a condition, or by the phase of a Pod."""
    status = obj.get("status") or {}
    if status.get("phase") in ("Succeeded", "Failed"):
        return True
    conditions = status.get("conditions") or ()
    return any(c.get("type") in DONE and c.get("status") == "True" for c in conditions if isinstance(c, dict))


def _of_namespace(namespace: Object | None) -> str:
    """Return the queue that a namespace names for its jobs, nothing where it names none or is not known."""
    metadata = namespace["metadata"] if namespace else {}
    names = ((metadata.get(field) or {}).get(NAMESPACE_QUEUE) for field in ("annotations", "labels"))
    return str(next((queue for queue in names if queue is not None), ""))


def _named(obj: Object, named: Counter[tuple[str, str, str]]) -> Object:
    """Fill in what files leave out and an API server would not: a namespace, and a name for `generateName`.

    `named` counts the names that were made so, which all differ.
    """
    metadata = obj["metadata"]
    name = metadata.get("name")
    if not name:
        prefix = str(metadata.get("generateName") or "")
        key = str(obj.get("kind")), str(metadata.get("namespace") or "default"), prefix
        named[key] += 1
        name = generated_name(prefix or "unnamed-", named[key])
    return {**obj, "metadata": {**metadata, "namespace": metadata.get("namespace") or "default", "name": str(name)}}


def named_workload(job: Object) -> str:
    """Return the name of the Workload that a job says it has, prebuilt or that of its group; "" if it says none."""
    return prebuilt_of(job) or group_of(job)


def _ours(obj: Object, owned: set[tuple[str, str, str]], *, stored: bool) -> bool:
    """Return whether a job goes by a Workload that is there, or that is made for another object.

    `owned` are the Workloads and what they were made for. A `stored` job that names its Workload goes by no other.
    """
    metadata = obj["metadata"]
    if (named := named_workload(obj)) and (stored or (metadata["namespace"], "Workload", named) in owned):
        return True
    for ref in metadata.get("ownerReferences") or ():
        if ref.get("controller") and ((row := row_of(ref)) is None or row.queued):
            return True
    return _key(obj) in owned


def _key(obj: Object) -> tuple[str, str, str]:
    return obj["metadata"]["namespace"], str(obj["kind"]), obj["metadata"]["name"]
