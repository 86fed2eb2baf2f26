"""Documents that are no Kubernetes objects: where policies are loaded they are refused, and none is in force."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Final

from webhook.diagnostics import Diagnostic, Severity
from webhook.documents import Document
from webhook.policy.loading.list_items import entries
from webhook.policy.loading.load_bundle import is_of_another_tool
from webhook.policy.loading.no_object import is_object, meant_as_object, no_object

_GENERATOR: Final = frozenset({"cohorts"})
"""The fields of a file that `sluice simulate` makes queues and jobs of."""
_ELSEWHERE: Final = "keep it outside of the folders of policies: they cannot be loaded with it"


def no_objects(documents: Iterable[Document]) -> Iterator[Diagnostic]:
    """Yield a finding about each document that is no object, and in no file of another tool.

    It is an error where an object was meant, and in a List; elsewhere a warning: a repository holds other YAML, too.
    """
    for whole in documents:
        for document in entries(whole):
            if is_object(document.value) or _is_told(document) or is_of_another_tool(PurePath(document.file)):
                continue
            found = no_object(document)
            if document is not whole or meant_as_object(document.value):
                yield found
            elif not _is_kept_apart(document):
                yield replace(found, severity=Severity.WARNING, hint=_ELSEWHERE)


def _is_told(document: Document) -> bool:
    """Return whether SCH002 says what is wrong: the type of kind."""
    value = document.value
    kind = value.get("kind") if isinstance(value, dict) and value.get("apiVersion") else None
    return kind is not None and not isinstance(kind, str)


def _is_kept_apart(document: Document) -> bool:
    """Return whether a document is a generator of `sluice simulate`, or in a hidden file or folder, such as .github."""
    hidden = any(part.startswith(".") and part != ".." for part in PurePath(document.file).parts)
    return hidden or (isinstance(document.value, dict) and document.value.keys() == _GENERATOR)
