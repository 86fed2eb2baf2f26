"""Rules for LocalQueues and for the jobs that name them: queues to nowhere, classes that are not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from webhook.diagnostics import Severity, did_you_mean
from webhook.documents import Path
from webhook.jobs.describe import PRIORITY, QUEUE, describe
from webhook.jobs.job import Job
from webhook.kube.selectors import SelectorError, compile_selector
from webhook.offline.lint.context import Finding, LintContext, LintRule, Subject, rule
from webhook.offline.lint.reading.quotas import KUEUE

NAME_LABEL: Final = "kubernetes.io/metadata.name"


def jobs(context: LintContext) -> Iterator[tuple[Subject, Job]]:
    """Give the objects of the files that are jobs."""
    for subject in context.subjects:
        job = describe(subject.value)
        if job is not None:
            yield subject, job


def named_at(subject: Subject, key: str) -> tuple[Path, str] | None:
    """Find a label, else the annotation of the same name: its path and value."""
    for field in ("labels", "annotations"):
        if value := subject.text("metadata", field, key):
            return ("metadata", field, key), value
    return None


def in_namespace(subject: Subject) -> str:
    """Name the namespace an object will be in; `default` where it names none."""
    return subject.namespace or "default"


@rule("QUE020", Severity.ERROR, "a LocalQueue leads to a ClusterQueue")
def to_nowhere(context: LintContext) -> Iterator[Finding]:
    """A LocalQueue is a door. Where the ClusterQueue behind it is not there, jobs go in and are never looked at."""
    known = context.names(KUEUE, "ClusterQueue")
    for subject in context.of(KUEUE, "LocalQueue"):
        target = subject.text("spec", "clusterQueue")
        if not target:
            yield subject.finding(("spec",), f"{subject} names no clusterQueue", "say spec.clusterQueue", key=True)
        elif target not in known:
            hint = did_you_mean(target, known) or f'add a ClusterQueue "{target}"'
            message = f'{subject} leads to ClusterQueue "{target}", which is not in these files'
            yield subject.finding(("spec", "clusterQueue"), message, hint)


@rule("QUE021", Severity.ERROR, "a LocalQueue's namespace may use its ClusterQueue")
def closed_to_namespace(context: LintContext) -> Iterator[Finding]:
    """The ClusterQueue chooses namespaces by `namespaceSelector`. A LocalQueue in another namespace exists, and every
    job in it stays inadmissible.
    """
    queues = {s.name: s for s in context.of(KUEUE, "ClusterQueue")}
    namespaces = {s.name: s.map("metadata", "labels") for s in context.of("", "Namespace")}
    for subject in context.of(KUEUE, "LocalQueue"):
        queue = queues.get(subject.text("spec", "clusterQueue"))
        name = in_namespace(subject)
        selector = queue.at("spec", "namespaceSelector") if queue else None
        if not isinstance(selector, dict) or (name not in namespaces and not _by_name(selector)):
            continue
        if not _selects(selector, {NAME_LABEL: name, **namespaces.get(name, {})}):
            message = f'{queue} does not select namespace "{name}"'
            hint = "change its namespaceSelector, or the namespace's labels"
            yield subject.finding(("spec", "clusterQueue"), message, hint)


def _by_name(selector: dict[str, Any]) -> bool:
    """Say whether a selector can be answered from the namespace's name alone."""
    labels, found = selector.get("matchLabels"), selector.get("matchExpressions")
    keys = list(labels) if isinstance(labels, dict) else []
    keys += [e.get("key") for e in found if isinstance(e, dict)] if isinstance(found, list) else []
    return set(keys) <= {NAME_LABEL}


def _selects(selector: dict[str, Any], labels: dict[str, Any]) -> bool:
    """Ask a selector; one that cannot be used selects (it is a finding of its own)."""
    try:
        return compile_selector(selector)(labels)
    except (SelectorError, AttributeError, TypeError):
        return True


@rule("QUE022", Severity.ERROR, "a job names a queue of its namespace")
def job_to_nowhere(context: LintContext) -> Iterator[Finding]:
    """A job goes to the LocalQueue of its own namespace that it names; another namespace's queue of that name does
    not count. Where there is none the job stays suspended, without an event that says so.
    """
    if not any(context.of(KUEUE, "LocalQueue")):
        return
    for subject, _ in jobs(context):
        found = named_at(subject, QUEUE)
        known = context.names(KUEUE, "LocalQueue", in_namespace(subject))
        if found is None or found[1] in known:
            continue
        where, name = found
        elsewhere = sorted(s.namespace for s in context.of(KUEUE, "LocalQueue") if s.name == name)
        hint = did_you_mean(name, known) or (
            f"there is one in namespace {elsewhere[0] or 'default'}" if elsewhere else f'add a LocalQueue "{name}"'
        )
        message = f'{subject} goes to LocalQueue "{name}", and namespace "{in_namespace(subject)}" has none'
        yield subject.finding(where, message, hint)


@rule("QUE023", Severity.WARNING, "the queue's name is a label")
def queue_as_annotation(context: LintContext) -> Iterator[Finding]:
    """Kueue reads the label `kueue.x-k8s.io/queue-name`; the annotation of that name, which older texts show, means
    nothing to it, and the job runs beside the queue. Sluice reads both and sets both. Write the label, so that the
    file means the same in every cluster.
    """
    for subject, _ in jobs(context):
        if subject.text("metadata", "annotations", QUEUE) and not subject.text("metadata", "labels", QUEUE):
            path: Path = ("metadata", "annotations", QUEUE)
            message = "the queue is named by an annotation, which Kueue does not read"
            yield subject.finding(path, message, f"write it under metadata.labels: {QUEUE}", key=True)


@rule("QUE024", Severity.ERROR, "a job's priority class is defined")
def priority_missing(context: LintContext) -> Iterator[Finding]:
    """The label `kueue.x-k8s.io/priority-class` names a WorkloadPriorityClass. Where that is not there the job is not
    queued by Kueue. The annotation of that name means nothing at all.
    """
    known = context.names(KUEUE, "WorkloadPriorityClass")
    for subject, _ in jobs(context):
        found = named_at(subject, PRIORITY)
        if found is None:
            continue
        where, name = found
        if where[1] == "annotations":
            message = "a priority class named by an annotation is not read"
            yield subject.finding(where, message, f"write it under metadata.labels: {PRIORITY}", key=True)
        elif known and name not in known:
            hint = did_you_mean(name, known) or f'add a WorkloadPriorityClass "{name}"'
            yield subject.finding(where, f'no WorkloadPriorityClass "{name}" is in these files', hint)


@rule("QUE025", Severity.ERROR, "an object is there once")
def duplicates(context: LintContext) -> Iterator[Finding]:
    """Two objects of one kind, name and namespace: whichever is applied last wins, and which one that is depends on
    the order of the files.
    """
    seen: dict[tuple[str, str, str, str], Subject] = {}
    for subject in context.subjects:
        if not subject.name:
            continue
        key = (subject.gvk.group, subject.gvk.kind, subject.namespace, subject.name)
        first = seen.setdefault(key, subject)
        if first is not subject:
            place = first.document.place((*first.root, "metadata", "name"))
            message = f"{subject} is there twice"
            yield subject.finding(("metadata", "name"), message, f"the other stands at {place}")


RULES: Final[tuple[LintRule, ...]] = (
    to_nowhere,
    closed_to_namespace,
    job_to_nowhere,
    queue_as_annotation,
    priority_missing,
    duplicates,
)
