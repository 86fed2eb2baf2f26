"""Bars that a measure is held against: each is printed beside what was found, and a missed one fails the run."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    """What was found, and the most that it may be; with `least`, the least."""

    what: str
    found: float
    bound: float
    least: bool = False

    @property
    def missed(self) -> bool:
        """Whether it is beyond the bar; what could not be measured (NaN) is."""
        return not (self.found >= self.bound if self.least else self.found <= self.bound)

    def __str__(self) -> str:
        """One line."""
        sign = ">=" if self.least else "<="
        return f"{'MISSED' if self.missed else 'kept':8}{self.what}: {self.found:,.2f} ({sign} {self.bound:,.2f})"


def judge(bars: Iterable[Bar]) -> int:
    """Print a line for each bar; give the exit code of the run: 1 where one was missed."""
    missed = False
    for bar in bars:
        print(bar, flush=True)
        missed |= bar.missed
    return int(missed)
