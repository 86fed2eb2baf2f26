"""The result for one object, as a value. Made by `evaluate.py`, shown by `show.py`."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff
from enum import StrEnum
from typing import Any, Final

from webhook import documents
from webhook.diagnostics import Place
from webhook.queue.decisions import Reason

NOWHERE: Final = Place("")
CONTEXT: Final = 2
"""Lines of a diff around each change."""


class OutcomeState(StrEnum):
    """The short word for what would happen."""

    DENIED = "denied"
    PATCHED = "patched"
    WARNED = "warned"
    ALLOWED = "allowed"
    UNMATCHED = "no policy"


@dataclass(frozen=True, slots=True, order=True)
class ObjectRef:
    """Which object: its kind, namespace, name, and where it stands."""

    kind: str
    namespace: str
    name: str
    place: Place = NOWHERE

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class QueueOutcome:
    """What the queue would do with a job: it starts, it waits (where, and why), or it can never be admitted."""

    state: str
    cluster_queue: str = ""
    position: int = 0
    reason: Reason | None = None
    message: str = ""
    preempts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectOutcome:
    """What would happen to one object. `before` is as admission sees it, `after` as it would be stored."""

    ref: ObjectRef
    allowed: bool
    policies: tuple[str, ...] = ()
    denials: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    queue: QueueOutcome | None = None
    code: int = 200
    reason: str = ""
    changed_by: tuple[str, ...] = ()

    @property
    def by(self) -> tuple[str, ...]:
        """The policies to name beside the state: those that changed it, or that looked; denials name their own."""
        if self.changed:
            return self.changed_by
        return self.policies if self.allowed else ()

    @property
    def changed(self) -> bool:
        """Whether the object would be stored differently."""
        return self.allowed and self.after is not None and self.after != self.before

    @property
    def state(self) -> OutcomeState:
        """The worst that would happen."""
        if not self.allowed:
            return OutcomeState.DENIED
        if self.changed:
            return OutcomeState.PATCHED
        if self.warnings:
            return OutcomeState.WARNED
        return OutcomeState.ALLOWED if self.policies else OutcomeState.UNMATCHED

    def diff(self) -> list[str]:
        """Return the change as lines of a unified diff of YAML, without file names; empty where nothing changes."""
        if not self.changed:
            return []
        return diff_of(self.before, self.after)


def diff_of(before: Any, after: Any) -> list[str]:
    """Return the lines of a unified diff between two values as YAML."""
    old, new = (documents.dump(value).splitlines() for value in (before, after))
    return list(unified_diff(old, new, n=CONTEXT, lineterm=""))[2:]
