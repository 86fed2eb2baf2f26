"""Paths of values in the tree of a variable, for the estimate of costs: appended to as Go appends to a slice.

cel-go lets paths of one length share their memory, so that a later field of an iteration variable can overwrite an
earlier one's name; the API server's figures follow from that, and so ours must.
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
