"""The files of a repository as an editor has them: what is open as it is written, the rest as it is on the disk."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from webhook import documents
from webhook.api.configuration.sections import QueueSettings
from webhook.config import REPOSITORY, load, settings_said
from webhook.diagnostics import Diagnostic, SourceError
from webhook.documents import Document
from webhook.offline.files import expand, text_of
from webhook.offline.lint.context import Subject, subjects_of
from webhook.policy.loading.list_items import entries


@dataclass(frozen=True, slots=True)
class Parsed:
    """A text that was read: its documents, or what keeps it from being read and the documents from before."""

    text: str
    documents: tuple[Document, ...]
    wrong: tuple[Diagnostic, ...] = ()
    subjects: tuple[Subject, ...] = ()


@dataclass(slots=True)
class Workspace:
    """All files below the folders of a workspace, by path."""

    folders: tuple[Path, ...] = ()
    files: dict[Path, Parsed] = field(default_factory=dict)
    is_read: bool = True
    """False while files of the folders have not been read yet."""
    settings: QueueSettings | None = None
    """Of the queues, as the first `.sluice.yaml` of the folders that says something has them."""

    def load(self) -> Iterator[Path]:
        """Read the files of the folders from the disk, one with each step; what is open stays as it is written."""
        self.is_read = False
        self.read_settings()
        for path in [path for folder in self.folders for path in expand(folder)]:
            if path not in self.files:
                self.reread(path)
                yield path
        self.is_read = True

    def refresh(self, held: Container[Path]) -> Iterator[tuple[Path, bool]]:
        """Read all files again but those that an editor holds, one with each step; gives which changed or are gone."""
        found = dict.fromkeys(path for folder in self.folders for path in expand(folder))
        for path in [*found, *(path for path in self.files if path not in found)]:
            if path not in held:
                before = self.files.get(path)
                self.reread(path)
                yield path, self.files.get(path) is not before

    def read_settings(self) -> None:
        """Read what the folders say of the queues. A file that cannot be read says nothing: `lint` tells."""
        found = (_settings_in(folder) for folder in self.folders)
        self.settings = next((settings for settings in found if settings is not None), None)

    def reread(self, path: Path) -> None:
        """Read one file from the disk, or forget it where it is gone."""
        try:
            self.write(path, text_of(path, str(path)))
        except SourceError:
            self.files.pop(path, None)

    def write(self, path: Path, text: str) -> Parsed:
        """Take a text as what stands in a file now."""
        before = self.files.get(path)
        if before is not None and before.text == text:
            return before
        try:
            found = tuple(documents.read(text, str(path)))
            made = Parsed(text, found, (), tuple(s for d in found for s in subjects_of(d)))
        except SourceError as error:
            old = before or Parsed("", ())
            made = Parsed(text, old.documents, tuple(error.diagnostics), old.subjects)
        self.files[path] = made
        return made

    def subjects(self) -> Iterator[Subject]:
        """Yield the objects of all files."""
        for parsed in self.files.values():
            yield from parsed.subjects

    def named(self, kind: str, name: str) -> Iterator[Subject]:
        """Return the objects of a kind and name."""
        return (s for s in self.subjects() if (s.gvk.kind, s.name) == (kind, name))

    def around(self, path: Path) -> list[Document]:
        """Return the documents that a file's findings depend on, its own first.

        Policies and bindings of other files count where one names the other: a repository may hold hundreds.
        """
        own = list(self.files[path].documents)
        names = {name for document in own for entry in entries(document) for name in _names(entry.value)}
        others = (d for at, parsed in self.files.items() if at != path for d in parsed.documents)
        return [*own, *(d for d in others if _concerns(d, names))]


def _settings_in(folder: Path) -> QueueSettings | None:
    try:
        return settings_said(load(folder / REPOSITORY, {}, {}))
    except SourceError:
        return None


def _concerns(document: Document, names: set[str]) -> bool:
    value = document.value
    kind = str(value.get("kind")) if isinstance(value, dict) else ""
    if "AdmissionPolicy" not in kind and kind not in ("Suite", "QueuePolicy"):
        return True
    return bool(names & set(_names(value)))


def _names(value: object) -> Iterable[str]:
    """Name the policies that an object is, binds, excepts or extends."""
    if not isinstance(value, dict):
        return
    metadata, spec = value.get("metadata"), value.get("spec")
    found: list[object] = []
    if isinstance(metadata, dict) and not str(value.get("kind")).endswith("Binding"):
        found.append(metadata.get("name"))
    if isinstance(spec, dict):
        found.append(spec.get("policyName"))
        listed = [spec.get("policyNames"), spec.get("extends")]
        found += [name for names in listed if isinstance(names, list) for name in names]
    yield from (name for name in found if isinstance(name, str))


def saved(path: Path) -> str:
    """Return the text of a file with the line ends that it has; none where it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError:
        return ""
