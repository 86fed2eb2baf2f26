"""Runs suites in several processes: each worker gets one suite file after the other, and sends back every result.

If a worker dies, its current case fails and a new worker replaces it. The results do not depend on the number of
workers. One suite is run by `run_suite.py`.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from webhook.diagnostics import Diagnostic, Place
from webhook.documents import Document
from webhook.offline import processes
from webhook.offline.reports.junit import CaseOutcome
from webhook.offline.suite.run_case import Result
from webhook.offline.suite.run_suite import Runner, RunOptions, SuiteResult, picked
from webhook.offline.suite.suite_file import Case, Suite

_FEW: Final = 25
"""Cases that are not worth a process: what it costs to start one, they cost."""
_NOBODY: Final = Case("", "", {}, (), Document(None, ""), Path())
"""Stands for the case in what a worker sends; who reads knows which it is."""
_ALIVE: Final = 2.0
"""Seconds after which a worker that waits for a suite looks whether anybody is there to send one."""


def worker_count(suites: Sequence[Suite], pattern: str, jobs: int | None) -> int:
    """Return how many processes to use: `jobs`, or one per core if there are enough cases."""
    if jobs is not None:
        return min(jobs, len(suites))
    cases = sum(len(picked(suite, pattern)) for suite in suites)
    return min(processes.cores(), len(suites), cases // _FEW)


def run_parts(suites: Sequence[Suite], how: RunOptions, jobs: int, tell: Callable[[Result], None]) -> list[SuiteResult]:
    """Run suites, in this process where `jobs` is not above 1; what came of each, in their order."""
    if jobs <= 1:
        runner = Runner(how)
        return [runner.run(suite, tell) for suite in suites]
    workers = _Workers(suites, how, tell)
    try:
        workers.run(jobs)
    finally:
        workers.stop()
    return [workers.parts[at] for at in range(len(suites))]


@dataclass(slots=True)
class _Worker:
    """A worker process: our end of its pipe, the suite it is at, and what has come of that so far."""

    process: BaseProcess
    door: Connection
    at: int = -1
    cases: list[Case] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    known: set[tuple[Path, ...]] = field(default_factory=set)


@dataclass(slots=True)
class _Workers:
    suites: Sequence[Suite]
    how: RunOptions
    tell: Callable[[Result], None]
    parts: dict[int, SuiteResult] = field(default_factory=dict)
    todo: list[int] = field(default_factory=list)
    workers: list[_Worker] = field(default_factory=list)

    def run(self, jobs: int) -> None:
        """Start workers and hear them until every suite is done."""
        self.todo = list(range(len(self.suites)))
        for _ in range(jobs):
            self._start()
        while self.workers:
            doors = {worker.door: worker for worker in self.workers}
            for door in wait(list(doors)):
                worker = doors[door]  # type: ignore[index]  # wait() gives back what it was given
                result = _received(worker.door)
                if result is None:
                    self._lost(worker)
                else:
                    self._receive(worker, result)

    def stop(self) -> None:
        """End the workers that are left: after an interruption, or an error of our own."""
        for worker in self.workers:
            worker.process.kill()
            worker.process.join()
            worker.door.close()

    def _start(self) -> None:
        ours, theirs = multiprocessing.Pipe()
        process = processes.start(_work, theirs, self.suites, self.how, os.getpid())
        theirs.close()
        worker = _Worker(process, ours)
        self.workers.append(worker)
        self._give(worker)

    def _give(self, worker: _Worker) -> None:
        """Send the next suite, preferably one whose policies the worker has, else whose policies no worker has."""
        if not self.todo:
            worker.door.send(None)
            worker.door.close()
            worker.process.join()
            self.workers.remove(worker)
            return
        taken = {paths for other in self.workers for paths in other.known}
        has = (self.suites[at].policies for at in self.todo)
        rank = [0 if paths in worker.known else 1 if paths not in taken else 2 for paths in has]
        worker.at = self.todo.pop(rank.index(min(rank)))
        worker.cases, worker.results = picked(self.suites[worker.at], self.how.pattern), []
        worker.known.add(self.suites[worker.at].policies)
        worker.door.send(worker.at)

    def _receive(self, worker: _Worker, result: Result | SuiteResult) -> None:
        if isinstance(result, Result):
            worker.results.append(replace(result, case=worker.cases[len(worker.results)]))
            self.tell(worker.results[-1])
        else:
            self.parts[worker.at] = replace(result, results=tuple(worker.results))
            self._give(worker)

    def _lost(self, worker: _Worker) -> None:
        """Take note of a worker that died, and let another go on with the other suites."""
        worker.process.join()
        self.workers.remove(worker)
        worker.door.close()
        part = _of_lost(self.suites[worker.at], worker, _ending(worker.process.exitcode or 0))
        for result in part.results[len(worker.results) :]:
            self.tell(result)
        self.parts[worker.at] = part
        if self.todo:
            self._start()


def _received(door: Connection) -> Result | SuiteResult | None:
    """Return what a worker says; None where it is dead."""
    try:
        result: Result | SuiteResult = door.recv()
    except (EOFError, OSError):
        return None
    return result


def _of_lost(suite: Suite, worker: _Worker, how: str) -> SuiteResult:
    """Return the part of a suite whose worker died: what it had sent, an error at the next case, the rest not run."""
    left = worker.cases[len(worker.results) :]
    if not left:
        return SuiteResult(broken=(Diagnostic("SUI003", Place(str(suite.file)), f"the worker process {how}"),))
    blamed = left[0].diagnostic("SUI003", f"the worker process {how}; later cases did not run")
    lost = (Result(case, CaseOutcome.ERROR, (blamed,) if case is left[0] else ()) for case in left)
    return SuiteResult((*worker.results, *lost))


def _ending(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}; see standard error"
    name = signal.Signals(-code).name
    return f"was killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


def _work(door: Connection, suites: Sequence[Suite], how: RunOptions, parent: int) -> None:
    """Be a worker: run the suites whose numbers come, until there are no more."""
    runner = Runner(how)
    while True:
        while not door.poll(_ALIVE):
            if os.getppid() != parent:
                return
        at = door.recv()
        if at is None:
            return
        part = runner.run(suites[at], lambda result: door.send(replace(result, case=_NOBODY)))
        door.send(replace(part, results=()))
