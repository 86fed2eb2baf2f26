"""What comes of a request. A denial is a value here, never an exception."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from webhook.kube.patch import Operation
from webhook.policy.facts import Question


@dataclass(slots=True)
class Verdict:
    """The answer to one request. Never changed; frozen, it would take thrice as long to make.

    `code` and `reason` are those of the Status a denial becomes (meta/v1 StatusReason), `message` says what to
    change. `patch` turns the object as it came into `object`; both are those of a request that was not mutated where
    `patch` is empty. `oscillating` names policies that undo each other.
    """

    allowed: bool
    code: int = 200
    reason: str = ""
    message: str = ""
    patch: tuple[Operation, ...] = ()
    warnings: tuple[str, ...] = ()
    audit_annotations: dict[str, str] = field(default_factory=dict)
    object: dict[str, Any] | None = None
    denials: tuple[str, ...] = ()
    """Every denial's text, each with the policy that made it; `message` has the first."""
    denied_by: tuple[str, ...] = ()
    """The names of those policies."""
    policies: tuple[str, ...] = ()
    """The names of the policies that were evaluated (their rules matched and their conditions held)."""
    changed_by: tuple[str, ...] = ()
    """Those of them that changed the object."""
    oscillating: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NeedsFacts:
    """No verdict yet: these questions are not answered in memory. Put the answers in the facts, and review again."""

    questions: tuple[Question, ...]
