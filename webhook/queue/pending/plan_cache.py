"""A bounded cache of request plans by shape and queue, cleared whenever trees or flavors change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.queue.flavors.request_plan import RequestPlan, Shape, make_plan, shape_of
from webhook.queue.model import Flavor, PodSet
from webhook.queue.pending.queue import PendingQueue
from webhook.queue.rules import Rules

MOST: Final = 10_000
"""The size of each cache; a full one is cleared."""


class PlanCache:
    """Shapes by the identity of the pod sets, which equal objects share, and plans by queue and shape."""

    __slots__ = ("_plans", "_shapes")

    def __init__(self) -> None:
        self._plans: dict[tuple[PendingQueue, Shape], RequestPlan] = {}
        self._shapes: dict[int, tuple[object, Shape]] = {}

    def shape(self, pod_sets: tuple[PodSet, ...]) -> Shape:
        """Return the shape of pod sets."""
        known = self._shapes.get(id(pod_sets))
        if known is None:
            if len(self._shapes) >= MOST:
                self._shapes.clear()
            known = self._shapes[id(pod_sets)] = pod_sets, shape_of(pod_sets)
        return known[1]

    def plan(
        self, pod_sets: tuple[PodSet, ...], queue: PendingQueue, flavors: Mapping[str, Flavor], rules: Rules
    ) -> RequestPlan:
        """Return the request plan of pod sets in a queue."""
        at = queue, self.shape(pod_sets)
        if (plan := self._plans.get(at)) is None:
            if len(self._plans) >= MOST:
                self._plans.clear()
            plan = self._plans[at] = make_plan(pod_sets, queue.node, flavors, rules)
        return plan

    def forget(self) -> None:
        """Clear all plans, because trees or flavors changed."""
        self._plans.clear()
