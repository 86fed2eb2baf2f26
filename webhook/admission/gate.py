"""The protocol of the queue gate that admission asks about a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from webhook.jobs.job import Job
from webhook.policy.facts import Check, Decision, Facts, Labels, Question, Selector

__all__ = ["Check", "Decision", "Facts", "Gate", "GateAnswer", "Labels", "Question", "Selector"]


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """The answer of the queue gate about a new job. `warnings` are shown by `kubectl apply`."""

    allowed: bool
    reason: str = ""
    message: str = ""
    warnings: tuple[str, ...] = ()


class Gate(Protocol):
    """The queue core as seen by admission. It never records the request, so a dry run has no side effect."""

    def ask(self, job: Job, obj: dict[str, Any], namespace: str, dry_run: bool) -> GateAnswer:
        """Return whether the job can ever fit its queue, with warnings about its position."""
