"""What the server asks of the rest of Sluice. The daemon puts the parts together behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from webhook.admission.gate import Check
from webhook.admission.verdict import NeedsAuthorization, Verdict
from webhook.admission.wire import Request


class Engine(Protocol):
    """Gives verdicts with the bundle that is in force at the time of the call."""

    warm: asyncio.Event
    """Set once the facts that verdicts need are known; requests wait for it."""

    def mutate(self, request: Request, only: str = "") -> Verdict | NeedsAuthorization:
        """Shape the object; `only` by the policies of one failurePolicy: `fail` or `ignore`."""

    def validate(self, request: Request, only: str = "") -> Verdict | NeedsAuthorization:
        """Judge the object, and ask the gate; `only` as above."""

    async def authorize(self, checks: Sequence[Check]) -> None:
        """Fetch the answers to `checks`, so that the next call knows them."""
