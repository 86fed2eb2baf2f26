"""Converts topology assignments: v1beta1 lists domains, v1beta2 packs them into slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

MOST: Final = 100_000
"""Domains of one assignment, far above any cluster's nodes: a number alone must not fill the memory."""


def slices_of(assignment: Mapping[str, Any]) -> dict[str, Any]:
    """Pack a list of domains into one slice: a value that all share is written once."""
    domains = assignment.get("domains") or ()
    made: dict[str, Any] = {"levels": list(assignment.get("levels") or ()), "slices": []}
    if domains:
        counts = [d.get("count", 0) for d in domains]
        same = len(set(counts)) == 1
        made["slices"].append(
            {
                "domainCount": len(domains),
                "valuesPerLevel": [_level([d["values"][i] for d in domains]) for i in range(len(made["levels"]))],
                "podCounts": {"universal": counts[0]} if same else {"individual": counts},
            }
        )
    return made


def domains_of(assignment: Mapping[str, Any]) -> dict[str, Any]:
    """Unpack slices into one entry per domain, in their order. Raises ValueError beyond MOST."""
    slices = assignment.get("slices") or ()
    if sum(part["domainCount"] for part in slices) > MOST:
        raise ValueError(f"more than {MOST} domains")
    domains = [_domain(part, i) for part in slices for i in range(part["domainCount"])]
    return {"levels": list(assignment.get("levels") or ()), "domains": domains}


def _domain(part: Mapping[str, Any], i: int) -> dict[str, Any]:
    counts = part["podCounts"]
    count = counts["individual"][i] if counts.get("individual") else counts.get("universal", 0)
    return {"values": [_value(level, i) for level in part["valuesPerLevel"]], "count": count}


def _level(values: Sequence[str]) -> dict[str, Any]:
    return {"universal": values[0]} if len(set(values)) == 1 else {"individual": {"roots": list(values)}}


def _value(level: Mapping[str, Any], i: int) -> str:
    individual = level.get("individual")
    if individual is None:
        return str(level.get("universal", ""))
    return f"{individual.get('prefix', '')}{individual['roots'][i]}{individual.get('suffix', '')}"
