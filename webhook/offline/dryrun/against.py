"""What `--against REV` compares with: the policies and the context objects of a repository as they were then."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from webhook.diagnostics import Diagnostic, SourceError
from webhook.offline.dryrun.revisions import at_revision, tracked
from webhook.offline.files import objects_of, read_files
from webhook.policy.bundle import Bundle
from webhook.policy.loading.load_bundle import load_bundle


def bundle_at(revision: str, paths: Sequence[Path]) -> Bundle | None:
    """Load the policies of a git revision, without notes on them; None where there were none of these files.

    Raises RevisionError, and SourceError with places such as `main:policies/gpu.yaml`.
    """
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        there = at_revision(revision, paths, Path(folder))
        try:
            return replace(load_bundle(there), notes=()) if there else None
        except SourceError as error:
            raise SourceError(_renamed(error.diagnostics, folder, revision)) from None


def objects_at(revision: str, paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Give the objects of files and folders at a git revision. What git does not keep is the same at any revision.

    Raises RevisionError, and SourceError with places such as `main:cluster/queues.yaml`.
    """
    kept = [path for path in paths if tracked(path)]
    same = read_files(path for path in paths if path not in kept)
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        then = read_files(at_revision(revision, kept, Path(folder)))
        if then.errors:
            raise SourceError(_renamed(then.errors, folder, revision))
        return objects_of((*then.documents, *same.documents))


def _renamed(diagnostics: Iterable[Diagnostic], folder: str, revision: str) -> Iterator[Diagnostic]:
    """Tell places of the old files by revision, not by the folder that they were written to."""
    for found in diagnostics:
        inner = Path(found.place.file).relative_to(folder).parts[1:]
        place = replace(found.place, file=f"{revision}:{'/'.join(inner)}")
        yield replace(found, place=place)
