"""Values that no cluster with Kueue stores: the repository that is written from them could not be used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from webhook.diagnostics import Diagnostic, Severity
from webhook.documents import Document
from webhook.offline.lint.context import LintRule, context_of
from webhook.offline.lint.rules.document_fields import unknown_value, wrong_type
from webhook.offline.lint.rules.limit_ranges import quantities
from webhook.offline.lint.rules.queues import borrow_without_reclaim, covered, once, quota_amounts

_RULES: Final[tuple[LintRule, ...]] = (
    wrong_type,
    unknown_value,
    quantities,
    quota_amounts,
    covered,
    once,
    borrow_without_reclaim,
)
"""What the API server or Kueue's webhooks refuse. What they let in is left to `sluice lint`."""


def wrong_values(documents: Iterable[Document]) -> Iterator[Diagnostic]:
    """Yield what is refused of each document. What `sluice lint --fix` mends, such as a part of a device, is let in."""
    for document in documents:
        context = context_of([document], datetime.fromtimestamp(0, UTC))
        for rule in _RULES:
            for finding in rule.check(context):
                if finding.edit is None:
                    told = finding.diagnostic(rule.code, Severity.ERROR)
                    yield told if document.lines else replace(told, message=f"{context.subjects[0]}: {told.message}")
