"""What gives the verdicts: the policies in force, the facts of the cluster, and the gate to the queues.

`Engine` is what the routes ask for; `LiveEngine` is the one that serves. Its parts come from the daemon.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Protocol

from webhook.admission import pipeline
from webhook.admission.gate import Gate, Question
from webhook.admission.verdict import NeedsFacts, Verdict
from webhook.admission.wire import Request
from webhook.policy.bundle import Bundle
from webhook.policy.evaluation.observers import Observer
from webhook.policy.facts import Facts


class Engine(Protocol):
    """Decides with the policies that are in force at the time of the call."""

    warm: asyncio.Event
    """Set once the facts that verdicts need are known; requests wait for it."""

    def mutate(self, request: Request, only: str = "") -> Verdict | NeedsFacts:
        """Shape the object; `only` by the policies of one failurePolicy: `fail` or `ignore`."""

    def validate(self, request: Request, only: str = "") -> Verdict | NeedsFacts:
        """Judge the object, and ask the gate; `only` as above."""

    async def ask(self, questions: Sequence[Question]) -> None:
        """Fetch the answers to `questions`, so that the next call knows them."""


class PoliciesInForce(Protocol):
    """One set of policies."""

    @property
    def gate_part(self) -> str:
        """The failurePolicy whose requests go on to the gate."""

    @property
    def parts(self) -> Mapping[str, Bundle]:
        """The policies of each failurePolicy, and those of both by the empty name."""


class PolicySource(Protocol):
    """Where the policies in force are found."""

    @property
    def current(self) -> PoliciesInForce:
        """Those in force now."""


class LiveFacts(Facts, Protocol):
    """Facts that can learn the answers to questions."""

    async def ask(self, questions: Sequence[Question]) -> None:
        """Ask the API server, and keep the answers."""


Record = Callable[[Request, Verdict, float, str], None]
"""Keeps a verdict, with the seconds that it took and its phase: `mutate`, `validate/fail` and so on. Never waits."""


def _nobody() -> None:
    return None


class LiveEngine:
    """Verdicts by the policies that are current.

    `records` are told of each; `watch` gives who observes the next review, or nobody.
    """

    def __init__(
        self,
        policies: PolicySource,
        facts: LiveFacts,
        gate: Gate | None,
        watch: Callable[[], Observer | None] = _nobody,
    ) -> None:
        self._policies, self._facts, self._gate, self._watch = policies, facts, gate, watch
        self.warm = asyncio.Event()
        self.records: list[Record] = []

    def mutate(self, request: Request, only: str = "") -> Verdict | NeedsFacts:
        """Shape the object."""
        start, bundle = perf_counter(), self._policies.current.parts[only]
        verdict = pipeline.mutate(request, bundle, self._facts, observer=self._watch())
        return self._recorded(request, verdict, start, "mutate", only)

    def validate(self, request: Request, only: str = "") -> Verdict | NeedsFacts:
        """Judge the object; the gate is asked once, whatever the failure policies."""
        start, policies = perf_counter(), self._policies.current
        gate = self._gate if only in ("", policies.gate_part) else None
        verdict = pipeline.validate(request, policies.parts[only], self._facts, gate, observer=self._watch())
        return self._recorded(request, verdict, start, "validate", only)

    async def ask(self, questions: Sequence[Question]) -> None:
        """Ask the API server."""
        await self._facts.ask(questions)

    def _recorded(
        self, request: Request, verdict: Verdict | NeedsFacts, start: float, phase: str, only: str
    ) -> Verdict | NeedsFacts:
        if self.records and isinstance(verdict, Verdict):
            seconds, part = perf_counter() - start, f"{phase}/{only}" if only else phase
            for record in self.records:
                record(request, verdict, seconds, part)
        return verdict
