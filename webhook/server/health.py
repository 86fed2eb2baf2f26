"""What the server says of itself: named conditions, each good or not, with a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HealthCondition:
    """One condition as it is now. `detail` may hold a warning although `ok`."""

    ok: bool
    detail: str = ""


Probe = Callable[[], HealthCondition]


class Health:
    """The conditions of readiness, looked at when asked for; `draining` makes the answer no."""

    def __init__(self) -> None:
        self._probes: dict[str, Probe] = {}
        self.draining = False

    def add(self, name: str, probe: Probe) -> None:
        """Make readiness depend on `probe`."""
        self._probes[name] = probe

    def ready(self) -> bool:
        """Return whether every condition is good and the server is not on its way down."""
        return not self.draining and all(probe().ok for probe in self._probes.values())

    def lines(self) -> Iterator[str]:
        """Yield a line for each condition: `[+]name ok`, `[-]name failed`, with the detail."""
        if self.draining:
            yield "[-]serving failed: shutting down"
        for name, probe in self._probes.items():
            condition = probe()
            mark, word = ("+", "ok") if condition.ok else ("-", "failed")
            yield f"[{mark}]{name} {word}" + (f": {condition.detail}" if condition.detail else "")
