"""How long work keeps the event loop, counted in steps between two turns of the loop and not in time."""

import asyncio

from tests.patience import until
from webhook.cluster import pace


class Turns:
    """Counts steps; `most` is how many there were between two turns. By its clock a look at the time takes `tick` s."""

    def __init__(self, monkeypatch, tick: float) -> None:
        self.steps = self.most = 0
        self._since, self._now, self._tick = 0, 0.0, tick
        monkeypatch.setattr(pace, "perf_counter", self._clock)

    def _clock(self) -> float:
        self._now += self._tick
        return self._now

    def count(self, *_) -> None:
        """Note a step."""
        self.steps += 1
        self.most = max(self.most, self.steps - self._since)

    async def __aenter__(self) -> "Turns":
        self._task = asyncio.create_task(self._turn())
        return self

    async def __aexit__(self, *_) -> None:
        self._task.cancel()

    async def _turn(self) -> None:
        while True:
            self._since = self.steps
            await asyncio.sleep(0)

    async def until(self, steps: int) -> None:
        """Wait until so many steps were made."""

        async def done() -> bool:
            return self.steps >= steps

        await until(done, f"{steps} steps are made")

    @staticmethod
    async def passed(turns: int) -> None:
        """Let the loop have so many turns."""
        for _ in range(turns):
            await asyncio.sleep(0)
