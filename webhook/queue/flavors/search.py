"""The search for flavors: which flavor each pod set takes per resource group, and what that would need.

The search is here; what is preferred, when it ends and whether victims are looked for are rules: `flavor.preference`,
`flavor.stop` and `flavor.mayPreempt` in `policies/queue/kueue/policy.yaml`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from webhook.queue.decisions import Reason
from webhook.queue.flavors.request_plan import Choice, GroupPlan, PodSetPlan, RequestPlan
from webhook.queue.model import ClusterQueue
from webhook.queue.quota.tree import TreeNode, Usage
from webhook.queue.rules import Key, Mode, Option, Rules

Oracle = Callable[[int, int], tuple[int, int]]
"""Given a column and an amount: the mode that preemption makes possible, and the height borrowed from afterwards."""

GroupKey = tuple[str, int]
"""A pod set's name and the index of a resource group."""

SEVERITY: Final[Mapping[Reason, int]] = {
    Reason.WAITING_FOR_QUOTA: 1,
    Reason.EXCEEDS_MAX_QUOTA: 2,
    Reason.NO_MATCHING_FLAVOR: 3,
}


@dataclass(frozen=True, slots=True)
class Lack:
    """A flavor that did not fit at once: the amount asked of a column, what was free, and the most it can give.

    `column` is -1 if the flavor cannot be used, and `note` then says why. `beside` is the part of `asked` that earlier
    pod sets of the workload take.
    """

    pod_set: str
    flavor: str
    resource: str
    column: int
    asked: int
    free: int
    most: int
    mode: int
    note: str = ""
    beside: int = 0


@dataclass(slots=True, eq=False)
class Assignment:
    """The flavors found. `mode` is the worst over all requests, `borrow` the highest subtree borrowed from.

    `usage` is by column, `short` are the columns that need victims, `reason` says why nothing was found. `tried` has
    the flavor at which each search ended before the last one: from there the next search resumes.
    """

    mode: int = Mode.FIT
    borrow: int = 0
    usage: dict[int, int] = field(default_factory=dict)
    pod_sets: list[tuple[PodSetPlan, int, dict[str, tuple[Choice, int]]]] = field(default_factory=list)
    short: set[int] = field(default_factory=set)
    lacks: list[Lack] = field(default_factory=list)
    reason: Reason = Reason.WAITING_FOR_QUOTA
    tried: dict[GroupKey, int] = field(default_factory=dict)

    def amounts(self) -> list[tuple[int, int]]:
        """Return the usage as (column, amount) pairs. A request for 0 needs no quota, and no victims."""
        return [(column, amount) for column, amount in self.usage.items() if amount]


@dataclass(slots=True, eq=False)
class Best:
    """The best flavor so far of one group."""

    choice: Choice | None = None
    modes: dict[str, tuple[int, int]] = field(default_factory=dict)
    key: Key = ()
    ended: int = -1


class Search:
    """Searches flavors for workloads of one queue, against one usage list."""

    __slots__ = ("_seen", "after", "keep", "node", "oracle", "queue", "rules", "usage", "worst")

    def __init__(
        self, node: TreeNode, usage: Usage, rules: Rules, oracle: Oracle, seen: dict[tuple[int, int], tuple[Key, bool]]
    ) -> None:
        assert isinstance(node.definition, ClusterQueue)
        self.node, self.queue, self.usage, self.rules, self.oracle = node, node.definition, usage, rules, oracle
        self._seen = seen
        self.worst = self._judge(Mode.NO_FIT, 0)[0]
        self.keep: Mapping[GroupKey, str] = {}
        self.after: Mapping[GroupKey, int] = {}

    def _judge(self, mode: int, borrow: int) -> tuple[Key, bool]:
        found = self._seen.get((mode, borrow))
        if found is None:
            option = Option(mode, borrow)
            found = self.rules.preference(option, self.queue), self.rules.stop(option, self.queue)
            self._seen[mode, borrow] = found
        return found

    def assign(self, plan: RequestPlan, counts: Sequence[int] | None = None) -> Assignment:
        """Find flavors for all pod sets, or for `counts` of their pods. Later pod sets see what earlier ones take."""
        assignment = Assignment()
        for index, pod_set in enumerate(plan.pod_sets):
            count = pod_set.count if counts is None else counts[index]
            if not self._pod_set(pod_set, count, assignment):
                assignment.mode = Mode.NO_FIT
                break
        if assignment.mode == Mode.NO_FIT:
            assignment.reason = _reason(plan, assignment)
        return assignment

    def _pod_set(self, pod_set: PodSetPlan, count: int, assignment: Assignment) -> bool:
        found: list[tuple[GroupPlan, Best]] = []
        for group in pod_set.groups:
            best = self._group(group, pod_set, count, assignment)
            if best.choice is None and not count:
                best = self._group(group, pod_set, count, assignment, probe=False)
            if best.choice is None:
                return False
            found.append((group, best))
        if pod_set.missing:
            note = f"resource {pod_set.missing} unavailable in ClusterQueue"
            assignment.lacks.append(Lack(pod_set.name, "", pod_set.missing, -1, 0, 0, 0, Mode.NO_FIT, note))
            return False
        chosen: dict[str, tuple[Choice, int]] = {}
        for group, best in found:
            _take(best, (pod_set.name, group.index), count, chosen, assignment)
        assignment.pod_sets.append((pod_set, count, chosen))
        return True

    def _group(
        self, group: GroupPlan, pod_set: PodSetPlan, count: int, assignment: Assignment, probe: bool = True
    ) -> Best:
        """Find a flavor. For a pod set of no pods, `probe` finds one on which a pod of this shape could run."""
        best, at = Best(key=self.worst), (pod_set.name, group.index)
        first = self.after.get(at, -1) + 1
        for index, choice in enumerate(group.choices[first:], first):
            if self.keep and self.keep.get(at) != choice.flavor:
                continue
            if choice.why:
                lack = Lack(pod_set.name, choice.flavor, "", -1, 0, 0, 0, Mode.NO_FIT, choice.why)
                assignment.lacks.append(lack)
                continue
            if probe and not count and not self._could_hold(choice):
                continue
            key, stop, modes = self._choice(choice, pod_set, count, assignment)
            if stop or key < best.key:
                best = Best(choice, modes, key)
            if stop:
                if index < len(group.choices) - 1:
                    best.ended = index
                break
        return best

    def _could_hold(self, choice: Choice) -> bool:
        """Return whether one pod fits on a flavor if nothing else used the tree."""
        cells, base = self.node.tree.cells, self.node.base
        return all(amount <= cells[base + column].most for _, column, amount in choice.asks)

    def _choice(
        self, choice: Choice, pod_set: PodSetPlan, count: int, assignment: Assignment
    ) -> tuple[Key, bool, dict[str, tuple[int, int]]]:
        worst_mode: int = Mode.FIT
        worst_borrow = 0
        key, stop = self._judge(worst_mode, 0)
        modes: dict[str, tuple[int, int]] = {}
        for resource, column, amount in choice.asks:
            mode, borrow = self._place(choice, pod_set.name, resource, column, amount * count, assignment)
            modes[resource] = mode, borrow
            if (mode, borrow) != (worst_mode, worst_borrow):
                other_key, other_stop = self._judge(mode, borrow)
                if key < other_key:
                    worst_mode, worst_borrow, key, stop = mode, borrow, other_key, other_stop
        return key, stop, modes

    def _place(
        self, choice: Choice, pod_set: str, resource: str, column: int, asked: int, assignment: Assignment
    ) -> tuple[int, int]:
        node, usage = self.node, self.usage
        tree = node.tree
        value = asked + assignment.usage.get(column, 0)
        cell = tree.cells[node.base + column]
        if value <= cell.most:
            free = tree.available(cell.at, usage)
            borrow, below_root = tree.height_to_fit(node, column, value, usage)
            if value <= free or not value:  # where more is used than there is, 0 are free
                return Mode.FIT, borrow
            mode: int = Mode.NO_FIT
            if self.rules.may_preempt(cell, value, self.queue, below_root):
                mode, borrow = self.oracle(column, value)
        else:
            free, mode, borrow = tree.available(cell.at, usage), Mode.NO_FIT, 0
        lack = Lack(pod_set, choice.flavor, resource, column, value, free, cell.most, mode, beside=value - asked)
        assignment.lacks.append(lack)
        return mode, borrow


def _take(best: Best, at: GroupKey, count: int, chosen: dict[str, tuple[Choice, int]], assignment: Assignment) -> None:
    """Add the flavor found for a group to an assignment."""
    assert best.choice is not None
    if best.ended >= 0:
        assignment.tried[at] = best.ended
    for resource, column, amount in best.choice.asks:
        mode, borrow = best.modes[resource]
        chosen[resource] = (best.choice, amount)
        assignment.usage[column] = assignment.usage.get(column, 0) + amount * count
        if borrow > assignment.borrow:
            assignment.borrow = borrow
        if mode != Mode.FIT:
            assignment.mode = min(assignment.mode, max(mode, Mode.NO_CANDIDATES))
            assignment.short.add(column)


def _reason(plan: RequestPlan, assignment: Assignment) -> Reason:
    """Return why nothing was found: the worst reason over pod sets and groups, per group the mildest of its flavors.

    Pod sets that found their flavors are left out.
    """
    placed = {p.name for p, _, _ in assignment.pod_sets}
    groups: dict[tuple[str, str | int], Reason] = {}
    where = {
        (p.name, c.flavor): [g.index for g in p.groups if any(o.flavor == c.flavor for o in g.choices)]
        for p in plan.pod_sets
        for g in p.groups
        for c in g.choices
    }
    flavor_reason: dict[tuple[str, str], Reason] = {}
    for lack in assignment.lacks:
        if lack.mode != Mode.NO_FIT or lack.pod_set in placed:
            continue
        reason = _lack_reason(lack)
        key = (lack.pod_set, lack.flavor)
        if key not in flavor_reason or SEVERITY[reason] > SEVERITY[flavor_reason[key]]:
            flavor_reason[key] = reason
    for (pod_set, flavor), reason in flavor_reason.items():
        indexes: list[int | str] = [*where.get((pod_set, flavor), ())]
        for group in indexes or [flavor]:
            at = (pod_set, group)
            if at not in groups or SEVERITY[reason] < SEVERITY[groups[at]]:
                groups[at] = reason
    return max(groups.values(), key=SEVERITY.__getitem__, default=Reason.NO_MATCHING_FLAVOR)


def _lack_reason(lack: Lack) -> Reason:
    if lack.column < 0:
        return Reason.NO_MATCHING_FLAVOR
    return Reason.EXCEEDS_MAX_QUOTA if lack.asked > lack.most else Reason.WAITING_FOR_QUOTA
