"""Reads quantities in files: None for an invalid one, which is a finding of another rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.kube.quantity import Quantity, QuantityError, parse


def amount(value: Any) -> Quantity | None:
    """Read a quantity as it may stand in a file: text or number; None where it is none, or endless."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        found = parse(value)
        found.scaled(-9)
    except (QuantityError, OverflowError):
        return None
    return found


def amounts(values: Any) -> dict[str, Quantity]:
    """Read a map of resources; entries that are no quantities are left out."""
    if not isinstance(values, Mapping):
        return {}
    return {name: found for name, value in values.items() if (found := amount(value)) is not None}


def is_whole(value: Quantity) -> bool:
    """Return whether it is a whole number; only what is below a billionth is rounded."""
    return value.nanos % 10**9 == 0


def is_extended(resource: str) -> bool:
    """Return whether a resource is extended, such as `nvidia.com/gpu`: whole units, and no overcommit.

    Those outside `kubernetes.io` that are no quota names (core/helper IsExtendedResourceName).
    """
    return "/" in resource and "kubernetes.io/" not in resource and not resource.startswith("requests.")


def overcommits(resource: str) -> bool:
    """Return whether a limit may be above its request (core/helper IsOvercommitAllowed)."""
    return not is_extended(resource) and not resource.startswith("hugepages-")
