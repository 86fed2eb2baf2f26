"""The rule for features that Sluice does not support, by the table `api.compatibility`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.api.compatibility import unsupported
from webhook.diagnostics import Severity
from webhook.documents import Path
from webhook.jobs.read_job import QUEUE, read_job
from webhook.kube.well_known import KUEUE
from webhook.offline.lint.context import Finding, LintContext, LintRule, Subject, rule

_KINDS: Final = (
    "ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "AdmissionCheck", "Workload", "Configuration", "Queue",
    "PodGroup",
)  # fmt: skip
_GROUPS: Final = (KUEUE, "config.kueue.x-k8s.io", "scheduling.volcano.sh")


@rule("SUP001", Severity.ERROR, "an object must not use unsupported features")
def supported(context: LintContext) -> Iterator[Finding]:
    """Sluice never ignores an unsupported feature of Kueue or Volcano: a Workload that uses one stays pending, and a
    queue that uses one admits nothing. `docs/compatibility.md` lists every feature with its state.
    """
    for subject in context.subjects:
        if subject.gvk.group in _GROUPS and subject.gvk.kind in _KINDS:
            yield from _asked(subject, subject.gvk.kind, ())
        if subject.gvk.kind == "Workload":
            yield from _asked(subject, "job", ())
            for path, _ in subject.each("spec", "podSets"):
                yield from _asked(subject, "podSet", path)
        elif _is_queued(subject):
            yield from _of_job(subject)


def _is_queued(subject: Subject) -> bool:
    return bool(subject.text("metadata", "labels", QUEUE) or subject.text("metadata", "annotations", QUEUE))


def _of_job(subject: Subject) -> Iterator[Finding]:
    job = read_job(subject.value)
    if job is None:
        return
    yield from _asked(subject, "job", ())
    for pods in job.pod_sets:
        for path, feature in unsupported.asked("podSet", {"template": pods.template}) if not pods.made else ():
            yield _finding(subject, (*pods.path, *path[1:]), feature.name, feature.note)


def _asked(subject: Subject, of: str, where: Path) -> Iterator[Finding]:
    value = subject.at(*where) if where else subject.value
    for path, feature in unsupported.asked(of, value):
        yield _finding(subject, (*where, *path), feature.name, feature.note)


def _finding(subject: Subject, path: Path, name: str, note: str) -> Finding:
    return subject.finding(path, f"{subject} uses {name}, which is not supported", note, key=True)


RULES: Final[tuple[LintRule, ...]] = (supported,)
