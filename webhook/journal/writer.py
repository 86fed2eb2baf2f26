"""Writes a journal in a thread: compressed files of JSON lines, rotated, and bounded in size and age.

Writing never slows a round down: its records are put on a queue together and written later. If the queue is full or
the disk fails, the file ends there and the next round begins another, so that every file can be replayed to its end.
"""

from __future__ import annotations

import contextlib
import gzip
import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from webhook.journal.records import Begin, Record, line_of
from webhook.journal.users import UserHashes

log = logging.getLogger(__name__)

SUFFIX: Final = ".jsonl.gz"
MAX_WAITING_RECORDS: Final = 200_000
"""Records that may wait to be written; beyond that the file ends."""
FLUSH_SECONDS: Final = 1.0
"""How much of the journal a crash may lose, in seconds."""
RETRY_MS: Final = 60_000
"""Milliseconds after which writing is tried again after an error of the disk."""
DAY_MS: Final = 86_400_000
BEGINNINGS: Final = 2
"""How many times as large as its beginning a file may be at least: the facts of many Workloads are more than a file."""
LEVEL: Final = 1
"""The compression level: records repeat their keys, and a higher level gains little."""


@dataclass(frozen=True, slots=True)
class JournalLimits:
    """How much is kept on the disk: total bytes, and days.

    A file is rotated at an eighth of the bytes, or when it is twice as large as its first record.
    """

    total_bytes: int = 2**30
    days: int = 31

    @property
    def file_bytes(self) -> int:
        """Bytes of one file, compressed."""
        return max(1, self.total_bytes // 8)


class JournalWriter:
    """Writes into `folder`. `written` counts records, `dropped` those lost; `failure` is the last error of the disk.

    `due`, `begin`, `add` and `end` are called by the event loop, and never wait.
    """

    def __init__(
        self,
        folder: Path,
        limits: JournalLimits | None = None,
        clock: Callable[[], float] = time.time,
        users: UserHashes | None = None,
    ) -> None:
        """Write into a folder; with `users` their names are hashed."""
        self._folder, self._limits, self._clock, self._users = folder, limits or JournalLimits(), clock, users
        self._waiting: queue.SimpleQueue[Sequence[Record] | None] = queue.SimpleQueue()
        self._given = self._taken = 0
        """The numbers of records put on the queue, and taken from it by the thread."""
        self._began: int | None = None
        self._not_before = 0
        self._full = self._gap = False
        """Whether the file has reached its size, and whether what comes is lost until another one begins."""
        self._most = self._limits.file_bytes
        """Bytes at which the present file is full."""
        self._unsure = 0
        """The number of records written and not yet flushed to the disk."""
        self._is_on_disk = False
        """Whether anything of the present file has been flushed."""
        self.written = self.dropped = 0
        self.failure = ""
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def due(self, now: int) -> bool:
        """Return whether the next record must be a `Begin`, at a time in milliseconds."""
        if self._began is None:
            return not self._not_before - 2 * RETRY_MS < now < self._not_before  # long before: a clock was put back
        return self._full or now // DAY_MS != self._began // DAY_MS

    def begin(self, record: Begin) -> None:
        """Begin a file. All records until the next one belong to it."""
        self._began, self._full, self._gap = record.at, False, False
        self.add(record)

    def add(self, *records: Record) -> None:
        """Queue records to be written; outside of a file they are dropped, and counted after a failure."""
        if self._began is None:
            self.dropped += len(records) if self._gap else 0
            return
        if self._given - self._taken < MAX_WAITING_RECORDS:
            self._given += len(records)
            self._waiting.put(records)
        else:
            self._lose("the disk is too slow", len(records))

    def end(self) -> None:
        """End the file."""
        self._began, self._gap = None, False

    def counts(self) -> dict[str, int]:
        """Return how many records were written, and how many were lost."""
        return {"written": self.written, "dropped": self.dropped}

    def close(self) -> None:
        """Write what is queued, and end the thread."""
        self._began = None
        self._waiting.put(None)
        self._thread.join()

    def _lose(self, why: str, records: int) -> None:
        """Stop the file at a gap; another one begins a minute later."""
        self._not_before = int(self._clock() * 1000) + RETRY_MS  # before the gap is seen: `due` runs in another thread
        self._tell(why, records)
        self._gap = True
        self._began = None  # last: what the event loop adds before is queued, and what it adds after is counted as lost

    def _tell(self, why: str, records: int) -> None:
        """Log why records are lost, and count them."""
        if self.failure != why:
            log.warning("the journal has a gap: %s", why)
        self.dropped += records
        self.failure = why

    def _run(self) -> None:
        """Write until None arrives. After an error, records are dropped until the next file begins."""
        stream: gzip.GzipFile | None = None
        due: float | None = None
        """The next time to flush to the disk, by the monotonic clock."""
        while True:
            left = None if due is None else due - time.monotonic()
            if left is not None and left <= 0:
                due, left, stream = None, None, self._checked(stream)
            try:
                records = self._waiting.get(timeout=left)
            except queue.Empty:
                continue
            if records is None:
                self._finish(stream)
                return
            self._taken += len(records)
            for record in records:
                stream = self._write(stream, record)
            if due is None and self._unsure:
                due = time.monotonic() + FLUSH_SECONDS

    def _write(self, stream: gzip.GzipFile | None, record: Record) -> gzip.GzipFile | None:
        """Write one record. Return the file for the next one, None after an error."""
        try:
            if isinstance(record, Begin):
                self._finish(stream)
                stream = None
                self._tidy()
                stream, self._is_on_disk = self._open(record), False
            if stream is None:
                self.dropped += 1
                return None
            stream.write(line_of(record if self._users is None else self._users.record(record)))
            if isinstance(record, Begin):
                self._measure(stream)
        except (OSError, ValueError) as error:
            lost = self._taken_back() if isinstance(error, OSError) else 0
            self._lose(getattr(error, "strerror", None) or str(error), 1 + lost)
            self._finish(stream)
            return None
        self.written += 1
        self._unsure += not isinstance(record, Begin)
        return stream

    def _measure(self, stream: gzip.GzipFile) -> None:
        """Flush the beginning of a file, and set the size of the file by it. Raises OSError."""
        stream.flush()
        self._is_on_disk = True
        size = os.stat(stream.name).st_size
        self._most = max(self._limits.file_bytes, BEGINNINGS * size)
        if self._most > self._limits.file_bytes:
            log.warning(
                "the facts at the beginning of each journal file take %.1f MiB: set journalMegabytes to %d or more",
                size / 2**20,
                -(-size * BEGINNINGS * 8 // 2**20),
            )

    def _checked(self, stream: gzip.GzipFile | None) -> gzip.GzipFile | None:
        """Flush to the disk and note whether the file reached its size. Return the file, None after an error."""
        if stream is None:
            return None
        try:
            stream.flush()
            self._unsure = 0
            self._full = os.stat(stream.name).st_size >= self._most
        except OSError as error:
            self._lose(error.strerror or str(error), self._taken_back())
            self._finish(stream)
            return None
        self._is_on_disk = True
        return stream

    def _taken_back(self) -> int:
        """Count what may not have reached the disk as written no more, and return how many records that are."""
        lost, self._unsure = self._unsure, 0
        self.written -= lost
        return lost

    def _finish(self, stream: gzip.GzipFile | None) -> None:
        """Close a file; what does not reach the disk is lost, which says nothing of the file that begins next.

        One without a beginning is removed: a full disk would leave one each minute.
        """
        if stream is None:
            return
        try:
            stream.flush()
        except OSError as error:
            self._tell(error.strerror or str(error), self._taken_back())
        self._unsure = 0
        with contextlib.suppress(OSError):
            stream.close()  # all records are on the disk, or counted as lost
        if not self._is_on_disk:
            with contextlib.suppress(OSError):
                os.unlink(stream.name)

    def _open(self, begin: Begin) -> gzip.GzipFile:
        moment = datetime.fromtimestamp(begin.at / 1000, UTC)
        name = f"{moment:%Y-%m-%dT%H-%M-%S}.{begin.at % 1000:03}Z"
        for number in range(1000):
            path = self._folder / f"{name}{f'-{number}' if number else ''}{SUFFIX}"
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
                self.failure = ""
                return gzip.GzipFile(path, "wb", LEVEL, mtime=begin.at / 1000)
        raise OSError(f"{path} exists already")

    def _tidy(self) -> None:
        """Remove the oldest files beyond the limits of size and age; create the folder, readable by its owner only."""
        self._folder.mkdir(0o700, parents=True, exist_ok=True)
        files = sorted(self._folder.glob(f"*{SUFFIX}"), reverse=True)
        oldest, kept = self._clock() - self._limits.days * DAY_MS / 1000, self._most
        for path in files:
            with contextlib.suppress(FileNotFoundError):
                known = os.stat(path)
                kept += known.st_size
                if kept > self._limits.total_bytes or known.st_mtime < oldest:
                    path.unlink()
