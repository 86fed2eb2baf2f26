"""Cohort trees: quota numbers per node, flavor and resource, and the arithmetic of usage along the tree.

Quotas are kept in cells; usage is one flat list of ints per tree, so a what-if works on a copy of the list.
The recursion is here; borrowing and lending limits are applied by `Rules.guaranteed`, `available` and `most`, whose
formulas are rules: `capacity` in `policies/queue/kueue/policy.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from webhook.queue.model import Admission, ClusterQueue, Cohort, Quota, ResourceGroup
from webhook.queue.quota.cell import Cell
from webhook.queue.rules import Rules

FlavorResource = tuple[str, str]
Usage = list[int]
Amounts = Sequence[tuple[int, int]]
"""(column, amount) pairs: a column is a flavor and resource of one tree."""

NO_QUOTA = Quota()
MAX_QUOTA = 1 << 60
"""Quotas saturate at this value, so that sums of a few of them stay within an int64, as in Kueue."""


@dataclass(slots=True, eq=False)
class TreeNode:
    """A ClusterQueue or a cohort in its tree. `path` leads from the node itself up to the root."""

    name: str
    definition: ClusterQueue | Cohort
    tree: Tree = field(init=False)
    """Set when the tree is built."""
    parent: TreeNode | None = None
    children: list[TreeNode] = field(default_factory=list)
    queues: list[TreeNode] = field(default_factory=list)
    path: tuple[TreeNode, ...] = ()
    base: int = 0
    height: int = 0
    is_queue: bool = False


class Tree:
    """The nodes under one root, their cells and their usage. A queue without a cohort is a tree of its own.

    `failure` is the reason why it admits and lends nothing, without asking rules; "" if it works normally.
    """

    __slots__ = (
        "_available",
        "_huge",
        "cells",
        "columns",
        "failure",
        "names",
        "nodes",
        "resources",
        "root",
        "rules",
        "usage",
        "width",
    )

    def __init__(self, root: TreeNode, rules: Rules, *, failure: str = "") -> None:
        self.root = root
        self.rules = rules
        self._available = rules.available
        self.failure, self._huge = failure, False
        self.nodes = list(_walk(root))
        self.columns: dict[FlavorResource, int] = {}
        for node in self.nodes:
            for key in _quotas(node.definition.resource_groups):
                self.columns.setdefault(key, len(self.columns))
        self.names = tuple(self.columns)
        self.resources = tuple(resource for _, resource in self.names)
        self.width = len(self.columns)
        self.cells: list[Cell] = []
        for index, node in enumerate(self.nodes):
            node.tree, node.base = self, index * self.width
            node.path = (node, *node.parent.path) if node.parent else (node,)
            self.cells.extend(self._cells(node))
        self._fill(root)
        self.usage: Usage = [0] * len(self.cells)

    def _cells(self, node: TreeNode) -> Iterator[Cell]:
        quotas = _quotas(node.definition.resource_groups)
        for column, (flavor, resource) in enumerate(self.names):
            quota = quotas.get((flavor, resource), NO_QUOTA)
            yield Cell(
                flavor=flavor,
                resource=resource,
                at=node.base + column,
                nominal_quota=min(quota.nominal_quota, MAX_QUOTA),
                borrowing_limit=-1 if quota.borrowing_limit is None else min(quota.borrowing_limit, MAX_QUOTA),
                lending_limit=-1 if quota.lending_limit is None else min(quota.lending_limit, MAX_QUOTA),
                root=node.parent is None,
                parent=self.cells[node.parent.base + column] if node.parent else None,
            )

    def _fill(self, root: TreeNode) -> None:
        for node in reversed(self.nodes):
            node.height = max((c.height + 1 for c in node.children), default=min(len(node.queues), 1))
            for column in range(self.width):
                cell = self.cells[node.base + column]
                lent = (self.cells[c.base + column] for c in (*node.children, *node.queues))
                cell.subtree = min(cell.nominal_quota + sum(c.subtree - c.guaranteed for c in lent), MAX_QUOTA)
                cell.guaranteed = 0 if self.failure else self.rules.guaranteed(cell)
        for cell in self.cells:
            above = cell.parent.most if cell.parent else 0
            cell.above = (*cell.parent.above, cell) if cell.parent else (cell,)
            cell.most = 0 if self.failure else min(self.rules.most(cell, above), MAX_QUOTA)

    def column(self, flavor: str, resource: str) -> int | None:
        """Return the column of a flavor and resource; None where no node of the tree has quota for it."""
        return self.columns.get((flavor, resource))

    def amounts_of(self, admission: Admission) -> tuple[tuple[int, int], ...]:
        """Return the usage of an admission in this tree, as (column, amount) pairs."""
        sums: dict[int, int] = {}
        for pod_set in admission.pod_set_assignments:
            for resource, flavor in pod_set.flavors.items():
                column = self.columns.get((flavor, resource))
                if column is not None:
                    sums[column] = sums.get(column, 0) + pod_set.resource_usage.get(resource, 0)
        return tuple(sums.items())

    def available(self, at: int, usage: Usage) -> int:
        """Return how much more may be used at a cell, given a usage list; negative when over-admitted."""
        if self._huge or self.failure:
            return self._saturated(at, usage)
        free, available = 0, self._available
        for cell in self.cells[at].above:
            free = available(cell, usage[cell.at], free)
        return free

    def _saturated(self, at: int, usage: Usage) -> int:
        """Return the same for amounts too large for the rules' arithmetic."""
        if self.failure:
            return 0
        cell = self.cells[at]
        above = self._saturated(cell.parent.at, usage) if cell.parent is not None else 0
        return max(-2 * MAX_QUOTA, min(self.rules.available(cell, min(usage[at], 2 * MAX_QUOTA), above), MAX_QUOTA))

    def hold(self, node: TreeNode, amounts: Amounts) -> None:
        """Add `amounts` to the tree's own usage."""
        self.add(node, amounts, self.usage)
        if any(amount > MAX_QUOTA >> 10 for _, amount in amounts):
            self._huge = True

    def add(self, node: TreeNode, amounts: Amounts, usage: Usage) -> None:
        """Add `amounts` to a usage list at a node, and what exceeds its guaranteed quota at its parent too."""
        for column, amount in amounts:
            at = node.base + column
            cell: Cell | None = self.cells[at]
            while cell is not None:
                free = cell.guaranteed - usage[cell.at]
                usage[cell.at] += amount
                if free > 0:
                    amount -= free
                if amount <= 0:
                    break
                cell = cell.parent

    def remove(self, node: TreeNode, amounts: Amounts, usage: Usage) -> None:
        """Remove `amounts` from a usage list at a node, and at its ancestors what was used of theirs."""
        for column, amount in amounts:
            at = node.base + column
            cell: Cell | None = self.cells[at]
            while cell is not None:
                stored = usage[cell.at] - cell.guaranteed
                usage[cell.at] -= amount
                if stored <= 0:
                    break
                amount = min(amount, stored)
                cell = cell.parent

    def fits(self, node: TreeNode, amounts: Amounts, usage: Usage) -> bool:
        """Return whether all `amounts` may be used at a node at once."""
        base = node.base
        return not [column for column, amount in amounts if amount > self.available(base + column, usage)]

    def local(self, cell: Cell, usage: Usage) -> int:
        """Return the unused part of a node's guaranteed quota."""
        return max(0, cell.guaranteed - usage[cell.at])

    def height_to_fit(self, node: TreeNode, column: int, amount: int, usage: Usage) -> tuple[int, bool]:
        """Return the height of the lowest subtree whose quota holds `amount` more, and whether it lies below the root.

        0 is the queue itself; if no subtree holds it, the height of the whole tree.
        """
        cells, borrows = self.cells, self.rules.borrows
        cell = cells[node.base + column]
        if node.parent is None or not borrows(cell, usage[cell.at] + amount):
            return 0, node.parent is not None
        for below, ancestor in zip(node.path, node.path[1:], strict=False):
            amount -= self.local(cells[below.base + column], usage)
            cell = cells[ancestor.base + column]
            if not borrows(cell, usage[cell.at] + amount):
                return ancestor.height, ancestor.parent is not None
        return self.root.height, False

    def over(self, node: TreeNode, columns: Iterable[int], usage: Usage) -> bool:
        """Return whether a node uses more than its quota in any of the columns."""
        cells, borrows = self.cells, self.rules.borrows
        base = node.base
        return any(borrows(cells[base + c], usage[base + c]) for c in columns)


def _walk(node: TreeNode) -> Iterator[TreeNode]:
    yield node
    for child in (*node.children, *node.queues):
        yield from _walk(child)


def _quotas(groups: tuple[ResourceGroup, ...]) -> Mapping[FlavorResource, Quota]:
    return {
        (flavor.name, resource): quota
        for group in groups
        for flavor in group.flavors
        for resource, quota in flavor.resources.items()
    }
