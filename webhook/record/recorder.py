"""Records reviews for `sluice replay`: sampled, masked, bounded in size, rotated. Never slows a review down.

`write` only puts the review on a queue; a thread masks and writes it. If the queue is full, the review is dropped and
counted. A file is JSON lines.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson

from webhook.admission.verdict import Verdict
from webhook.policy.request import Request
from webhook.record.mask import masked_operations, masked_request

log = logging.getLogger(__name__)

FILE: Final = "reviews.jsonl"
WAITING: Final = 1000
"""Reviews that may wait for the disk; beyond that they are dropped."""


@dataclass(frozen=True, slots=True)
class RecordLimits:
    """`sample` is the share of reviews that is kept (0 to 1). Sizes are in bytes; `files` counts rotated ones too."""

    sample: float = 1.0
    review_bytes: int = 256 * 1024
    file_bytes: int = 64 * 2**20
    files: int = 4

    @classmethod
    def within(cls, sample: float, megabytes: float) -> RecordLimits:
        """Return the limits for a share of reviews, and MiB that all files take together."""
        return cls(sample, file_bytes=int(megabytes * 2**20 / cls().files))


@dataclass(frozen=True, slots=True)
class _Entry:
    request: Request
    verdict: Verdict
    seconds: float
    phase: str
    at: float


class Recorder:
    """Writes reviews into `folder`. `dropped` counts those lost to a full queue or an error, `skipped` those too large.

    `failure` is the text of the last error, empty after a success: what is recorded has a gap, reviews go on.
    """

    def __init__(
        self,
        folder: Path,
        limits: RecordLimits | None = None,
        pick: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = folder / FILE
        self._limits, self._pick, self._clock = limits or RecordLimits(), pick, clock
        self._waiting: queue.Queue[_Entry | None] = queue.Queue(WAITING)
        self.written = self.dropped = self.skipped = 0
        self.failure = ""
        self._is_whole = False
        """Whether the file is known to end with a line: this recorder wrote the last one."""
        self._thread = threading.Thread(target=self._run, name="record reviews", daemon=True)
        self._thread.start()

    def write(self, review: Request, verdict: Verdict, latency: float, phase: str = "review") -> None:
        """Keep a review, if it is drawn. `latency` is in seconds; `phase` as in `replay.PHASES`."""
        if self._pick() >= self._limits.sample:
            return
        try:
            self._waiting.put_nowait(_Entry(review, verdict, latency, phase, self._clock()))
        except queue.Full:
            self.dropped += 1

    def close(self) -> None:
        """Write what waits, and end."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (entry := self._waiting.get()) is not None:
            try:
                self._append(entry)
                self.failure = ""
            except (OSError, TypeError, ValueError, RecursionError) as error:
                if str(error) != self.failure:
                    log.error("a review was not recorded: %s", error)
                self.failure = str(error)
                self.dropped += 1

    def _append(self, entry: _Entry) -> None:
        line = orjson.dumps(record_of(entry.request, entry.verdict, entry.seconds, entry.phase, entry.at)) + b"\n"
        if len(line) > self._limits.review_bytes:
            self.skipped += 1
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        size = self._path.stat().st_size if self._path.exists() else 0
        if size and size + len(line) > self._limits.file_bytes:
            self._rotate()
            size = 0
        torn = size > 0 and not self._is_whole and self._ends_within_a_line()
        self._is_whole = False
        try:
            with self._open() as file:
                file.write(b"\n" + line if torn else line)
        except OSError:
            with contextlib.suppress(OSError):
                os.truncate(self._path, size)  # half a line would spoil the next one, and the file for `sluice replay`
            raise
        self._is_whole = True
        self.written += 1

    def _ends_within_a_line(self) -> bool:
        """Return whether the last line is not complete: a recorder that was killed leaves half a line."""
        with self._path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"

    def _open(self) -> BinaryIO:
        """Open the file for its end; readable by its owner only, since it holds objects of all users."""
        return os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")

    def _rotate(self) -> None:
        """Move `reviews.jsonl` to `.1`, `.1` to `.2` and so on; the oldest goes."""
        names = [self._path, *(self._path.with_name(f"{FILE}.{n}") for n in range(1, self._limits.files))]
        names[-1].unlink(missing_ok=True)
        for older, newer in zip(reversed(names[1:]), reversed(names[:-1]), strict=True):
            if newer.exists():
                newer.rename(older)


def record_of(request: Request, verdict: Verdict, seconds: float, phase: str, at: float) -> dict[str, Any]:
    """Return the record of one review: the masked request, what came of it, and how long it took."""
    return {
        "time": round(at, 3),
        "phase": phase,
        "latencyMs": round(seconds * 1000, 4),
        "request": masked_request(request),
        "verdict": verdict_record(request, verdict),
    }


def verdict_record(request: Request, verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as it is recorded and compared: what the sender would see, with masked values."""
    fields: dict[str, Any] = {
        "allowed": verdict.allowed,
        "code": verdict.code if not verdict.allowed else None,
        "message": verdict.message,
        "warnings": list(verdict.warnings),
        "policies": list(verdict.policies),
        "patch": masked_operations(request, verdict.patch) if verdict.allowed else [],
    }
    return {key: value for key, value in fields.items() if value not in ("", None, [])}
