"""Converts quantities to the queue core's amounts and back: milli-units of `cpu`, whole units of everything else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from webhook.kube import quantity
from webhook.queue.model import PodSetAssignment

BINARY: Final = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
EXACT: Final = 1e6
"""Decayed usage from here on is told in whole units."""
BYTES: Final = ("memory", "storage", "ephemeral-storage", "hugepages-")


def amount(resource: str, value: str | float) -> int:
    """Read a quantity as the core's number, rounded up. Raises `quantity.QuantityError` where it is none."""
    return from_nanos(resource, quantity.parse(value).nanos)


def from_nanos(resource: str, nanos: int) -> int:
    """Return billionths of a unit as the core's number, rounded up (Quantity's MilliValue and Value)."""
    return -(-nanos // _unit(resource))


def to_nanos(resource: str, number: int) -> int:
    """Return the core's number as billionths of a unit."""
    return number * _unit(resource)


def _unit(resource: str) -> int:
    """Return the billionths of the core's unit."""
    return 10**6 if resource == "cpu" else 10**9


def text(resource: str, number: int) -> str:
    """Write the core's number as a quantity: whole units where it can, bytes with a binary suffix."""
    if resource == "cpu":
        return str(number // 1000) if number % 1000 == 0 else f"{number}m"
    if resource.startswith(BYTES) and number:
        for suffix, size in BINARY:
            if number % size == 0:
                return f"{number // size}{suffix}"
    return str(number)


def usage_text(resource: str, number: float) -> str:
    """Write decayed usage, in the core's unit, to a billionth of a unit; what is large to the unit."""
    if number >= EXACT:
        return text(resource, round(number))
    nanos = round(number * _unit(resource))
    return f"{nanos}n" if nanos % 10**9 else str(nanos // 10**9)


def texts(amounts: Mapping[str, int]) -> dict[str, str]:
    """Write a map of amounts by resource as quantities."""
    return {resource: text(resource, number) for resource, number in amounts.items()}


def assigned(pod_sets: Iterable[PodSetAssignment]) -> str:
    """Write what pod sets were given, with the flavor of each resource: `4 cpu (default), 16 nvidia.com/gpu (a100)`."""
    return ", ".join(
        f"{text(resource, pods.resource_usage.get(resource, 0))} {resource} ({flavor})"
        for pods in pod_sets
        for resource, flavor in sorted(pods.flavors.items())
    )
