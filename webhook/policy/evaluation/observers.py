"""Who is told what happens in an evaluation."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from webhook.policy.model import Policy


class Observer(Protocol):
    """Told what happened in an evaluation: coverage, explanations and metrics listen."""

    def saw(self, policy: Policy, clause: str, index: int, outcome: str) -> None:
        """Take note that a clause (`validations`, `matchConditions` ...) came to an outcome (`true`, `error` ...)."""


@runtime_checkable
class CostObserver(Observer, Protocol):
    """Told, too, what the expressions of each policy cost: counting that takes ten times what evaluating them takes."""

    def spent(self, policy: Policy, units: int) -> None:
        """Take note that a policy's expressions, its conditions left aside, cost so much on one object."""
