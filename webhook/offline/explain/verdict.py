"""Explains a verdict: for each policy, whether it matches the request, and the result of each clause.

The verdict is the server's own; expressions are evaluated a second time to see the value of each part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from webhook.admission.gate import Gate
from webhook.cel.budget import Budget
from webhook.cel.program import Program
from webhook.cel.trace import TracedPart, trace
from webhook.diagnostics import Place
from webhook.jobs.read_job import read_job
from webhook.offline.dryrun.evaluate import DryRunContext, Input, outcome
from webhook.offline.dryrun.file_facts import FileFacts
from webhook.offline.dryrun.outcome import ObjectOutcome
from webhook.offline.dryrun.requests import Sender
from webhook.offline.explain.no_match import no_match
from webhook.policy.bundle import Bundle
from webhook.policy.expression import Expression
from webhook.policy.loading.shapes import dotted
from webhook.policy.matching.index import Index
from webhook.policy.model import Policy


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of a policy on one object (or template, `where`): its outcome, and its parts with their values.

    `said` is what the policy says about a failure; `text` the expression, which the steps' offsets count in.
    """

    name: str
    text: str
    outcome: str
    where: str
    place: Place
    step: TracedPart | None
    said: str = ""


@dataclass(frozen=True, slots=True)
class PolicyTrace:
    """One policy: why it is not for the request (empty where it is), and its clauses in the order they ran."""

    name: str
    mutating: bool
    place: Place
    why_not: str = ""
    clauses: tuple[Clause, ...] = ()


@dataclass(slots=True)
class _Listener:
    """Collects clauses; the traced programs leave their last step here."""

    policies: dict[tuple[str, bool], list[Clause]] = field(default_factory=dict)
    last: tuple[TracedPart, tuple[object, ...]] | None = None
    request_object: dict[str, Any] | None = None

    def saw(self, policy: Policy, clause: str, index: int, outcome: str) -> None:
        """Take note of a clause's outcome, with the trace of its expression."""
        expression, title = _clause(policy, clause, index)
        if expression is None or policy.document is None:
            return
        step, values = self.last or (None, ())
        said = policy.validations[index].message if clause == "validations" and outcome == "false" else ""
        where = _where(self.request_object, values[0] if values else None)
        place = policy.document.place(expression.path)
        made = Clause(title, expression.text, outcome, where, place, step, said)
        self.policies.setdefault((policy.name, policy.mutating), []).append(made)


class _Traced:
    """A program that leaves a trace of each evaluation with the listener, and then gives what it always gives."""

    def __init__(self, program: Program, listener: _Listener) -> None:
        self.program, self._listener = program, listener
        self.type, self.checked = program.type, program.checked

    def call(self, *values: object) -> object:
        """Evaluate, and leave a trace."""
        return self.metered(values, None)

    def metered(self, values: tuple[object, ...], budget: Budget | None) -> object:
        """Evaluate within a budget, and leave a trace."""
        step = trace(self.program, values)
        self._listener.last = (step, values)
        return self.program.metered(values, budget)


def explain(
    item: Input,
    bundle: Bundle,
    facts: FileFacts,
    sender: Sender,
    clock: Callable[[], float],
    gate: Gate | None = None,
) -> tuple[ObjectOutcome, tuple[PolicyTrace, ...]]:
    """Return what would happen to an object and why, by policy in the order they run. Raises BadReview."""
    context = DryRunContext.of([item.obj], bundle, facts, sender, gate, clock)
    request = context.request_for(item, context.received(item))
    listener = _Listener(request_object=request.object)
    found = outcome(item, replace(context, bundle=_listening(bundle, listener)), listener)
    traces = []
    for policy in sorted(bundle.policies, key=lambda p: (not p.mutating, p.name)):
        clauses = tuple(listener.policies.get((policy.name, policy.mutating), ()))
        why = "" if clauses else no_match(policy, request, facts, bundle, clock())
        traces.append(PolicyTrace(policy.name, policy.mutating, _place(policy), why, clauses))
    return found, tuple(traces)


def _place(policy: Policy) -> Place:
    return policy.document.place(("metadata", "name")) if policy.document else Place("")


def _listening(bundle: Bundle, listener: _Listener) -> Bundle:
    """Return the bundle with traced clauses; its verdicts are the same."""

    def traced(expression: Expression) -> Expression:
        program: Any = _Traced(expression.program, listener)
        return replace(expression, program=program)

    policies = tuple(
        replace(
            policy,
            conditions=tuple(replace(c, expression=traced(c.expression)) for c in policy.conditions),
            validations=tuple(replace(v, expression=traced(v.expression)) for v in policy.validations),
            mutations=tuple(replace(m, expression=traced(m.expression)) for m in policy.mutations),
            audit_annotations=tuple(replace(a, expression=traced(a.expression)) for a in policy.audit_annotations),
        )
        for policy in bundle.policies
    )
    validating, mutating = (Index([p for p in policies if p.mutating is m]) for m in (False, True))
    return replace(bundle, policies=policies, validating=validating, mutating=mutating)


def _clause(policy: Policy, clause: str, index: int) -> tuple[Expression | None, str]:
    """Return a clause's expression and what it is called."""
    title = f"{clause}[{index}]"
    if clause == "matchConditions":
        return policy.conditions[index].expression, f"{title} {policy.conditions[index].name}"
    if clause == "validations":
        return policy.validations[index].expression, title
    if clause == "mutations":
        return policy.mutations[index].expression, title
    if clause == "auditAnnotations":
        return policy.audit_annotations[index].expression, f"{title} {policy.audit_annotations[index].key}"
    return None, title


def _where(obj: dict[str, Any] | None, seen: object) -> str:
    """Name the template that stood in as the object; empty where it was the object itself."""
    if obj is None or not isinstance(seen, dict) or seen.get("kind") == obj.get("kind"):
        return ""
    paths = list(_templates(obj))
    for path, spec in paths:
        if spec == seen.get("spec"):
            return path
    return paths[0][0] if len(paths) == 1 else ""


def _templates(obj: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    job = read_job(obj)
    for pod_set in job.pod_sets if job else ():
        yield dotted(pod_set.path), pod_set.template.get("spec")
