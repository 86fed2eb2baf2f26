"""What evaluating policies gives: denials, warnings, annotations. Turning it into a verdict is admission's part."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.documents import Path
from webhook.policy.evaluation.observers import Observer
from webhook.policy.facts import Question
from webhook.policy.loading.shapes import dotted
from webhook.policy.model import Policy

FAILURE_KEY = "validation.policy.admission.k8s.io/validation_failure"


@dataclass(frozen=True, slots=True)
class Denial:
    """One reason to refuse. `place` is the template it is about, for a policy that is expanded into job kinds."""

    policy: str
    binding: str
    message: str
    reason: str = "Invalid"
    place: Path | None = None
    index: int = -1

    def text(self) -> str:
        """The denial as the user reads it: policy, template, what to change."""
        where = f"{dotted(self.place)}: " if self.place else ""
        return f"{self.policy}: {where}{self.message}"


class EvaluationResult:
    """Collects while a request is evaluated."""

    __slots__ = ("audits", "changing", "denials", "evaluated", "observer", "oscillating", "unknown", "warnings")

    # No data class, as in `EvaluationTarget`.
    def __init__(self, observer: Observer | None = None) -> None:
        self.observer = observer
        self.denials: list[Denial] = []
        self.warnings: list[str] = []
        self.audits: dict[str, list[str]] = {}
        self.evaluated: dict[str, None] = {}
        """The names of the policies whose conditions held, in their order."""
        self.unknown: list[Question] = []
        self.changing: dict[str, None] = {}
        """The names of those that changed the object."""
        self.oscillating: list[str] = []

    def saw(self, policy: Policy, clause: str, index: int, outcome: str) -> None:
        """Inform the observer, if there is one."""
        if self.observer is not None:
            self.observer.saw(policy, clause, index, outcome)

    def warn(self, text: str) -> None:
        """Add a warning, once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def audit(self, key: str, value: str) -> None:
        """Add an audit annotation; a key that comes again gets each distinct value."""
        values = self.audits.setdefault(key, [])
        if value not in values:
            values.append(value)
