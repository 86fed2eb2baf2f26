"""The result of a request. A denial is a value here, never an exception."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from webhook.kube.json_patch import Operation
from webhook.policy.facts import Question


@dataclass(slots=True)
class Verdict:
    """The answer to one request. Do not modify it; it is not frozen, as creating it would take three times as long.

    `code` and `reason` are those of the Status of a denial (meta/v1 StatusReason), `message` says what to change.
    `patch` turns the request's object into `object`; if it is empty, the object is unchanged. `oscillating` are
    policies that undo each other's changes.
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
    """The text of each denial with its policy; `message` joins them."""
    denied_by: tuple[str, ...] = ()
    """The names of these policies."""
    policies: tuple[str, ...] = ()
    """The names of the policies that were evaluated (their rules matched and their conditions held)."""
    changed_by: tuple[str, ...] = ()
    """The names of those that changed the object."""
    oscillating: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NeedsFacts:
    """No verdict yet: memory does not have the answers to these questions. Add them to the facts, and review again."""

    questions: tuple[Question, ...]
