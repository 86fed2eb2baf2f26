"""Reading YAML and JSON files of a policy repository: paths in, documents out. The door to the disk of this package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from webhook import documents
from webhook.diagnostics import Diagnostic, Place, SourceError
from webhook.documents import Document

SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
MAX_BYTES: Final = 64 * 2**20
"""A file above this is refused: no file of objects that a person looks after comes near it."""


@dataclass(frozen=True, slots=True)
class Files:
    """What was read: the documents in the order of the files, the files' names, and what could not be read."""

    documents: tuple[Document, ...]
    names: tuple[str, ...]
    errors: tuple[Diagnostic, ...] = ()


def read_files(paths: Iterable[Path], root: Path | None = None) -> Files:
    """Read every YAML or JSON file that is named, or stands in a folder that is named, and collect what is wrong.

    Never raises for a file's content: a file that cannot be read is an error in the result (FILE001, YAML001).
    Names are relative to `root` (default: as they were given).
    """
    found: list[Document] = []
    names: list[str] = []
    errors: list[Diagnostic] = []
    for path in dict.fromkeys(p for given in paths for p in expand(given)):
        name = shown(path, root)
        names.append(name)
        try:
            found += documents.read(text_of(path, name), name)
        except SourceError as error:
            errors += error.diagnostics
    return Files(tuple(found), tuple(names), tuple(errors))


def read_text(text: str, name: str) -> Files:
    """Read documents from a text, as from standard input, and collect what is wrong."""
    try:
        return Files(tuple(documents.read(text, name)), (name,))
    except SourceError as error:
        return Files((), (name,), tuple(error.diagnostics))


def expand(path: Path) -> Iterator[Path]:
    """Give the files of a folder, sorted; a file (or nothing) as it is.

    Hidden files, other suffixes and folders called `cases` (objects of tests) are left out.
    """
    if not path.is_dir():
        yield path
        return
    for child in sorted(path.rglob("*")):
        hidden = any(part.startswith(".") or part == "cases" for part in child.relative_to(path).parts)
        if child.suffix in SUFFIXES and not hidden and child.is_file():
            yield child


def text_of(path: Path, name: str) -> str:
    """Read a file as UTF-8. Raises SourceError (FILE001), saying why it cannot be read."""
    try:
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            raise SourceError([Diagnostic("FILE001", Place(name), f"larger than {MAX_BYTES // 2**20} MiB")])
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise SourceError([Diagnostic("FILE001", Place(name), "is not UTF-8 text")]) from None
    except OSError as error:
        raise SourceError([Diagnostic("FILE001", Place(name), error.strerror or str(error))]) from None


def shown(path: Path, root: Path | None) -> str:
    """Give a path as it is told: relative to `root` where it is inside it."""
    if root is not None and path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    return path.as_posix()
