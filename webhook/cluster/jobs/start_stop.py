"""A job object as it is started on its flavors, and as it was before. Pure: objects in, new objects out.

What stood in a template before is read from the Workload, which was made from the job while it was suspended; so a
restart of Sluice between start and stop loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from webhook.api.job_to_workload import STOPPED
from webhook.api.requests import asks_more, requests_of_pod_sets
from webhook.cluster.jobs.steps import went
from webhook.cluster.workloads.admission_checks import states_of
from webhook.jobs.elastic import POD_SET, SLICE, annotation, is_elastic
from webhook.jobs.job import Job, JobPodSet, Path
from webhook.jobs.pod_groups import ROLE
from webhook.kube.fields import at
from webhook.store.errors import Refused
from webhook.store.objects import Object, copy_json

FIELDS = (("spec", "nodeSelector"), ("spec", "tolerations"), ("metadata", "labels"), ("metadata", "annotations"))
"""Of a pod template: what an admission writes."""
LABELS: Final = ("metadata", "labels")
OF_SELECTOR: Final = (
    "controller-uid",
    "job-name",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
)
"""Labels that the API server writes into the template of a Job, whose selector asks for them.

No admission writes them, and a Workload that Kueue made, or somebody by hand, does not have them.
"""
TOPOLOGY_GATE = "kueue.x-k8s.io/topology"
PLACED = "sluice.dev/placed"
"""An annotation of a job: its templates carry what an admission put there, and are to be restored when it stops."""

LOCAL_QUEUE_LABEL = "kueue.x-k8s.io/local-queue-name"
CLUSTER_QUEUE_LABEL = "kueue.x-k8s.io/cluster-queue-name"
WORKLOAD_ANNOTATION = "kueue.x-k8s.io/workload"
_LABEL = re.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A name that may be the value of a label, as Kueue asks of it: a longer one, or one with dots, is left out."""
_TIME_LIMIT: Final = "maximumExecutionTimeSeconds"
TOGETHER = "kueue.x-k8s.io/job-completions-equal-parallelism"
"""The annotation, "true", of an Indexed Job that has as many completions as pods, however many it is admitted with."""


class PlacementConflict(Exception):
    """A check wants a value where the flavor or the job has another: the job can never be started so."""


class FlavorNotFound(Refused):
    """A flavor of an admission is not there, so what it asks of nodes is not known: nothing starts until it is."""

    def __init__(self, name: str) -> None:
        super().__init__(f'ResourceFlavor "{name}" not found', 404)


def suspend(job: Object, described: Job, value: bool) -> Object:
    """Return the job with its own suspend field set."""
    assert described.kind.suspend_path is not None
    held: Object = _with(job, described.kind.suspend_path, value)
    return held


def stopped(job: Object, described: Job, workload: Object | None) -> Object:
    """Return the job suspended; where its Workload was evicted or deleted, it says when."""
    out = suspend(job, described, True)
    since = went(workload) if workload is not None else None
    marked: Object = _with(out, ("metadata", "annotations", STOPPED), since) if since else out
    return marked


def ungated(pod: Object, described: Job) -> Object:
    """Return the pod without our scheduling gate and that of Kueue's placement; gates of others stay."""
    gates = at(pod, ("spec", "schedulingGates")) or []
    rest = [gate for gate in gates if gate.get("name") not in (described.kind.gate, TOPOLOGY_GATE)]
    free: Object = _with(pod, ("spec", "schedulingGates"), rest or None)
    return free


def started(
    job: Object,
    described: Job,
    workload: Object,
    flavors: Mapping[str, Object],
    *,
    marked: bool = False,
    labelled: bool = True,
) -> Object:
    """Return the job unsuspended, its templates bound to the nodes of the flavors that the admission names.

    Node labels go into `nodeSelector` (and win over what the job says since it was admitted), tolerations are added,
    then what its admission checks want (`podSetUpdates`); a pod set that was admitted with fewer pods is made smaller.
    Its pods say whose they are. Kueue does the same (pkg/podset). A Pod may get all that while it is gated (KEP-3838),
    and loses the gate in the same write. `marked` writes its role on a pod of a group; `labelled` its queues.
    Raises PlacementConflict; FlavorNotFound where a flavor of any pod set is not there.
    """
    kind = described.kind
    assignments = {a.get("name"): a for a in at(workload, ("status", "admission", "podSetAssignments")) or []}
    nodes = {name: flavors_of(assignment, flavors) for name, assignment in assignments.items()}
    out = kind.spread(job) if kind.spread else job
    out = kind.opened(out, described.pod_sets) if kind.opened else out
    for pods in described.pod_sets:
        if pods.absent:
            out = _with(out, pods.path, pods.template)
        if not pods.made or pods.place is not None:
            out = _place(out, _way(pods, "spec"), nodes.get(pods.name, ()))
            out = _named(out, pods, workload, labelled=labelled)
            for check, update in _updates(workload, pods.name):
                out = _updated(out, pods, check, update)
        if pods.min_count is not None:
            out = _resize(out, described, pods.count, assignments.get(pods.name, {}).get("count"))
    if is_elastic(job):
        out = _marked(out, described, workload)
    if marked:
        out = _with(out, ("metadata", "annotations", ROLE), described.pod_sets[0].name)
    if described.kind.gate:
        return ungated(out, described)
    if out is not job:
        out = _with(out, ("metadata", "annotations", PLACED), "true")
    return suspend(out, described, False)


def _named(job: Object, pods: JobPodSet, workload: Object, *, labelled: bool) -> Object:
    """Return the job whose pods say to which Workload and pod set they belong, and through which queues they came."""
    labels = {POD_SET: pods.name}
    if labelled:
        queues = {
            LOCAL_QUEUE_LABEL: at(workload, ("spec", "queueName")),
            CLUSTER_QUEUE_LABEL: at(workload, ("status", "admission", "clusterQueue")),
        }
        labels |= {key: name for key, name in queues.items() if name and _LABEL.fullmatch(name)}
    annotations = {WORKLOAD_ANNOTATION: at(workload, ("metadata", "name"))}
    for field, new in (("labels", labels), ("annotations", annotations)):
        where = (*_way(pods, "metadata"), field)
        job = _with(job, where, {**(_at(job, where) or {}), **new})
    return job


def _way(pods: JobPodSet, part: str) -> Path:
    """Return where an admission writes what belongs to a part of a template, its metadata or its spec."""
    place = pods.path if pods.place is None else pods.place
    return place if pods.flat else (*place, part)


def _marked(job: Object, described: Job, workload: Object) -> Object:
    """Return an elastic job whose pods say to which chain of Workloads they belong, whatever they said before."""
    chain = annotation(workload, SLICE) or workload["metadata"]["name"]
    for pods in described.pod_sets:
        job = _with(job, (*pods.path, "metadata", "annotations", SLICE), chain)
    return job


def as_grown(job: Object, described: Job, current: Object) -> Object:
    """Return a running elastic job as the next of its Workloads describes it: without flavors, in the same chain."""
    out = restored(job, described, current)
    for pods in described.pod_sets:
        if chain := annotation(pods.template, SLICE):
            out = _with(out, (*pods.path, "metadata", "annotations", SLICE), chain)
    return out


def _updates(workload: Object, pod_set: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return what the checks of a Workload want for a pod set, each with the check's name."""
    for state in states_of(workload):
        for update in state.get("podSetUpdates") or ():
            if update.get("name") == pod_set:
                yield str(state.get("name")), update


def _updated(job: Object, pods: JobPodSet, check: str, update: Mapping[str, Any]) -> Object:
    """Return the job with a check's update in one template: maps grow, tolerations are added once."""
    for part, name in FIELDS:
        wanted, where = update.get(name), (*_way(pods, part), name)
        if not wanted:
            continue
        own = _at(job, where)
        if isinstance(wanted, Mapping):
            clash = sorted(key for key in wanted if key in (own or {}) and own[key] != wanted[key])
            if clash:
                raise PlacementConflict(f"check {check} changes {name} {clash[0]} to {wanted[clash[0]]}")
            job = _with(job, where, {**(own or {}), **wanted})
        else:
            job = _with(job, where, [*(own or ()), *(item for item in wanted if item not in (own or ()))])
    return job


def restored(job: Object, described: Job, workload: Object) -> Object:
    """Return the job with its templates and pod counts as they were before it was started."""
    out = job
    before = {p.get("name"): p for p in at(workload, ("spec", "podSets")) or []}
    for pods in described.pod_sets:
        if (old := before.get(pods.name)) is None:
            continue
        template = at(old, ("template",)) or {}
        mixed = pods.made and pods.place == pods.path and is_placed(job)
        if (not pods.made or mixed) and differs(pods, template):
            for part, name in FIELDS:
                where = _way(pods, part) if mixed else (*pods.path, part)
                out = _with(out, (*where, name), copy_json(_before(pods, template, (part, name))))
        if pods.min_count is not None:
            out = _resize(out, described, pods.count, old.get("count"))
    if is_placed(out):
        out = described.kind.closed(out) if described.kind.closed else out
        out = _with(out, ("metadata", "annotations", PLACED), None)
    return out


def is_placed(job: Object) -> bool:
    """Return whether the job was started with templates that are not its own, and not restored since."""
    return PLACED in (at(job, ("metadata", "annotations")) or {})


def is_changed(described: Job, workload: Object) -> bool:
    """Return whether the job's templates still carry what an admission put there."""
    before = {p.get("name"): p for p in at(workload, ("spec", "podSets")) or []}
    for pods in described.pod_sets:
        old = before.get(pods.name)
        if old is None:
            continue
        if not pods.made and differs(pods, at(old, ("template",)) or {}):
            return True
        if _resizable(described) and pods.min_count is not None and old.get("count") != pods.count:
            return True
    return False


def is_bigger(described: Job, workload: Object) -> bool:
    """Return whether the job has more pods now than it asked for; if it runs, than its admission gives it.

    A pod set that the Workload does not know does not count: an older Kueue may have named it otherwise.
    """
    asked = at(workload, ("spec", "podSets")) or []
    granted, shrinks = {p.get("name"): p.get("count") for p in asked}, {p.get("name") for p in asked if "minCount" in p}
    for assignment in at(workload, ("status", "admission", "podSetAssignments")) or []:
        if not described.suspended and assignment.get("name") in shrinks and assignment.get("count") is not None:
            granted[assignment["name"]] = assignment["count"]
    return any(pods.count > granted.get(pods.name, pods.count) for pods in described.pod_sets)


def has_bigger_pods(draft: Object, workload: Object, limit_ranges: Iterable[Object]) -> bool:
    """Return whether pods of a job would request more than its Workload: `draft` is the one that it would get now."""
    now, granted = requests_of_pod_sets(draft), requests_of_pod_sets(workload, limit_ranges)
    return any(asks_more(requests, granted[name]) for name, requests in now.items() if name in granted)


def fits(draft: Object, workload: Object, limit_ranges: Iterable[Object]) -> bool:
    """Return whether a Workload that somebody else made is on the terms of its job; `draft` is what the job would get.

    Those are the time limit, and the pod sets with their number of pods, their least number and their requests. What
    the LimitRanges of the namespace add counts on both sides. Source: EquivalentToWorkload in Kueue.
    """
    wanted, has = draft["spec"], workload["spec"]
    asked, theirs = wanted["podSets"], has.get("podSets") or []
    given = {a.get("name"): a.get("count") for a in at(workload, ("status", "admission", "podSetAssignments")) or []}
    if [p.get("name") for p in theirs] != [p["name"] for p in asked]:
        return False
    if wanted.get(_TIME_LIMIT) != has.get(_TIME_LIMIT):
        return False
    return requests_of_pod_sets(draft) == requests_of_pod_sets(workload, limit_ranges) and all(
        pods["count"] in (other.get("count", 1), given.get(pods["name"]))
        and pods.get("minCount") == other.get("minCount")
        for pods, other in zip(asked, theirs, strict=True)
    )


def differs(pods: JobPodSet, before: Mapping[str, Any]) -> bool:
    """Return whether what an admission writes stands in a template in another way than in `before`."""
    return any((at(pods.template, field) or None) != _before(pods, before, field) for field in FIELDS)


def _before(pods: JobPodSet, template: Mapping[str, Any], field: tuple[str, str]) -> Any:
    """Return a field of a pod set as it was before an admission, by the template of its Workload; None if empty."""
    old = at(template, field) or {}
    if field == LABELS:
        own = at(pods.template, field) or {}
        old = {name: value for name, value in old.items() if name not in OF_SELECTOR}
        old |= {name: own[name] for name in OF_SELECTOR if name in own}
    return old or None


def _place(job: Object, path: Path, flavors: Sequence[Object]) -> Object:
    """Bind pods to the nodes of flavors; `path` leads to the spec of their template."""
    labels: dict[str, str] = {}
    tolerations: list[Any] = []
    for flavor in flavors:
        labels.update(at(flavor, ("spec", "nodeLabels")) or {})
        tolerations += at(flavor, ("spec", "tolerations")) or []
    spec = _at(job, path) or {}
    if labels:
        job = _with(job, (*path, "nodeSelector"), {**(spec.get("nodeSelector") or {}), **labels})
    own = spec.get("tolerations") or []
    if new := [t for t in tolerations if t not in own]:
        job = _with(job, (*path, "tolerations"), [*own, *new])
    return job


def flavors_of(assignment: Object, flavors: Mapping[str, Object]) -> list[Object]:
    """Return the flavors of the pods of one assignment, each once. Raises FlavorNotFound."""
    names = dict.fromkeys((assignment.get("flavors") or {}).values())
    for name in names:
        if name not in flavors:
            raise FlavorNotFound(name)
    return [flavors[name] for name in names]


def on_flavors(template: Object, flavors: Sequence[Object]) -> Object:
    """Return a pod template bound to the nodes of flavors."""
    return _place(template, ("spec",), flavors)


def _resizable(described: Job) -> bool:
    return (described.kind.group, described.kind.kind) == ("batch", "Job")


def _resize(job: Object, described: Job, now: int, wanted: object) -> Object:
    """Set a Job's parallelism; other kinds do not allow partial admission."""
    if not _resizable(described) or not isinstance(wanted, int) or wanted in (0, now):
        return job
    resized: Object = _with(job, ("spec", "parallelism"), wanted)
    if annotation(job, TOGETHER) == "true":
        resized = _with(resized, ("spec", "completions"), wanted)
    return resized


def _at(node: Any, path: Iterable[str | int]) -> Any:
    for step in path:
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            return None
    return node


def _with(node: Any, path: Sequence[str | int], value: Any) -> Any:
    """Return a copy of `node` with the value at `path` replaced (None takes it away); only the way there is copied."""
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        out_list = list(node)
        out_list[step] = _with(node[step], rest, value) if rest else value
        return out_list
    out = dict(node) if isinstance(node, dict) else {}
    if rest:
        out[step] = _with(out.get(step) or {}, rest, value)
    elif value is None:
        out.pop(step, None)
    else:
        out[step] = value
    return out
