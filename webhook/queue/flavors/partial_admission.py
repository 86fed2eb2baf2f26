"""Partial admission: the largest pod counts, down to each pod set's `minCount`, with which a workload can be placed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from webhook.queue.flavors.request_plan import RequestPlan

T = TypeVar("T")


def with_largest_counts(plan: RequestPlan, place: Callable[[Sequence[int]], T | None]) -> T | None:
    """Return the result of `place` for the largest pod counts it accepts; None if it accepts none.

    All pod sets shrink together, in proportion to what they may shrink by; the counts are found by bisection.
    """
    reductions = [p.count - p.min_count for p in plan.pod_sets]
    best: T | None = None
    low, high = 0, plan.shrinks + 1
    while low < high:
        step = (low + high) // 2
        counts = [p.count - r * step // plan.shrinks for p, r in zip(plan.pod_sets, reductions, strict=True)]
        placed = place(counts) if step <= plan.shrinks else None
        if placed is not None:
            best, high = placed, step
        else:
            low = step + 1
    return best
