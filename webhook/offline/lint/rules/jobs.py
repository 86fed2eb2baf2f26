"""Rules for LocalQueues and jobs: queues without a ClusterQueue, missing queues and priority classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from webhook.diagnostics import Severity, did_you_mean
from webhook.documents import Path
from webhook.jobs.job import Job
from webhook.jobs.read_job import PRIORITY, QUEUE, read_job
from webhook.kube.selectors import SelectorError, compile_selector
from webhook.kube.well_known import KUEUE, NAMESPACE_NAME
from webhook.offline.lint.context import Finding, LintContext, LintRule, Subject, rule
from webhook.policy.loading.policy_kinds import GROUP, SHAPES


def jobs(context: LintContext) -> Iterator[tuple[Subject, Job]]:
    """Yield the objects of the files that are jobs."""
    for subject in context.subjects:
        job = read_job(subject.value)
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


@rule("QUE020", Severity.ERROR, "a LocalQueue must reference an existing ClusterQueue")
def to_nowhere(context: LintContext) -> Iterator[Finding]:
    """A LocalQueue forwards jobs to its ClusterQueue. If that ClusterQueue does not exist, the jobs stay pending."""
    known = context.names(KUEUE, "ClusterQueue")
    for subject in context.of(KUEUE, "LocalQueue"):
        target = subject.text("spec", "clusterQueue")
        if not target:
            yield subject.finding(("spec",), f"{subject} does not set clusterQueue", "set spec.clusterQueue", key=True)
        elif target not in known:
            hint = did_you_mean(target, known) or f'add a ClusterQueue "{target}"'
            message = f'{subject} references ClusterQueue "{target}", which is not in these files'
            yield subject.finding(("spec", "clusterQueue"), message, hint)


@rule("QUE021", Severity.ERROR, "a ClusterQueue must select the namespace of its LocalQueue")
def closed_to_namespace(context: LintContext) -> Iterator[Finding]:
    """The ClusterQueue selects namespaces with `namespaceSelector`. Every job in a LocalQueue of another namespace is
    inadmissible.
    """
    queues = {s.name: s for s in context.of(KUEUE, "ClusterQueue")}
    namespaces = {s.name: s.map("metadata", "labels") for s in context.of("", "Namespace")}
    for subject in context.of(KUEUE, "LocalQueue"):
        queue = queues.get(subject.text("spec", "clusterQueue"))
        name = in_namespace(subject)
        selector = queue.at("spec", "namespaceSelector") if queue else None
        if not isinstance(selector, dict) or (name not in namespaces and not _by_name(selector)):
            continue
        if not _selects(selector, {NAMESPACE_NAME: name, **namespaces.get(name, {})}):
            message = f'{queue} does not select namespace "{name}"'
            hint = "change its namespaceSelector, or the namespace's labels"
            yield subject.finding(("spec", "clusterQueue"), message, hint)


def _by_name(selector: dict[str, Any]) -> bool:
    """Return whether a selector can be answered from the namespace's name alone."""
    labels, found = selector.get("matchLabels"), selector.get("matchExpressions")
    keys = list(labels) if isinstance(labels, dict) else []
    keys += [e.get("key") for e in found if isinstance(e, dict)] if isinstance(found, list) else []
    return set(keys) <= {NAMESPACE_NAME}


def _selects(selector: dict[str, Any], labels: dict[str, Any]) -> bool:
    """Ask a selector; one that cannot be used selects (it is a finding of its own)."""
    try:
        return compile_selector(selector)(labels)
    except (SelectorError, AttributeError, TypeError):
        return True


@rule("QUE022", Severity.ERROR, "a job must reference a LocalQueue in its own namespace")
def job_to_nowhere(context: LintContext) -> Iterator[Finding]:
    """A job can only use a LocalQueue in its own namespace. If there is none with that name, the job stays suspended,
    and no event says so.
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
            f"it exists in namespace {elsewhere[0] or 'default'}" if elsewhere else f'add a LocalQueue "{name}"'
        )
        message = f'{subject} references LocalQueue "{name}", which is not in namespace "{in_namespace(subject)}"'
        yield subject.finding(where, message, hint)


@rule("QUE023", Severity.WARNING, "the queue name must be a label")
def queue_as_annotation(context: LintContext) -> Iterator[Finding]:
    """Kueue reads the label `kueue.x-k8s.io/queue-name`. It ignores the annotation of that name, which older texts
    show, and the job runs outside the queue. Sluice reads both and sets both. Use the label, so that the file means
    the same in every cluster.
    """
    for subject, _ in jobs(context):
        if subject.text("metadata", "annotations", QUEUE) and not subject.text("metadata", "labels", QUEUE):
            path: Path = ("metadata", "annotations", QUEUE)
            message = "the queue name is an annotation, which Kueue does not read"
            yield subject.finding(path, message, f"set it under metadata.labels: {QUEUE}", key=True)


@rule("QUE024", Severity.ERROR, "a job's priority class must exist")
def priority_missing(context: LintContext) -> Iterator[Finding]:
    """The label `kueue.x-k8s.io/priority-class` references a WorkloadPriorityClass. If it does not exist, Kueue does
    not queue the job. The annotation of that name has no effect.
    """
    known = context.names(KUEUE, "WorkloadPriorityClass")
    for subject, _ in jobs(context):
        found = named_at(subject, PRIORITY)
        if found is None:
            continue
        where, name = found
        if where[1] == "annotations":
            message = "the priority class is an annotation, which is not read"
            yield subject.finding(where, message, f"set it under metadata.labels: {PRIORITY}", key=True)
        elif known and name not in known:
            hint = did_you_mean(name, known) or f'add a WorkloadPriorityClass "{name}"'
            yield subject.finding(where, f'no WorkloadPriorityClass "{name}" is in these files', hint)


@rule("QUE025", Severity.ERROR, "an object must be defined once")
def duplicates(context: LintContext) -> Iterator[Finding]:
    """Two objects have the same kind, name and namespace. The one applied last wins, which depends on the order of the
    files.
    """
    seen: dict[tuple[str, str, str, str], Subject] = {}
    for subject in context.subjects:
        if not subject.name or (subject.gvk.group == GROUP and subject.gvk.kind in SHAPES):
            continue  # LOAD004 tells policies and bindings
        key = (subject.gvk.group, subject.gvk.kind, subject.namespace, subject.name)
        first = seen.setdefault(key, subject)
        if first is not subject:
            place = first.document.place((*first.root, "metadata", "name"))
            message = f"{subject} is defined twice"
            yield subject.finding(("metadata", "name"), message, f"the other definition is at {place}")


RULES: Final[tuple[LintRule, ...]] = (
    to_nowhere,
    closed_to_namespace,
    job_to_nowhere,
    queue_as_annotation,
    priority_missing,
    duplicates,
)
