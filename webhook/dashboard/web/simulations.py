"""Simulations, each in a child process (`simulation_worker`): what it works cannot keep a review waiting."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Final

import msgspec

from webhook.cluster.pace import Slice
from webhook.dashboard.web.simulation_worker import DONE, REFUSED, RESULT, BothSeries, SimulationTask, pieces

HOME: Final = str(Path(__file__).resolve().parents[3])
"""Where this package stands."""
LINE: Final = 16 * 2**20
"""Bytes of the longest line that a child writes."""


class CannotSimulate(Exception):
    """The rules or the quota cannot be used; the text says why."""


class Simulations:
    """Runs one at a time. `done` is the part of it that is done, 0 to 1."""

    def __init__(self) -> None:
        self.done = 0.0
        self._child: Process | None = None

    async def run(self, task: SimulationTask) -> BothSeries:
        """Run a task to its end. Raises CannotSimulate, RuntimeError where the child ends too early."""
        self.done = 0.0
        command = [sys.executable, "-P", "-m", "webhook.dashboard.web.simulation_worker"]
        path = os.pathsep.join(filter(None, (HOME, os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": path}
        self._child = child = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, limit=LINE
        )
        try:
            await _give(child, task)
            return await self._heard(child)
        finally:
            self._child = None
            if child.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    child.kill()
            await child.communicate()

    def stop(self) -> None:
        """End what runs."""
        if self._child is not None and self._child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._child.kill()

    async def _heard(self, child: Process) -> BothSeries:
        assert child.stdout is not None
        assert child.stderr is not None
        while line := await child.stdout.readline():
            if line.startswith(DONE):
                self.done = float(line.removeprefix(DONE))
            elif line.startswith(REFUSED):
                raise CannotSimulate(msgspec.json.decode(line.removeprefix(REFUSED), type=str))
            elif line.startswith(RESULT):
                return msgspec.json.decode(line.removeprefix(RESULT), type=BothSeries)
        told = (await child.stderr.read()).decode(errors="replace").strip().splitlines()
        raise RuntimeError(f"the simulation ended with code {await child.wait()}" + (f": {told[-1]}" if told else ""))


async def _give(child: Process, task: SimulationTask) -> None:
    """Write the task, giving way in between; a child that has ended says why on its stderr."""
    assert child.stdin is not None
    this = Slice()
    with contextlib.suppress(ConnectionError):
        for piece in pieces(task):
            child.stdin.write(piece)
            await child.stdin.drain()
            await this.give_way()
        child.stdin.close()
