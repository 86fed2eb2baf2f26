"""The types of lint rules: subjects (objects with places), the context of all subjects, findings, rules.

Rules must accept any value at any path, since they see files before they are validated: the accessors here return an
empty value if a value has the wrong type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from webhook.api.configuration.read import settings_among
from webhook.api.configuration.sections import QueueSettings
from webhook.diagnostics import Diagnostic, Severity
from webhook.documents import Document, Path
from webhook.kube.gvk import GroupVersionKind, gvk_of
from webhook.policy.bundle import EMPTY, Bundle
from webhook.policy.loading.list_items import list_items


@dataclass(frozen=True, slots=True)
class Edit:
    """A safe repair: the source of the value at `path` of `document` is replaced by `text`."""

    document: Document
    path: Path
    text: str
    key: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found: the place (a value or a key, or `span` characters of a string), and what to do about it."""

    document: Document
    path: Path
    message: str
    hint: str = ""
    key: bool = False
    span: tuple[int, int] | None = None
    edit: Edit | None = None
    severity: Severity | None = None
    """Where it is another than the rule's."""

    def diagnostic(self, code: str, severity: Severity) -> Diagnostic:
        """Return the finding as the value that is printed."""
        document, severity = self.document, self.severity or severity
        if self.span is not None:
            place = document.text_place(self.path, *self.span)
            return Diagnostic(code, place, self.message, severity, document.source(place), self.hint)
        node = None if self.key else document.nodes.get(self.path)
        if node is not None and node.style in (">", "|"):  # the text itself, not the sign before it
            place = document.text_place(self.path, 0)
            return Diagnostic(code, place, self.message, severity, document.source(place), self.hint)
        told = document.diagnostic(code, self.path, self.message, key=self.key, hint=self.hint)
        return replace(told, severity=severity)


@dataclass(frozen=True, slots=True)
class Subject:
    """One object of the files. `root` is its path within the document: () unless it is an item of a List."""

    document: Document
    root: Path
    value: dict[str, Any]
    gvk: GroupVersionKind
    name: str = ""
    namespace: str = ""

    def at(self, *path: str | int) -> Any:
        """Return the value at a path, or None."""
        value: Any = self.value
        for step in path:
            if isinstance(value, dict) and isinstance(step, str):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return None
        return value

    def text(self, *path: str | int) -> str:
        """Return the string at a path; empty where there is none."""
        value = self.at(*path)
        return value if isinstance(value, str) else ""

    def map(self, *path: str | int) -> dict[str, Any]:
        """Return the map at a path; empty where there is none."""
        value = self.at(*path)
        return value if isinstance(value, dict) else {}

    def each(self, *path: str | int) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield the maps of the list at a path, each with its own path."""
        value = self.at(*path)
        for i, item in enumerate(value if isinstance(value, list) else ()):
            if isinstance(item, dict):
                yield (*path, i), item

    def strings(self, *path: str | int) -> list[str]:
        """Return the strings of the list at a path."""
        value = self.at(*path)
        return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []

    def finding(
        self, path: Path, message: str, hint: str = "", *, key: bool = False, span: tuple[int, int] | None = None
    ) -> Finding:
        """Return a finding at a path of this object."""
        return Finding(self.document, (*self.root, *path), message, hint, key, span)

    def edit(self, path: Path, text: str, *, key: bool = False) -> Edit:
        """Propose another source text for the value (or the key) at a path."""
        return Edit(self.document, (*self.root, *path), text, key)

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f'{self.gvk.kind} "{name}"'


@dataclass(frozen=True, slots=True)
class LintContext:
    """All subjects of the files, and the same by (group, kind). `now` is the time of the run, for expiry dates."""

    subjects: tuple[Subject, ...]
    kinds: Mapping[tuple[str, str], tuple[Subject, ...]] = field(default_factory=dict)
    now: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    bundle: Bundle = EMPTY
    """The policies that could be loaded."""
    settings: QueueSettings | None = None
    """Of the queues: what a Configuration among the subjects says, else the repository; None where neither does."""
    memo: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What one rule found out and another one needs as well."""

    def of(self, group: str, *kinds: str) -> Iterator[Subject]:
        """Yield the subjects of these kinds, whatever their version."""
        for kind in kinds:
            yield from self.kinds.get((group, kind), ())

    def names(self, group: str, kind: str, namespace: str | None = None) -> set[str]:
        """Return the names of a kind's subjects, those of one namespace where it is given."""
        return {s.name for s in self.of(group, kind) if namespace is None or s.namespace == namespace}


def context_of(
    documents: Iterable[Document], now: datetime, bundle: Bundle = EMPTY, settings: QueueSettings | None = None
) -> LintContext:
    """Read documents as subjects; the items of a List are subjects, documents that are no objects are left out.

    `settings` of the queues hold where no document is a Configuration.
    """
    subjects = tuple(subject for document in documents for subject in subjects_of(document))
    kinds: dict[tuple[str, str], list[Subject]] = {}
    for subject in subjects:
        kinds.setdefault((subject.gvk.group, subject.gvk.kind), []).append(subject)
    settings = settings_among(subject.value for subject in subjects) or settings
    return LintContext(subjects, {key: tuple(found) for key, found in kinds.items()}, now, bundle, settings)


def subjects_of(document: Document) -> Iterator[Subject]:
    """Yield the objects that stand in one document."""
    value = document.value
    for root, obj in _objects(value, ()):
        metadata = obj.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        name, namespace = metadata.get("name"), metadata.get("namespace")
        yield Subject(
            document,
            root,
            obj,
            gvk_of(obj),
            name if isinstance(name, str) else "",
            namespace if isinstance(namespace, str) else "",
        )


def _objects(value: Any, root: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    if not isinstance(value, dict) or "kind" not in value:
        return
    if isinstance(items := list_items(value), list):
        for i, item in enumerate(items):
            yield from _objects(item, (*root, "items", i))
    else:
        yield root, value


Check = Callable[[LintContext], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class LintRule:
    """One row of the table of rules. `why` is the text of its page in `docs/findings/`."""

    code: str
    severity: Severity
    title: str
    check: Check
    why: str = ""


def rule(code: str, severity: Severity, title: str) -> Callable[[Check], LintRule]:
    """Make a row of a check; the check's docstring says why it matters."""

    def row(check: Check) -> LintRule:
        return LintRule(code, severity, title, check, _text(check.__doc__ or ""))

    return row


def _text(doc: str) -> str:
    return "\n".join(line.strip() for line in doc.strip().splitlines())
