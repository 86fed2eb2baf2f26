"""Reads journals: the files of one or more replicas, in the order of their leader epochs."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from webhook.diagnostics import Diagnostic, Place, SourceError
from webhook.journal.records import Begin, Record, record_of
from webhook.journal.writer import SUFFIX

CODE: Final = "JRN001"


@dataclass(frozen=True, slots=True)
class JournalFile:
    """One file and its first record."""

    path: Path
    begin: Begin

    def records(self) -> Iterator[Record]:
        """Yield its records, including the first. Raises SourceError at a line that is no record.

        A file that ends early because its writer crashed yields what can be read.
        """
        for number, line in enumerate(_lines(self.path), 1):
            yield _record(line, Place(str(self.path), number))


def readable(files: Iterable[JournalFile], wrong: list[Diagnostic]) -> Iterator[Record]:
    """Yield the records of files. What ends one early is noted, and the next one is read."""
    for file in files:
        try:
            yield from file.records()
        except SourceError as error:
            wrong += error.diagnostics


def journal_files(paths: Iterable[Path], wrong: list[Diagnostic]) -> list[JournalFile]:
    """Find the files of folders, and those named, sorted by lease, epoch of the leader, then by time.

    What is not a journal is noted, and left out.
    """
    journals: list[JournalFile] = []
    seen: set[Path] = set()
    for path in paths:
        for file in sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]:
            if file.resolve() in seen:
                continue
            seen.add(file.resolve())
            try:
                first = next((_record(line, Place(str(file), 1)) for line in _lines(file)), None)
            except SourceError as error:
                wrong += error.diagnostics
                continue
            if isinstance(first, Begin):
                journals.append(JournalFile(file, first))
            elif first is not None:
                hint = "the first lines of this file are missing; use a complete file"
                wrong.append(
                    Diagnostic(CODE, Place(str(file), 1), "a journal must start with a begin record", hint=hint)
                )
    return sorted(journals, key=lambda file: (file.begin.lease, file.begin.epoch, file.begin.at))


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with gzip.open(path) as stream:
            yield from (line for line in stream if line.endswith(b"\n"))
    except EOFError:
        return  # its writer was killed: the end of the compressed stream is missing
    except (OSError, zlib.error) as error:
        told = getattr(error, "strerror", None) or str(error).partition(" (b'")[0]
        way = f"name the folder of a journal, or one of its files: NAME{SUFFIX}"
        hint = way if isinstance(error, gzip.BadGzipFile) else ""
        raise SourceError([Diagnostic("FILE001", Place(str(path)), f"cannot be read: {told}", hint=hint)]) from None


def _record(line: bytes, place: Place) -> Record:
    try:
        return record_of(line)
    except ValueError as error:  # msgspec's errors are such
        raise SourceError([Diagnostic(CODE, place, str(error))]) from None
