"""Reads YAML and JSON files of a policy repository: paths in, documents out. All file access of `offline` is here."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from webhook import documents
from webhook.api.configuration.read import KEY, within
from webhook.diagnostics import Diagnostic, Place, SourceError
from webhook.documents import Document
from webhook.policy.loading.list_items import entries
from webhook.policy.loading.load_bundle import SUFFIXES, is_passed_by, why_unread
from webhook.policy.loading.no_object import is_object

MAX_BYTES: Final = 64 * 2**20
"""A file above this is refused: no file of objects that a person looks after comes near it."""


_BLANK: Final = re.compile(r'"\s+:')


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
            found += _read(text_of(path, name), name)
        except SourceError as error:
            errors += error.diagnostics
    return Files(tuple(found), tuple(names), tuple(errors))


def read_stream(data: bytes, name: str) -> Files:
    """Read documents from bytes, as from standard input, and collect what is wrong."""
    try:
        return read_text(documents.decode(data, name), name)
    except SourceError as error:
        return Files((), (name,), tuple(error.diagnostics))


def read_text(text: str, name: str) -> Files:
    """Read documents from a text, and collect what is wrong."""
    try:
        return Files(tuple(_read(text, name)), (name,))
    except SourceError as error:
        return Files((), (name,), tuple(error.diagnostics))


def _read(text: str, name: str) -> list[Document]:
    """Read documents. Raises SourceError, also for a Configuration in a ConfigMap that is no YAML."""
    found = documents.read(text, name)
    if KEY in text:
        _read_within(found)
    return found


def _read_within(found: Iterable[Document]) -> None:
    for document in (entry for whole in found for entry in entries(whole)):
        within(document)


def expand(path: Path) -> Iterator[Path]:
    """Yield the files of a folder, sorted, and folders in it that are passed by; a file (or nothing) as it is.

    Hidden files, other suffixes and folders called `cases` (objects of tests) are left out.
    """
    try:
        folder = path.is_dir()
    except OSError:  # such as a name that is too long: reading tells
        folder = False
    if not folder:
        yield path
        return
    for child in sorted(path.rglob("*")):
        hidden = any(part.startswith(".") or part == "cases" for part in child.relative_to(path).parts)
        if not hidden and (is_passed_by(child) or (child.suffix in SUFFIXES and child.is_file())):
            yield child


def text_of(path: Path, name: str) -> str:
    """Read a file as UTF-8. Raises SourceError (FILE001), saying why it cannot be read."""
    try:
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            raise SourceError([Diagnostic("FILE001", Place(name), f"larger than {MAX_BYTES // 2**20} MiB")])
        return documents.decode(path.read_bytes(), name)
    except OSError as error:
        raise SourceError([Diagnostic("FILE001", Place(name), why_unread(path, error))]) from None


def write_whole(path: Path, data: bytes) -> None:
    """Write a file beside its place, then put it there: on a full disk, or at Ctrl-C, the old one stays, or none.

    Its rights stay, and a link stays one. Raises OSError.
    """
    place = path.resolve()
    fresh = place.with_name(f"{place.name}.sluice-new")
    try:
        fresh.write_bytes(data)
        if place.exists():
            shutil.copymode(place, fresh)
        fresh.replace(place)
    except BaseException as error:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def json_values(text: str) -> list[Any] | None:
    """Return the value of a text that is JSON, without its places; None where it is not, or YAML would refuse it.

    So it is where a key is there twice, or values are nested deeper than `documents.MAX_DEPTH`, and where the
    Configuration in a ConfigMap is no YAML.
    """
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    keys = depth = 0
    level = [value]
    while level:
        keys, depth = keys + sum(len(v) for v in level if type(v) is dict), depth + 1
        parts = (v.values() if type(v) is dict else v for v in level)
        level = [v for part in parts for v in part if type(v) is dict or type(v) is list]
    if depth > documents.MAX_DEPTH:
        return None
    # Behind each key stand a quote and a colon. Where texts have the two as well, or blanks are between, all are read.
    if (keys != text.count('":') or _BLANK.search(text)) and _has_key_twice(text):
        return None
    try:
        _read_within([Document(value, "")] if KEY in text else [])
    except SourceError:
        return None
    return [value]


def _has_key_twice(text: str) -> bool:
    def pairs(found: list[tuple[str, Any]]) -> None:
        if len({key for key, _ in found}) < len(found):
            raise KeyError

    try:
        json.loads(text, object_pairs_hook=pairs)
    except KeyError:
        return True
    return False


def objects_of(read: Iterable[Document]) -> list[dict[str, Any]]:
    """Return the Kubernetes objects of documents, those of Lists one by one; other documents are left out."""
    return [entry.value for whole in read for entry in entries(whole) if is_object(entry.value)]


def shown(path: Path, root: Path | None) -> str:
    """Return a path as it is told: relative to `root` where it is inside it."""
    if root is not None and path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    return path.as_posix()
