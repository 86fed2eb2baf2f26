"""Paths of values below a variable, for the cost estimate, with the aliasing of Go's `append`.

In cel-go, paths share memory, so that a later field of an iteration variable can overwrite an earlier one. The API
server's estimates depend on it, so this reproduces it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """The first `length` of `cells`; what stands behind is room that several paths may use."""

    cells: list[str]
    length: int

    @property
    def steps(self) -> list[str]:
        """The names of the path as they are now."""
        return self.cells[: self.length]

    def plus(self, name: str) -> Path:
        """The path one step further."""
        cells = self.cells
        if self.length == len(cells):
            room = max(1, 2 * self.length)
            cells = [*cells, *([""] * (room - self.length))]
        cells[self.length] = name
        return Path(cells, self.length + 1)


NOWHERE: Final = Path([], 0)
