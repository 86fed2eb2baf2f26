"""The kubeconfig: which files there are, what they hold, and the namespace of a context. `client.py` connects by them.

In a pod the cluster of its service account is meant, unless a kubeconfig or a context is named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from webhook import documents
from webhook.diagnostics import Diagnostic, Place, SourceError
from webhook.documents import Document

TOKEN: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
"""The token of a pod's service account."""
_SECTIONS: Final = {"clusters": "cluster", "contexts": "context", "users": "user"}
"""The lists of a kubeconfig, and what each of their entries has beside its name."""


def means_own_cluster(kubeconfig: Path | None, context: str | None) -> bool:
    """Return whether the cluster of the pod's service account is meant: this is a pod, and no other one is named."""
    return not (kubeconfig or context or os.environ.get("KUBECONFIG")) and TOKEN.exists()


def files_of(kubeconfig: Path | None) -> list[Path]:
    """Return the kubeconfig files that the library would read."""
    if kubeconfig is not None:
        return [kubeconfig]
    named = [Path(p).expanduser() for p in os.environ.get("KUBECONFIG", "~/.kube/config").split(os.pathsep) if p]
    return [path for path in named if path.is_file()]


def read_with_context(files: Sequence[Path], context: str | None) -> list[dict[str, Any]]:
    """Return what kubeconfig files hold. Raises ValueError if there are none, or none has the context; OSError."""
    if not files:
        raise ValueError(f"{os.environ.get('KUBECONFIG') or '~/.kube/config'} does not exist")
    values = [_read(file) for file in files]
    known = [str(entry.get("name")) for value in values for entry in value.get("contexts") or ()]
    if context and context not in known:
        raise ValueError(f'the kubeconfig has no context "{context}"; it has: {", ".join(known) or "none"}')
    return values


def default_namespace(kubeconfig: Path | None, context: str | None) -> str:
    """Return the namespace of a kubeconfig's context, or `default`. Raises ValueError, OSError."""
    for file in files_of(kubeconfig):
        values = _read(file)
        wanted = context or values.get("current-context")
        for entry in values.get("contexts") or ():
            if entry.get("name") == wanted:
                return str((entry.get("context") or {}).get("namespace") or "default")
    return "default"


def _read(file: Path) -> dict[str, Any]:
    """Read a kubeconfig with our own parser: the library's neither limits nesting nor reports the place of an error.

    Raises ValueError with the place of the error, or OSError.
    """
    try:
        parsed = documents.read(documents.decode(file.read_bytes(), str(file)), str(file))
        if len(parsed) != 1 or not isinstance(parsed[0].value, dict):
            message = "not a kubeconfig file: expected one document with clusters, contexts and users"
            raise SourceError([Diagnostic("INP001", Place(str(file)), message)])
        if mistakes := list(_mistakes(parsed[0])):
            raise SourceError(mistakes)
    except SourceError as error:
        raise ValueError(error.render()) from None
    value: dict[str, Any] = parsed[0].value
    return value


def _mistakes(document: Document) -> Iterator[Diagnostic]:
    """Yield what the library would stumble over: it says only what Python says of it."""
    for section, entry in _SECTIONS.items():
        rows = document.at((section,)) or []
        if not isinstance(rows, list):
            yield document.diagnostic("INP001", (section,), f'"{section}" is not a list')
            continue
        for i, row in enumerate(rows):
            if not isinstance(row, dict):
                yield document.diagnostic("INP001", (section, i), f'"{section}[{i}]" is not an object')
            elif not isinstance(row.get(entry) or {}, dict):
                where = f"{section}[{i}].{entry}"
                yield document.diagnostic("INP001", (section, i, entry), f'"{where}" is not an object')
