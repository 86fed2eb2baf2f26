"""The only door by which policy files come in: paths to documents to a bundle, or all that is wrong with them.

Folders are read with everything below them; `suite.yaml` files and `cases/` folders (tests), hidden ones, and files
that other tools read by their name are left out, and so is a folder that holds a file `.not-in-force`, unless it is
named itself. Links to folders below a folder are not followed, but refused: what they lead to would be left out in
silence. A file may hold any objects: those that are no policies become parameters and facts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import Final

from webhook import documents
from webhook.diagnostics import Diagnostic, Place, SourceError
from webhook.documents import Document
from webhook.policy.bundle import Bundle
from webhook.policy.loading.assemble import assemble

SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
NOT_IN_FORCE: Final = ".not-in-force"
"""The file that sets its folder apart: what is in it is there to be looked at, tested and copied."""
_TESTS: Final = frozenset({"cases", "__pycache__"})
_OTHER_TOOLS: Final = (
    "kustomization.y*ml", "Chart.y*ml", "values.y*ml", "values[-._]*.y*ml", "*[-._]values.y*ml", "*.schema.json",
    "artifacthub-*.y*ml", "kyverno-test.y*ml", "mkdocs.y*ml", "compose.y*ml", "docker-compose*.y*ml",
)  # fmt: skip
"""Names of files that other tools read: they may stand beside policies, and need no apiVersion and kind."""


def load_bundle(paths: Iterable[Path]) -> Bundle:
    """Read files and folders into a bundle.

    Raises SourceError with every finding of every file, each at its line and column.
    """
    findings: list[Diagnostic] = []
    found: list[Document] = []
    for file in files_of(paths, findings):
        try:
            found += read_file(file)
        except SourceError as error:
            findings += error.diagnostics
    return assemble(found, findings)


def files_of(paths: Iterable[Path], findings: list[Diagnostic]) -> Iterator[Path]:
    """Yield the policy files of some paths, each once, in the order of their names."""
    seen: set[Path] = set()
    for path in paths:
        if not _exists(path):
            findings.append(Diagnostic("FILE001", Place(str(path)), "no such file or folder"))
            continue
        for file in [path] if path.is_file() or not _may_be_listed(path) else sorted(_below(path)):
            if file.resolve() not in seen:
                seen.add(file.resolve())
                yield file


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # such as a name that is too long
        return False


def _below(folder: Path) -> Iterator[Path]:
    apart = {mark.parent for mark in folder.rglob(NOT_IN_FORCE)} - {folder}
    for path in folder.rglob("*"):
        inner = path.relative_to(folder).parts
        hidden = any(part.startswith(".") or part in _TESTS for part in inner)
        if (
            not hidden
            and apart.isdisjoint(path.parents)
            and (is_passed_by(path) or (path.suffix in SUFFIXES and not _is_left_out(path) and path.is_file()))
        ):
            yield path


def is_passed_by(path: Path) -> bool:
    """Return whether a path below a folder is a folder that a walk does not enter: a link, or one without rights.

    Left out in silence, its files would seem to be fine; reading it raises the reason. `lost+found`, which stands at
    the top of a file system of its own, holds no files of anybody.
    """
    return path.name != "lost+found" and path.is_dir() and (path.is_symlink() or not _may_be_listed(path))


def _may_be_listed(path: Path) -> bool:
    return not path.is_dir() or os.access(path, os.R_OK | os.X_OK)


def is_suite(path: Path) -> bool:
    """Return whether a file holds tests by its name: `suite.yaml`, `gpu.suite.yaml`."""
    return path.stem == "suite" or path.stem.endswith(".suite")


def is_of_another_tool(path: PurePath) -> bool:
    """Return whether a file is one that another tool reads, by its name: `kustomization.yaml`, `values-prod.yaml`."""
    return any(fnmatch(path.name, pattern) for pattern in _OTHER_TOOLS)


def _is_left_out(path: Path) -> bool:
    return is_suite(path) or is_of_another_tool(path)


def read_file(file: Path) -> list[Document]:
    """Read the documents of one file. Raises SourceError."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise SourceError([Diagnostic("FILE001", Place(str(file)), why_unread(file, error))]) from None
    return documents.read(documents.decode(data, str(file)), str(file))


def why_unread(path: Path, error: OSError) -> str:
    """Return in words why a file, or a folder in its place, is not read."""
    if isinstance(error, IsADirectoryError) and path.is_symlink():
        return "is a symbolic link to a folder, which is not followed; name its target"
    return error.strerror or str(error)
