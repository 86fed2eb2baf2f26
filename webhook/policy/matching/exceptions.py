"""PolicyException (sluice.dev/v1alpha1): until a date and for a reason, a policy does not apply to some objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

from webhook.documents import Document
from webhook.policy.match_resources import MatchResources, ResourceOperation
from webhook.policy.request import Request


@dataclass(frozen=True, slots=True)
class PolicyException:
    """An exception. `expires` counts seconds since 1970; `namespaces` are shell patterns, none means all."""

    name: str
    policies: frozenset[str]
    reason: str
    expires: float
    namespaces: tuple[str, ...]
    match: MatchResources
    document: Document
    enabled: bool = True

    def covers(self, request: Request, obj: dict[str, Any] | None, old: dict[str, Any] | None, now: float) -> bool:
        """Return whether the exception is in force, for this request, and has not expired."""
        if not self.enabled or now >= self.expires:
            return False
        if self.namespaces and not any(fnmatchcase(request.namespace, p) for p in self.namespaces):
            return False
        matcher = self.match.narrow((ResourceOperation.of(request),))
        return matcher is not None and matcher.named(request) and matcher.selects(obj, old)


def excused(
    exceptions: Iterable[PolicyException],
    request: Request,
    obj: dict[str, Any] | None,
    old: dict[str, Any] | None,
    now: float,
) -> frozenset[str]:
    """Return the names of the policies that do not apply to the request at this time."""
    found = [e.policies for e in exceptions if e.covers(request, obj, old, now)]
    return frozenset().union(*found)


def read_date(text: str) -> float | None:
    """Read `2026-12-31` (the end of that day, UTC) or an RFC 3339 time; None where it is neither."""
    try:
        if len(text) == len("2026-12-31"):
            return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp() + 86_400
        moment = datetime.fromisoformat(text)
        return moment.timestamp() if moment.tzinfo else None
    except ValueError:
        return None
