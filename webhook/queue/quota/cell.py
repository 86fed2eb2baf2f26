"""The quota of one node for one flavor and resource, in numbers: what trees are made of and rules look at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Cell:
    """The numbers of one node for one flavor and resource. A limit of -1 is no limit.

    `nominal` is the node's own quota, `subtree` adds what its children lend, `guaranteed` is what it never lends,
    `most` is what it could use of an empty tree. `at` is its place in the tree's usage list, `above` leads from the
    root's cell down to this one.
    """

    flavor: str
    resource: str
    at: int
    nominal: int = 0
    borrowing_limit: int = -1
    lending_limit: int = -1
    subtree: int = 0
    guaranteed: int = 0
    most: int = 0
    root: bool = False
    parent: Cell | None = None
    above: tuple[Cell, ...] = ()
