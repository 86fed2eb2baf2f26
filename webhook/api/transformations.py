"""What quota counts of the requests of a pod: settings leave resources out, or count them as others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.api.configuration.sections import ResourceSettings

UNIT: Final = 10**9


def counted(asked: Mapping[str, int], resources: ResourceSettings) -> dict[str, int]:
    """Return requests, in billionths, as quota counts them: without excluded resources, and transformed.

    A transformation reads what was asked for, never what another one made. What they make of one resource is summed: an
    output below 0 takes from other outputs, not from what was asked for. Source: Kueue, applyResourceTransformations.
    """
    nanos = {r: n for r, n in asked.items() if not r.startswith(resources.exclude_resource_prefixes or ("\0",))}
    found, made = dict(nanos), dict[str, int]()
    for transformation in resources.transformations:
        held = nanos.get(transformation.source)
        if held is None:
            continue
        factor = held * nanos.get(transformation.multiply_by, UNIT)
        if not transformation.keep:
            del found[transformation.source]
        for resource, per_unit in transformation.outputs.items():
            made[resource] = made.get(resource, 0) + per_unit * factor
    for resource, exact in made.items():
        found[resource] = found.get(resource, 0) - (-max(0, exact) // UNIT**2)  # rounded up once, at the end
    return found
