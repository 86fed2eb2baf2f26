"""What admission asks of its surroundings: the facts of the cluster, and the gate to the queue core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from webhook.jobs.job import Job
from webhook.policy.facts import Check, Decision, Facts, Labels, Question, Selector

__all__ = ["Check", "Decision", "Facts", "Gate", "GateAnswer", "Labels", "Question", "Selector"]


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """What the queue core says to a job that asks to come in. `warnings` are shown at `kubectl apply`."""

    allowed: bool
    reason: str = ""
    message: str = ""
    warnings: tuple[str, ...] = ()


class Gate(Protocol):
    """The local view of the queue core. Never records the request, so a dry run leaves no trace."""

    def ask(self, job: Job, obj: dict[str, Any], namespace: str, dry_run: bool) -> GateAnswer:
        """Say whether the job can ever fit its queue, and where it would stand."""
