"""Rules for job requests: device counts that the API server rejects, and requests that no queue can ever admit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from webhook.api.configuration.managed import managed
from webhook.api.configuration.sections import QueueSettings, ResourceSettings
from webhook.api.requests import pod_requests, with_defaults
from webhook.api.transformations import counted
from webhook.diagnostics import Severity, did_you_mean
from webhook.documents import Path
from webhook.jobs.job import Job, JobPodSet
from webhook.jobs.pod_parents import groups_of
from webhook.jobs.read_job import PRIORITY, QUEUE, is_held
from webhook.kube.quantity import Quantity, QuantityError
from webhook.kube.well_known import KUEUE, NAMESPACE_NAME
from webhook.offline.lint.context import Finding, LintContext, LintRule, Subject, rule
from webhook.offline.lint.reading.amounts import amount, is_extended, is_whole
from webhook.offline.lint.reading.quotas import (
    Cell,
    QuotaEntry,
    QuotaTree,
    borrowable,
    cohort_of,
    entries,
    tree,
)
from webhook.offline.lint.rules.jobs import in_namespace, jobs
from webhook.queue.pending.impossible import holds_all

_PODS: Final = "pods"
_NANOS: Final = 10**9
_ONE_BY_ONE: Final = frozenset({"Deployment", "Notebook"})
"""Kinds that wait for quota pod by pod."""


@rule("QUE026", Severity.ERROR, "a queue label must be spelled correctly")
def misspelt_label(context: LintContext) -> Iterator[Finding]:
    """A job is queued by the label `kueue.x-k8s.io/queue-name`, and its class is named by
    `kueue.x-k8s.io/priority-class`. A misspelled label is ignored: the job runs outside every queue.
    """
    for subject, _ in jobs(context):
        for field in ("labels", "annotations"):
            for key in subject.map("metadata", field):
                meant = _meant(str(key))
                if meant:
                    message = f'"{key}" is ignored: the job is in no queue'
                    if meant == PRIORITY:
                        message = f'"{key}" is ignored: the job has no priority class'
                    yield subject.finding(("metadata", field, key), message, f"write {meant}", key=True)


def _meant(key: str) -> str:
    """Return the label of the queue that a key is a misspelling of."""
    if key in (QUEUE, PRIORITY) or "/" not in key:
        return ""
    plain = key.lower().replace("-", "").replace("_", "")
    for label in (QUEUE, PRIORITY):
        if plain == label.replace("-", ""):
            return label
    near = did_you_mean(key, (QUEUE, PRIORITY)) if key.startswith(f"{KUEUE}/") else ""
    return near[14:-2]


@rule("QUE027", Severity.ERROR, "a queue must cover the resources of its jobs")
def uncovered(context: LintContext) -> Iterator[Finding]:
    """A ClusterQueue admits a job only if every resource that its pods request is among the `coveredResources` of a
    resource group. Otherwise the job is never admitted. Add the resource to the queue, or remove the request.
    Resources that a Configuration in the files (else `.sluice.yaml`) excludes or transforms are treated accordingly.
    """
    if _settings(context).ignores_undeclared:
        return
    for subject, sets, queue in _queued(context):
        covered = {name for path, _ in queue.each("spec", "resourceGroups") for name in _covered(queue, path)}
        for pods in sets if covered else ():
            missing = sorted(set(_asked(context, subject, pods)) - covered - {_PODS})
            if missing:
                message = f'pod set "{pods.name}" requests {", ".join(missing)}, which {queue} does not cover'
                near = did_you_mean(missing[0], covered)
                hint = near or f"add {', '.join(missing)} to its coveredResources, or remove the request"
                yield subject.finding((*pods.path, "spec", "containers"), message, hint, key=True)


def _covered(queue: Subject, path: Path) -> list[str]:
    return queue.strings(*path, "coveredResources")


@rule("QUE028", Severity.ERROR, "a job must fit into its queue")
def too_large(context: LintContext) -> Iterator[Finding]:
    """Each pod set of a job gets one flavor of each resource group, and pod sets on one flavor share its quota. A job
    is never admitted if no choice of flavors of its ClusterQueue holds all its pod sets: the nominal quota of a flavor,
    and what it may borrow from the cohort when no other job runs. The pods of a Deployment are admitted one by one,
    those of a LeaderWorkerSet group by group.
    """
    cohorts = tree(context)
    for subject, sets, queue in _queued(context):
        most = _most(cohorts, queue)
        asked = [_least(context, subject, pods) for pods in sets]
        alone = [
            f for pods, amounts in zip(sets, asked, strict=True) for f in _alone(subject, pods, amounts, queue, most)
        ]
        yield from alone
        options = [choices for amounts in asked for choices in _choices(queue, amounts, most)]
        if sets and not alone and not holds_all(options, most.__getitem__):
            message, hint = _short_together(asked, queue, most), "request less, or add quota"
            yield subject.finding((*sets[-1].path, "spec", "containers"), message, hint, key=True)


def _least(context: LintContext, subject: Subject, pods: JobPodSet) -> dict[str, int]:
    """Return what the fewest pods that a pod set starts with request, the pods themselves included, in nanos."""
    count = _fewest(pods)
    return {**{r: each * count for r, each in _asked(context, subject, pods).items()}, _PODS: count * _NANOS}


def _fewest(pods: JobPodSet) -> int:
    return pods.count if pods.min_count is None else pods.min_count


def _alone(
    subject: Subject, pods: JobPodSet, amounts: Mapping[str, int], queue: Subject, most: Mapping[Cell, int]
) -> Iterator[Finding]:
    """Find the resources of which no flavor has as much as one pod set requests."""
    for resource, asked in amounts.items():
        limit = max((n for (_, of), n in most.items() if of == resource), default=None)
        if limit is not None and asked > limit:
            there = f"{queue} can give {_shown(limit)} at most"
            message = f"{_fewest(pods)} pods request {_shown(asked)} {resource}; {there}"
            yield subject.finding((*pods.path, "spec", "containers"), message, "request less, or add quota", key=True)


def _choices(
    queue: Subject, amounts: Mapping[str, int], most: Mapping[Cell, int]
) -> Iterator[list[list[tuple[Cell, int]]]]:
    """Yield the flavors of each resource group that a pod set needs, each with what would be taken of it.

    A resource belongs to the first group that covers it, as in the core.
    """
    left = set(amounts)
    for path, _ in queue.each("spec", "resourceGroups"):
        wanted = left.intersection(_covered(queue, path))
        left -= wanted
        names = [str(flavor.get("name")) for _, flavor in queue.each(*path, "flavors")]
        if wanted and names:
            yield [[((n, r), amounts[r]) for r in wanted if (n, r) in most] for n in names]


def _short_together(asked: Sequence[Mapping[str, int]], queue: Subject, most: Mapping[Cell, int]) -> str:
    for resource in sorted({name for amounts in asked for name in amounts}):
        total = sum(amounts.get(resource, 0) for amounts in asked)
        limits = [n for (_, of), n in most.items() if of == resource]
        if limits and total > sum(limits):
            return f"its pod sets request {_shown(total)} {resource}; {queue} can give {_shown(sum(limits))} at most"
    return f"no choice of flavors of {queue} gives its pod sets all that they request"


def _most(cohorts: QuotaTree, queue: Subject) -> dict[Cell, int]:
    """Return the most of each flavor and resource that a queue can ever give, in nanos."""
    return {
        entry.cell: entry.nominal.nanos + _borrowed(cohorts, queue, entry)
        for entry in entries(queue)
        if entry.nominal is not None
    }


def _borrowed(cohorts: QuotaTree, queue: Subject, entry: QuotaEntry) -> int:
    cohort = cohort_of(queue)
    if not cohort:
        return 0
    there = borrowable(cohorts, cohort, entry).nanos
    return there if entry.borrowing is None else min(there, entry.borrowing.nanos)


def _shown(nanos: int) -> str:
    return str(Quantity(nanos)) if nanos % _NANOS else str(nanos // _NANOS)


def _queued(context: LintContext) -> Iterator[tuple[Subject, Sequence[JobPodSet], Subject]]:
    """Yield the jobs whose LocalQueue and ClusterQueue are among the files, with the pods that wait together."""
    held = managed(_settings(context))
    spaces = {s.name: s.map("metadata", "labels") for s in context.of("", "Namespace")}
    queues = {s.name: s for s in context.of(KUEUE, "ClusterQueue")}
    local = {(in_namespace(s), s.name): s.text("spec", "clusterQueue") for s in context.of(KUEUE, "LocalQueue")}
    for subject, job in jobs(context):
        queue = queues.get(local.get((in_namespace(subject), job.queue or ""), ""))
        space = in_namespace(subject)
        if queue is not None and held.holds(subject.value, job, {NAMESPACE_NAME: space, **spaces.get(space, {})}):
            yield subject, _together(subject, job), queue


def _settings(context: LintContext) -> QueueSettings:
    return context.settings or QueueSettings()


def _together(subject: Subject, job: Job) -> Sequence[JobPodSet]:
    """Return the pods that are admitted together, roles without any left out; none of a job that no queue holds."""
    kind, sets = job.kind, job.pod_sets
    if kind.queued and not is_held(subject.value, kind):
        return ()
    if kind.kind in _ONE_BY_ONE:
        sets = tuple(replace(pods, count=min(pods.count, 1)) for pods in sets)
    elif kind.grouped:
        try:
            sets = next((group.pod_sets for group in groups_of(subject.value, job)), ())
        except (AttributeError, TypeError):  # malformed, which is another finding
            return ()
    return [pods for pods in sets if pods.count]


def _asked(context: LintContext, subject: Subject, pods: JobPodSet) -> dict[str, int]:
    """Return what one pod requests, with the defaults of LimitRanges; nothing where it cannot be read."""
    ranges = [s.value for s in context.of("", "LimitRange") if in_namespace(s) == in_namespace(subject)]
    return _requests(pods.template.get("spec"), ranges, _settings(context).resources)


def _requests(spec: Any, ranges: list[dict[str, Any]], resources: ResourceSettings) -> dict[str, int]:
    if not isinstance(spec, dict) or not spec.get("containers"):
        return {}
    try:
        asked = counted(pod_requests(with_defaults(spec, ranges)), resources)
        return {name: nanos for name, nanos in asked.items() if nanos > 0}
    except (AttributeError, TypeError, ValueError, QuantityError):
        return {}


@rule("QUE029", Severity.ERROR, "devices must be requested as whole numbers that equal their limit")
def devices(context: LintContext) -> Iterator[Finding]:
    """Devices such as `nvidia.com/gpu` cannot be divided or overcommitted: the API server rejects a pod that requests
    half of one, or whose request differs from its limit. For a share of a GPU use the resource of a partition (MIG), or
    a time-slicing device plugin. No container may request more of anything than its limit.
    """
    for subject, path in _containers(context):
        yield from _of_container(subject, path)


@rule("QUE030", Severity.ERROR, "an amount of a resource must be a quantity")
def amounts(context: LintContext) -> Iterator[Finding]:
    """Requests and limits are quantities: a number, alone or with a suffix such as m, k, Ki, Mi or Gi. The API server
    rejects a pod with any other text, and what the job needs is not known.
    """
    for subject, path in _containers(context):
        for field in ("requests", "limits"):
            for name, value in subject.map(*path, "resources", field).items():
                if isinstance(value, str | bool | int | float) and amount(value) is None:
                    where = (*path, "resources", field, name)
                    message = f"{name} is not a valid quantity: {json.dumps(value, ensure_ascii=False)}"
                    yield subject.finding(where, message, "a number with a suffix such as m, k, Ki, Mi or Gi")


def _containers(context: LintContext) -> Iterator[tuple[Subject, Path]]:
    """Yield the path of each container of the files' jobs."""
    for subject, job in jobs(context):
        for pods in job.pod_sets:
            for field in ("initContainers", "containers"):
                yield from ((subject, path) for path, _ in subject.each(*pods.path, "spec", field))


def _of_container(subject: Subject, path: Path) -> Iterator[Finding]:
    requests, limits = subject.map(*path, "resources", "requests"), subject.map(*path, "resources", "limits")
    for field, values in (("requests", requests), ("limits", limits)):
        for name, value in values.items():
            found = amount(value)
            if is_extended(str(name)) and found is not None and not is_whole(found):
                message = f"{name} is {value}: a device cannot be divided"
                yield subject.finding((*path, "resources", field, name), message, "write a whole number")
    for name, value in requests.items():
        asked, most = amount(value), amount(limits.get(name))
        if asked is None or most is None or asked.compare(most) == 0:
            continue
        where: Path = (*path, "resources", "requests", name)
        if is_extended(str(name)):
            if not (is_whole(asked) and is_whole(most)):
                continue
            message = f"{name}: the request is {value}, the limit {limits[name]}; both must be equal"
            yield subject.finding(where, message, "write the same number in both")
        elif asked.compare(most) > 0:
            yield subject.finding(
                where, f"{name}: the request {value} is above the limit {limits[name]}", "raise the limit"
            )


RULES: Final[tuple[LintRule, ...]] = (misspelt_label, uncovered, too_large, devices, amounts)
