"""Mistakes in policy files with the way out, for commands that load a bundle: the hints of `sluice lint`."""

from __future__ import annotations

import contextlib
from pathlib import Path

from webhook.diagnostics import SourceError
from webhook.documents import Document
from webhook.offline.lint.hints import with_hint
from webhook.policy.loading.load_bundle import read_file


def hinted(error: SourceError) -> SourceError:
    """Add the way out to each mistake in an expression; the files are read once more for the names in them."""
    known: list[Document] = []
    for file in sorted({d.place.file for d in error.diagnostics if d.code == "CEL001"}):
        with contextlib.suppress(SourceError):  # a text from elsewhere, such as another git revision
            known += read_file(Path(file))
    return SourceError(with_hint(finding, known) for finding in error.diagnostics)
