"""Puts rows to the API server's CEL and to ours, and gives those that differ.

The oracle is one process that works on the next rows while ours evaluates these. It is a copy of the binary, so that a
new build does not disturb it, and starts anew now and then, and where a row ends it.
"""

import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tests.cel_diff.judge import differs
from tests.cel_diff.ours import guarded
from tests.controlplane.build import binary

JSON = dict[str, Any]
DIED: JSON = {"ok": False, "stage": "panic", "error": "the process ended"}
_CHUNKS_A_PROCESS = 100
_SECONDS = 600
_REPEATS = 6


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that was answered differently, in what, and both answers."""

    what: str
    row: JSON
    theirs: JSON
    ours: JSON

    def __str__(self) -> str:
        return f"{self.what}: {orjson.dumps(self.row).decode()}\n  theirs {self.theirs}\n  ours   {self.ours}"


class Patient:
    """The oracle, for any number of rows."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="sluice-cel-diff-")
        self._binary = shutil.copy2(binary("oracle"), Path(self._folder.name) / "oracle")
        self._process: subprocess.Popen[bytes] | None = None
        self._asked = 0

    def ask(self, lines: list[bytes]) -> list[JSON]:
        """The answers to rows, in their order; DIED for a row on which the process ends or does not come to an end."""
        out = self._some(lines)
        while len(out) < len(lines):
            # What it had answered before it ended was lost with it: from here on row by row.
            out += self._some(lines[len(out) : len(out) + 1]) or [DIED]
        self._asked += 1
        if self._asked % _CHUNKS_A_PROCESS == 0:
            self._end()
        return out

    def _some(self, lines: list[bytes]) -> list[JSON]:
        """The answers up to the first row that ends the process."""
        if self._process is None:
            environment = os.environ | {"GOMEMLIMIT": "1GiB", "GOMAXPROCS": "1"}
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                [self._binary], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        clock = threading.Timer(_SECONDS if len(lines) > 1 else _SECONDS / 6, process.kill)
        clock.start()
        writer = threading.Thread(target=self._write, args=(process, lines))
        writer.start()
        out = []
        for _ in lines:
            answer = process.stdout.readline()
            if not answer.endswith(b"\n"):
                self._end()
                break
            out.append(orjson.loads(answer))
        clock.cancel()
        writer.join()
        return out

    @staticmethod
    def _write(process: subprocess.Popen[bytes], lines: list[bytes]) -> None:
        assert process.stdin is not None
        try:
            process.stdin.write(b"\n".join(lines) + b"\n")
            process.stdin.flush()
        except OSError:
            pass  # the reader sees that the process is gone

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def close(self) -> None:
        """End the process, and remove the copy."""
        self._end()
        self._folder.cleanup()


def duel(chunks: Iterable[list[JSON]]) -> Iterator[tuple[int, list[Difference]]]:
    """For each chunk of rows: how many they were, and those that differ."""
    oracle = Patient()
    try:
        with ThreadPoolExecutor(1) as beside:
            waiting: tuple[list[bytes], Future[list[JSON]]] | None = None
            for rows in chunks:
                lines = [orjson.dumps(row) for row in rows]
                started = lines, beside.submit(oracle.ask, lines)
                if waiting is not None:
                    yield _settled(oracle, beside, *waiting)
                waiting = started
            if waiting is not None:
                yield _settled(oracle, beside, *waiting)
    finally:
        oracle.close()


def _settled(
    oracle: Patient, beside: ThreadPoolExecutor, lines: list[bytes], answers: Future[list[JSON]]
) -> tuple[int, list[Difference]]:
    mine = [guarded(line) for line in lines]
    found = []
    for line, ours, theirs in zip(lines, mine, answers.result(), strict=True):
        what = differs(ours, theirs) or ("the fast form" if "forms" in ours else None)
        if what is not None and (what == "the fast form" or _steady(oracle, beside, line, theirs)):
            found.append(Difference(what, orjson.loads(line), theirs, ours))
    return len(lines), found


def _steady(oracle: Patient, beside: ThreadPoolExecutor, line: bytes, answer: JSON) -> bool:
    """Whether the oracle always answers so: what it reads from a map comes in any order."""
    again = beside.submit(oracle.ask, [line] * _REPEATS).result()
    return all(other == answer for other in again)
