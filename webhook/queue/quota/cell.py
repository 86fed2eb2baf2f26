"""The quota of one node for one flavor and resource: the unit that trees are built from and rules read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Cell:
    """The quota of one node for one flavor and resource. A limit of -1 means no limit.

    `nominal_quota` is the node's own quota, `subtree` includes what its children lend, `guaranteed` is what it never
    lends, `most` is what it could use if the tree were empty. `at` is its index in the tree's usage list, `above` are
    the cells from the root down to this one.
    """

    flavor: str
    resource: str
    at: int
    nominal_quota: int = 0
    borrowing_limit: int = -1
    lending_limit: int = -1
    subtree: int = 0
    guaranteed: int = 0
    most: int = 0
    root: bool = False
    parent: Cell | None = None
    above: tuple[Cell, ...] = ()
