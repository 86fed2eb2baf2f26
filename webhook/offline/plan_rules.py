"""Rule sets by name or file: the shipped ones of `policies/queue/`, and a user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from webhook.queue.defaults import KueueRules
from webhook.queue.rules import Rules


def rules_of(
    names: Sequence[str],
    heads: int | None = None,
    gates: Mapping[str, bool] | None = None,
    strategies: Sequence[str] | None = None,
) -> Rules:
    """Give the rules of a set; `heads`, `gates` (of Kueue) and `strategies` go before what the set says."""
    gates = gates or {}
    return KueueRules(
        fair="kueue-fair" in names,
        heads=heads or 0,
        partial=gates.get("PartialAdmission", True),
        recompute=gates.get("RecomputeAssignmentUponPreemptionTargetsOverlap", True),
        **({"strategies": tuple(strategies)} if strategies else {}),
    )


def title(names: Sequence[str]) -> str:
    """Name a rule set for people: the names of shipped sets, the file names of others."""
    return " + ".join(names)
