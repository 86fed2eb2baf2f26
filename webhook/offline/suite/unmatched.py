"""Explains why no policy matches the object of a case: the first reason for each policy, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.diagnostics import did_you_mean
from webhook.kube.well_known import SLUICE
from webhook.offline.explain.no_match import no_match
from webhook.policy.bundle import Bundle
from webhook.policy.facts import Facts
from webhook.policy.loading.policy_kinds import EXCEPTION, GROUP, SHAPES
from webhook.policy.request import Request

_MOST: Final = 3
"""Policies whose reason is told; more would hide the one that was meant."""
_KINDS: Final = {GROUP: tuple(SHAPES), SLUICE: (EXCEPTION, "QueuePolicy")}


def unmatched(request: Request, facts: Facts, bundle: Bundle, now: float) -> str:
    """Return why no policy of a bundle is for a request, policy by policy; `now` is in seconds."""
    strange = list(_strange(bundle.objects))
    policies = [p for p in bundle.policies if p.bindings] or list(bundle.policies)
    if not policies:
        return "; ".join(strange) or "no policies in the files that the suite lists under policies"
    reasons = [f"{p.name}: {no_match(p, request, facts, bundle, now)}" for p in policies[:_MOST]]
    more = [f"and {len(policies) - _MOST} more"] if len(policies) > _MOST else []
    return "\n    = ".join((*strange, *reasons, *more))


def _strange(objects: Iterable[dict[str, object]]) -> Iterator[str]:
    """Name the objects that would be policies if their kind were spelt so."""
    for obj in objects:
        group, _, _ = str(obj.get("apiVersion")).partition("/")
        kinds = _KINDS.get(group)
        if kinds and obj.get("kind") not in kinds:
            kind = str(obj.get("kind"))
            hint = did_you_mean(kind, kinds) or f"known kinds: {', '.join(kinds)}"
            yield f'unknown kind "{kind}" in {group}; {hint}'
