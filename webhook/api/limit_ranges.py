"""Validates pods against their own limits and the namespace's LimitRanges: returns the first violation.

So the queue judges a Workload, in Kueue's words. What admission denies, and fills in, is `policies/limit-range`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from webhook.api.requests import in_order, pod_requests
from webhook.kube import quantity

Object = Mapping[str, Any]
CONTAINERS: Final = ("initContainers", "containers")
INVALID: Final = "resources validation failed"
UNSATISFIED: Final = "resources didn't satisfy LimitRange constraints"
"""How the sentence begins, as clients of Kueue know it."""


def problem_of(specs: Iterable[Object], limit_ranges: Iterable[Object]) -> str:
    """Return why pods with these specs (defaults filled in) cannot be created, the first reason; "" if they can.

    Of several LimitRanges the first by name is named.
    """
    ranges = in_order(limit_ranges)
    for spec in specs:
        for who, holder in (*((f"container {c.get('name')}", c) for c in _containers(spec)), ("the pod", spec)):
            if problem := _over_own_limit(who, holder):
                return f"{INVALID}: {problem}"
        for limit_range in ranges:
            for item in (limit_range.get("spec") or {}).get("limits") or ():
                if problem := _outside(spec, item, limit_range["metadata"]["name"]):
                    return f"{UNSATISFIED}: {problem}"
    return ""


def _containers(spec: Object) -> list[Object]:
    return [container for field in CONTAINERS for container in spec.get(field) or ()]


def _nanos(value: str | float) -> int:
    return quantity.parse(value).nanos


def _over_own_limit(who: str, holder: Object) -> str:
    resources = holder.get("resources") or {}
    limits = resources.get("limits") or {}
    for resource, asked in (resources.get("requests") or {}).items():
        if _nanos(asked) < 0:
            return f"{who} requests {asked} {resource}: a request must not be negative"
        if resource in limits and _nanos(asked) > _nanos(limits[resource]):
            return f"{who} requests {asked} {resource}, above its limit of {limits[resource]}"
    return ""


def _outside(spec: Object, item: Object, name: str) -> str:
    kind = item.get("type")
    if kind == "Container":
        subjects = [(f"container {c.get('name')}", _highest(c), _lowest(c)) for c in _containers(spec)]
    elif kind == "Pod":
        total = pod_requests(spec)
        subjects = [("the pod", total, total)]
    else:
        return ""
    for who, high, low in subjects:
        for resource, most in (item.get("max") or {}).items():
            if high.get(resource, 0) > _nanos(most):
                return f"{who} requests more {resource} than LimitRange {name} allows: the maximum is {most}"
        for resource, least in (item.get("min") or {}).items():
            if resource in low and low[resource] < _nanos(least):
                return f"{who} requests less {resource} than LimitRange {name} allows: the minimum is {least}"
    return ""


def _highest(container: Object) -> dict[str, int]:
    resources = container.get("resources") or {}
    return _merged((resources.get("requests") or {}, resources.get("limits") or {}), max)


def _lowest(container: Object) -> dict[str, int]:
    resources = container.get("resources") or {}
    return _merged((resources.get("requests") or {}, resources.get("limits") or {}), min)


def _merged(parts: Iterable[Mapping[str, Any]], choose: Any) -> dict[str, int]:
    merged: dict[str, int] = {}
    for part in parts:
        for resource, value in part.items():
            nanos = _nanos(value)
            merged[resource] = choose(merged[resource], nanos) if resource in merged else nanos
    return merged
