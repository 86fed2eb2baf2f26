"""What `authorizer` is in an expression: questions go to the facts; what they cannot answer stops the evaluation."""

from __future__ import annotations

from typing import Any

from webhook.policy.facts import Check, Facts
from webhook.policy.request import Request


class Unanswered(Exception):
    """A check that is not in memory. No operator of CEL absorbs it: the whole review waits for the answer."""

    def __init__(self, check: Check) -> None:
        super().__init__(check)
        self.check = check


def authorizers(request: Request, facts: Facts) -> tuple[Any, Any]:
    """Give the values of `authorizer` and `authorizer.requestResource` for the request's user."""
    return None, None
