"""Reports malformed objects in files: when a reader raises, finds the objects that it cannot read, at their places.

The readers of the queue core and the policy engine do not validate objects, because an API server has done so before.
Objects from files were never validated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from webhook.api.conversion.convert import ConversionError
from webhook.api.snapshot.reader import snapshot
from webhook.diagnostics import Diagnostic, Severity, SourceError
from webhook.documents import Document
from webhook.jobs.read_job import row_of
from webhook.kube.well_known import KUEUE
from webhook.offline.lint.context import LintContext, LintRule, Subject, context_of
from webhook.offline.lint.rules.document_fields import missing_fields, wrong_type
from webhook.offline.lint.rules.job_requests import amounts
from webhook.offline.lint.rules.queues import quota_amounts
from webhook.offline.plan.objects import cluster_of
from webhook.policy.loading.list_items import entries
from webhook.policy.loading.no_object import is_object, no_object

_FAILURES: Final = (TypeError, ValueError, AttributeError, LookupError, OverflowError)


@contextmanager
def readable(documents: Callable[[], Iterable[Document]]) -> Iterator[None]:
    """Run a block that reads the objects of `documents`; tell what cannot be read in them where the block fails.

    Raises SourceError (SCH002, QUE007, LOAD002) in place of the failure; a failure that is no object's stays as it is.
    """
    try:
        yield
    except ConversionError:
        raise
    except _FAILURES:
        if found := culprits(documents()):
            raise SourceError(found) from None
        raise


def malformed(documents: Iterable[Document]) -> list[Diagnostic]:
    """Return the fields of jobs and queues that an API server would refuse (SCH002, QUE030).

    They raise nothing: a pod count in quotes counts as one pod. Workloads are left out: they come from a cluster, and
    in thousands.
    """
    context = context_of(documents, datetime.fromtimestamp(0, UTC))
    written = replace(context, subjects=tuple(filter(_is_written, context.subjects)))
    return _found((wrong_type, amounts), written)


def _is_written(subject: Subject) -> bool:
    return (subject.gvk.group == KUEUE and subject.gvk.kind != "Workload") or row_of(subject.value) is not None


def culprits(documents: Iterable[Document]) -> list[Diagnostic]:
    """Return the fields of a wrong type and the quotas that are none, else the objects that cannot be read."""
    given = list(documents)
    context = context_of(given, datetime.fromtimestamp(0, UTC))
    return _found((wrong_type, amounts, quota_amounts), context) or [
        told for whole in given for document in entries(whole) for told in _unreadable(document)
    ]


def _found(rules: Iterable[LintRule], context: LintContext) -> list[Diagnostic]:
    return [finding.diagnostic(rule.code, Severity.ERROR) for rule in rules for finding in rule.check(context)]


def _unreadable(document: Document) -> Iterator[Diagnostic]:
    if not is_object(document.value):
        yield no_object(document)
        return
    try:
        snapshot(cluster_of([document.value]).objects)
    except ConversionError:
        return
    except _FAILURES:
        missing = missing_fields(context_of([document], datetime.fromtimestamp(0, UTC)))
        kind, found = document.value["kind"], [finding.diagnostic("SCH002", Severity.ERROR) for finding in missing]
        yield from found or [document.diagnostic("SCH002", (), f"a field of this {kind} is missing or of a wrong type")]
