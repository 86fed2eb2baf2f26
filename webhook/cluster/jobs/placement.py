"""A job object as it is started on its flavors, and as it was before. Pure: objects in, new objects out.

What stood in a template before is read from the Workload, which was made from the job while it was suspended; so a
restart of Sluice between start and stop loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from webhook.jobs.describe import at
from webhook.jobs.model import Job, JobPodSet, Path
from webhook.store.objects import Object, copy_json

FIELDS = ("nodeSelector", "tolerations")
"""Of a pod spec: what an admission writes."""


def suspend(job: Object, described: Job, value: bool) -> Object:
    """Give the job with its own suspend field set."""
    assert described.kind.suspend_path is not None
    held: Object = _with(job, described.kind.suspend_path, value)
    return held


def ungated(pod: Object, described: Job) -> Object:
    """Give the pod without our scheduling gate; the gates of others stay."""
    gates = at(pod, ("spec", "schedulingGates")) or []
    rest = [gate for gate in gates if gate.get("name") != described.kind.gate]
    free: Object = _with(pod, ("spec", "schedulingGates"), rest or None)
    return free


def started(job: Object, described: Job, workload: Object, flavors: Mapping[str, Object]) -> Object:
    """Give the job unsuspended, its templates bound to the nodes of the flavors that the admission names.

    Node labels go into `nodeSelector` (the job's own keys stay), tolerations are added, and a pod set that was
    admitted with fewer pods is made smaller. Kueue does the same (pkg/podset). A Pod may get both while it is gated
    (KEP-3838), and loses the gate in the same write.
    """
    out = job
    assignments = {a.get("name"): a for a in at(workload, ("status", "admission", "podSetAssignments")) or []}
    for pods in described.pod_sets:
        assignment = assignments.get(pods.name) or {}
        if not pods.made:
            names = list(dict.fromkeys((assignment.get("flavors") or {}).values()))
            out = _place(out, pods.path, [flavors[name] for name in names if name in flavors])
        out = _resize(out, described, pods.count, assignment.get("count"))
    return ungated(out, described) if described.kind.gate else suspend(out, described, False)


def restored(job: Object, described: Job, workload: Object) -> Object:
    """Give the job with node selectors, tolerations and pod counts as they were before it was started."""
    out = job
    before = {p.get("name"): p for p in at(workload, ("spec", "podSets")) or []}
    for pods in described.pod_sets:
        if (old := before.get(pods.name)) is None:
            continue
        spec = at(old, ("template", "spec")) or {}
        if not pods.made and differs(pods, spec):
            for field in FIELDS:
                out = _with(out, (*pods.path, "spec", field), copy_json(spec.get(field)))
        out = _resize(out, described, pods.count, old.get("count"))
    return out


def is_changed(described: Job, workload: Object) -> bool:
    """Say whether the job's templates still carry what an admission put there."""
    before = {p.get("name"): p for p in at(workload, ("spec", "podSets")) or []}
    for pods in described.pod_sets:
        old = before.get(pods.name)
        if old is None:
            continue
        if not pods.made and differs(pods, at(old, ("template", "spec")) or {}):
            return True
        if _resizable(described) and old.get("count") != pods.count:
            return True
    return False


def differs(pods: JobPodSet, before: Mapping[str, Any]) -> bool:
    """Say whether a template's node selector or tolerations are not those of `before`."""
    now = pods.template.get("spec") or {}
    return any((now.get(field) or None) != (before.get(field) or None) for field in FIELDS)


def _place(job: Object, path: Path, flavors: Sequence[Object]) -> Object:
    labels: dict[str, str] = {}
    tolerations: list[Any] = []
    for flavor in flavors:
        labels.update(at(flavor, ("spec", "nodeLabels")) or {})
        tolerations += at(flavor, ("spec", "tolerations")) or []
    spec = _at(job, (*path, "spec")) or {}
    if labels:
        job = _with(job, (*path, "spec", "nodeSelector"), {**labels, **(spec.get("nodeSelector") or {})})
    own = spec.get("tolerations") or []
    if new := [t for t in tolerations if t not in own]:
        job = _with(job, (*path, "spec", "tolerations"), [*own, *new])
    return job


def _resizable(described: Job) -> bool:
    return (described.kind.group, described.kind.kind) == ("batch", "Job")


def _resize(job: Object, described: Job, now: int, wanted: object) -> Object:
    """Set a Job's parallelism; other kinds do not allow partial admission."""
    if not _resizable(described) or not isinstance(wanted, int) or wanted in (0, now):
        return job
    resized: Object = _with(job, ("spec", "parallelism"), wanted)
    return resized


def _at(node: Any, path: Iterable[str | int]) -> Any:
    for step in path:
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            return None
    return node


def _with(node: Any, path: Sequence[str | int], value: Any) -> Any:
    """Give a copy of `node` with the value at `path` replaced (None takes it away); only the way there is copied."""
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
