"""`--against REV`: the policies and context objects of a repository at a git revision."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from webhook.diagnostics import Diagnostic, SourceError
from webhook.offline.dryrun.revisions import at_revision, tracked
from webhook.offline.files import objects_of, read_files
from webhook.policy.bundle import Bundle
from webhook.policy.loading.load_bundle import load_bundle
from webhook.policy.loading.shipped import is_shipped


def bundle_at(revision: str, paths: Sequence[Path]) -> Bundle | None:
    """Load the policies of a git revision, without notes on them; None where there were none of these files.

    Raises RevisionError, and SourceError with places such as `main:policies/gpu.yaml`.
    """
    same = [path for path in paths if is_shipped(path) and not tracked(path)]
    with then(revision, [path for path in paths if path not in same]) as there:
        found = [*there, *same]
        return replace(load_bundle(found), notes=()) if found else None


def objects_at(revision: str, paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the objects of files and folders at a git revision. What git does not keep is the same at any revision.

    Raises RevisionError, and SourceError with places such as `main:cluster/queues.yaml`.
    """
    kept = [path for path in paths if tracked(path)]
    same = read_files(path for path in paths if path not in kept)
    with then(revision, kept) as there:
        read = read_files(there)
        if read.errors:
            raise SourceError(read.errors)
        return objects_of((*read.documents, *same.documents))


@contextmanager
def then(revision: str, paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield files and folders as they were at a git revision; a SourceError from within names them by that revision."""
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        try:
            yield at_revision(revision, paths, Path(folder))
        except SourceError as error:
            raise SourceError(_renamed(error.diagnostics, folder, revision)) from None


def _renamed(diagnostics: Iterable[Diagnostic], folder: str, revision: str) -> Iterator[Diagnostic]:
    """Yield places of the old files by revision, not by the folder that they were written to."""
    for found in diagnostics:
        file = Path(found.place.file)
        if file.is_relative_to(folder):
            inner = file.relative_to(folder).parts[1:]
            found = replace(found, place=replace(found.place, file=f"{revision}:{'/'.join(inner)}"))
        yield found
