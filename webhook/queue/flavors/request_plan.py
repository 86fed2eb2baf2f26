"""The request of one shape of workload in one queue: computed once per shape, used in every cycle.

A plan lists, per pod set and resource group, the flavors in the order they are tried, with the columns of the tree
that they use. It excludes flavors whose nodes the pods cannot run on; it does not depend on what is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from webhook.queue.flavors.node_match import match
from webhook.queue.model import ClusterQueue, Flavor, PodSet, ResourceGroup
from webhook.queue.quota.tree import TreeNode
from webhook.queue.rules import Rules

PODS = "pods"
Shape = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One flavor for one resource group of a pod set. `why` says why it cannot be used, "" if it can.

    `asks` are (resource, column, amount of one pod).
    """

    flavor: str
    why: str
    asks: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The resources of a pod set that come from one flavor together, and the flavors to try."""

    index: int
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class PodSetPlan:
    """A pod set's groups in the order they are tried; `missing` is a resource that no group covers."""

    name: str
    count: int
    min_count: int
    groups: tuple[GroupPlan, ...]
    missing: str = ""


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """A workload's pod sets; `shrinks` is how many pods it may start without (partial admission)."""

    pod_sets: tuple[PodSetPlan, ...]
    shrinks: int


def make_plan(pod_sets: tuple[PodSet, ...], node: TreeNode, flavors: Mapping[str, Flavor], rules: Rules) -> RequestPlan:
    """Make the plan of pod sets in a queue."""
    queue = node.definition
    assert isinstance(queue, ClusterQueue)
    covering = {r: i for i, g in reversed(list(enumerate(queue.resource_groups))) for r in g.covered_resources}
    plans = tuple(_pod_set_plan(p, node, queue, covering, flavors, rules) for p in pod_sets)
    return RequestPlan(plans, sum(p.count - p.min_count for p in plans))


def shape_of(pod_sets: tuple[PodSet, ...]) -> Shape:
    """Return a hashable value that is equal for pod sets that ask the same."""
    return tuple(
        (
            p.name,
            p.count,
            p.min_count,
            tuple(sorted(p.requests.items())),
            tuple(sorted(p.node_selector.items())),
            p.affinity,
            p.tolerations,
            tuple(sorted(p.flavors.items())),
        )
        for p in pod_sets
    )


def _pod_set_plan(
    pod_set: PodSet,
    node: TreeNode,
    queue: ClusterQueue,
    covering: Mapping[str, int],
    flavors: Mapping[str, Flavor],
    rules: Rules,
) -> PodSetPlan:
    requests = {**pod_set.requests, PODS: 1} if PODS in covering else dict(pod_set.requests)
    indexes: dict[int, None] = {}
    missing = ""
    for resource in sorted(requests):
        if resource in covering:
            indexes.setdefault(covering[resource])
        elif requests[resource] * pod_set.count and not missing and not queue.ignores_undeclared:
            missing = resource
    groups = []
    for index in indexes:
        asked = {r: requests[r] for r in sorted(requests) if covering.get(r) == index}
        choices = _choices(queue.resource_groups[index], asked, pod_set, node, flavors, rules)
        groups.append(GroupPlan(index, tuple(choices)))
    least = pod_set.count if pod_set.min_count is None else pod_set.min_count
    return PodSetPlan(pod_set.name, pod_set.count, least, tuple(groups), missing)


def _choices(
    group: ResourceGroup,
    asked: Mapping[str, int],
    pod_set: PodSet,
    node: TreeNode,
    flavors: Mapping[str, Flavor],
    rules: Rules,
) -> Iterator[Choice]:
    """Yield the choice of each flavor of a group for a pod set; `asked` are its requests per pod in this group."""
    queue = node.definition
    assert isinstance(queue, ClusterQueue)
    for quotas in group.flavors:
        flavor = flavors.get(quotas.name)
        why = _why_not(pod_set, flavor, queue, rules) if flavor else f"flavor {quotas.name} not found"
        if other := next((f for r in asked if (f := pod_set.flavors.get(r, quotas.name)) != quotas.name), ""):
            why = f"pods of the job run on flavor {other}"
        columns = ((r, node.tree.column(quotas.name, r)) for r in asked)
        yield Choice(quotas.name, why, tuple((r, c, asked[r]) for r, c in columns if c is not None))


def _why_not(pod_set: PodSet, flavor: Flavor, queue: ClusterQueue, rules: Rules) -> str:
    if flavor.problem:
        return f"flavor {flavor.name}: {flavor.problem}"
    found = match(pod_set, flavor)
    if rules.eligible(pod_set, found, queue):
        return ""
    if found.untolerated:
        return f"untolerated taint {found.untolerated} in flavor {flavor.name}"
    if not found.affinity:
        return f"flavor {flavor.name} doesn't match node affinity"
    return f"flavor {flavor.name} is not eligible"
