"""What commands read besides folders of YAML: standard input, the one document of a file, JSON lines, PEM bundles."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import click
import orjson

from webhook import documents
from webhook.diagnostics import Diagnostic, Place, SourceError
from webhook.documents import Document
from webhook.offline.files import Files, json_values, read_files, read_stream, text_of
from webhook.policy.loading.list_items import entries, objects_in
from webhook.policy.loading.no_object import is_object, no_object

STDIN: Final = "<stdin>"
QUEUE_KINDS: Final = "cq,lq,rf,cohorts,ac,workloadpriorityclasses,ns"
"""The kinds of queues, as `kubectl get` takes them."""
AROUND_KINDS: Final = "limitranges,priorityclasses,runtimeclasses"
"""The kinds of other objects that decide on a job's requests and priority."""
_MAX_PEM: Final = 2**20


def standard_input() -> Files:
    """Read documents from standard input; a closed one is empty."""
    return read_stream(b"" if sys.stdin is None else sys.stdin.buffer.read(), STDIN)


def read_inputs(names: Iterable[str]) -> Files:
    """Read files, folders, and standard input where a name is `-`."""
    names = tuple(names)
    read = read_files([Path(name) for name in names if name != "-"])
    if "-" not in names:
        return read
    piped = standard_input()
    return Files((*read.documents, *piped.documents), (*read.names, *piped.names), (*read.errors, *piped.errors))


class Inputs:
    """Files, folders and standard input (`-`) by their names: as values, and, to tell of a mistake, with places."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        stdin = "-" in self._names and sys.stdin is not None
        self._stdin = sys.stdin.buffer.read() if stdin else b""

    def values(self) -> list[Any]:
        """Return the values. JSON is read as JSON, which takes a small part of the time. Raises SourceError."""
        found: list[Any] = []
        for name in self._names:
            quick = self._json(name)
            if quick is None:
                return [document.value for document in self.documents()]
            found += quick
        return found

    def objects(self) -> list[dict[str, Any]]:
        """Return the objects, those of lists one by one. Raises SourceError, also for what is no object."""
        found = list(objects_in(self.values()))
        return found if all(map(is_object, found)) else _objects(self.documents(), ())

    def documents(self) -> list[Document]:
        """Return the documents with the places of their values. Raises SourceError with everything that is wrong."""
        read = [read_stream(self._stdin, STDIN) if name == "-" else read_files([Path(name)]) for name in self._names]
        if errors := [error for part in read for error in part.errors]:
            raise SourceError(errors)
        return [document for part in read for document in part.documents]

    def _json(self, name: str) -> list[Any] | None:
        """Return the values of a file of JSON; None of anything else, and where something is wrong with it."""
        try:
            if name == "-":
                return json_values(documents.decode(self._stdin, STDIN))
            return json_values(text_of(Path(name), name)) if Path(name).is_file() else None
        except SourceError:
            return None


def one_value(file: Path) -> Any:
    """Return the value of a file's only document. Raises SourceError (INP001) where there are none, or more."""
    found = documents.read(text_of(file, str(file)), str(file))
    if len(found) != 1:
        told = f"{len(found)} documents" if found else "no document"
        raise SourceError([Diagnostic("INP001", Place(str(file)), f"{told} in this file, expected one")])
    return found[0].value


def json_lines(name: str) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines (`-`: standard input), each with its place; empty lines are left out.

    Raises SourceError (FILE001, YAML001, INP001) where the file cannot be read, or a line is no JSON object.
    """
    shown = STDIN if name == "-" else name
    try:
        with click.open_file(name, "rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield Place(shown, number), _object(line, Place(shown, number))
    except OSError as error:
        raise SourceError([Diagnostic("FILE001", Place(shown), error.strerror or str(error))]) from None


def _object(line: bytes, place: Place) -> dict[str, Any]:
    try:
        value = orjson.loads(line.rstrip(b"\r\n"))
    except orjson.JSONDecodeError as error:
        at = Place(place.file, place.line, error.colno)
        hint = "each line must be a JSON object"
        raise SourceError([Diagnostic("YAML001", at, f"not JSON: {error.msg}", hint=hint)]) from None
    if not isinstance(value, dict):
        raise SourceError([Diagnostic("INP001", place, "each line must be a JSON object")])
    return value


def certificates(file: Path) -> bytes:
    """Read a bundle of certificates in PEM form. Raises a usage error where it is none."""
    try:
        with file.open("rb") as stream:
            data = stream.read(_MAX_PEM + 1)
    except OSError as error:
        raise click.UsageError(f"{file}: {error.strerror or error}") from None
    if b"-----BEGIN CERTIFICATE-----" not in data or len(data) > _MAX_PEM:
        raise click.UsageError(f"{file}: not a PEM certificate bundle; `sluice certs` writes ca.crt")
    return data


def manifests(name: str | Path) -> list[dict[str, Any]]:
    """Return the objects of a file, a folder or standard input (`-`), those of Lists one by one. Raises SourceError."""
    read = read_inputs([str(name)])
    return _objects(read.documents, read.errors)


def _objects(documents: Iterable[Document], errors: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    found = [entry for whole in documents for entry in entries(whole)]
    wrong = [no_object(document) for document in found if not is_object(document.value)]
    if told := (*errors, *wrong):
        raise SourceError(told)
    return [document.value for document in found]
