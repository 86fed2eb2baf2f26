"""`sluice add`: the library of policies to choose from, and copies of them in a repository.

A folder of the library has `policy.yaml`, `suite.yaml` and, for some, `cases/`. Its description is the annotation
`sluice.dev/docs` of its first document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from webhook.documents import Document
from webhook.offline.files import write_whole
from webhook.policy.loading.load_bundle import read_file
from webhook.policy.loading.shipped import library_folder, library_names

KINDS: Final = {
    "ValidatingAdmissionPolicy": "validates",
    "MutatingAdmissionPolicy": "mutates",
    "QueuePolicy": "queue rule",
}
"""Kind of a file's first document -> the word for it."""


@dataclass(frozen=True, slots=True)
class LibraryPolicy:
    """A policy of the library. `parameters` are the names that its ConfigMap, or its rule file, gives values to."""

    name: str
    kind: str
    docs: str
    parameters: tuple[str, ...]

    @property
    def is_queue_rule(self) -> bool:
        """Whether it is in force only when `queueRules` names it."""
        return self.kind == KINDS["QueuePolicy"]


@dataclass(frozen=True, slots=True)
class Copied:
    """Files that were written, and files that were there and stay."""

    written: tuple[Path, ...]
    kept: tuple[Path, ...]


def library() -> list[LibraryPolicy]:
    """Return every policy of the library, by name. Raises SourceError where a file of it cannot be read."""
    return [described(name) for name in library_names()]


def described(name: str) -> LibraryPolicy:
    """Return what a policy of the library says of itself. Raises SourceError."""
    documents = read_file(library_folder(name) / "policy.yaml")
    first = documents[0]
    docs = first.at(("metadata", "annotations", "sluice.dev/docs"))
    return LibraryPolicy(name, KINDS[str(first.at(("kind",)))], str(docs), tuple(_parameters(documents)))


def _parameters(documents: Sequence[Document]) -> list[str]:
    found: list[Any] = [
        d.at(("spec", "parameters") if d.at(("kind",)) == "QueuePolicy" else ("data",))
        for d in documents
        if d.at(("kind",)) in ("QueuePolicy", "ConfigMap")
    ]
    return [str(name) for values in found for name in values or ()]


def copy_policy(name: str, into: Path, *, force: bool) -> Copied:
    """Copy a policy of the library to a folder of its name in `into`; files that are there stay, unless `force`.

    Raises OSError where a file cannot be written.
    """
    source = library_folder(name)
    written: list[Path] = []
    kept: list[Path] = []
    for file in sorted(path for path in source.rglob("*") if path.is_file()):
        target = into / name / file.relative_to(source)
        if target.exists() and not force:
            kept.append(target)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, file.read_bytes())
        written.append(target)
    return Copied(tuple(written), tuple(kept))
