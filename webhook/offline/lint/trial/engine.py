"""The loaded policies of the documents, for rules that need compiled expressions or evaluate policies."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.api.configuration import read as configuration
from webhook.diagnostics import Diagnostic
from webhook.documents import Document
from webhook.kube.gvk import gvk_of
from webhook.kube.well_known import SLUICE
from webhook.offline.lint.hints import with_hint
from webhook.offline.lint.reading.no_objects import no_objects
from webhook.offline.suite import suite_file
from webhook.policy.bundle import Bundle
from webhook.policy.loading.assemble import assembled
from webhook.policy.loading.list_items import entries
from webhook.policy.loading.no_object import is_object
from webhook.policy.queue_rules.files import mistakes_in


def loaded(documents: Iterable[Document]) -> tuple[Bundle, list[Diagnostic]]:
    """Load what can be loaded, and give what is wrong with the rest. A bad policy does not hide the others.

    QueuePolicies are compiled, each over what it extends. Suites and Kueue's Configurations are checked by
    themselves.
    """
    documents = tuple(documents)
    found = [d for whole in documents for d in entries(whole) if is_object(d.value)]
    suites = [d for d in found if d.value["kind"] == "Suite" and gvk_of(d.value).group == SLUICE]
    told = [finding for suite in suites for finding in suite_file.mistakes_in(suite)]
    bundle, wrong = assembled(found)
    wrong += mistakes_in(bundle.queue_policies)
    told += [mistake for document in found for mistake in configuration.mistakes_in(document)]
    return bundle, [*no_objects(documents), *told, *(with_hint(finding, found) for finding in wrong)]


def wrong_with(document: Document) -> list[Diagnostic]:
    """Return what is wrong with one document by itself."""
    return assembled([document])[1]
