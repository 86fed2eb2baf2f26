"""The rule on the CEL cost of policies: evaluated on a large object, and estimated for usual sizes of values.

The limits of validation rules of custom kinds are in `custom_kinds.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from webhook.cel import CALL_LIMIT, POLICY_LIMIT
from webhook.cel.cost.estimate import estimate
from webhook.cel.ranges import NOTHING, Estimate
from webhook.diagnostics import Severity
from webhook.documents import Document
from webhook.offline.lint.context import Finding, LintContext, LintRule, rule
from webhook.offline.lint.rules.custom_kinds import versions
from webhook.offline.lint.trial.run_policies import SAMPLE_LIMIT, Heard, PolicyTrial, large_request, trial_of
from webhook.offline.lint.trial.samples import SampleObject
from webhook.offline.lint.trial.time_limit import POLICY_SECONDS
from webhook.policy.expression import Expression
from webhook.policy.model import Policy
from webhook.policy.request import Request

OUTER: Final = 100
"""Elements, entries or characters of what does not stand in a list or map."""
INNER: Final = 10
"""Elements, entries or characters of what stands in one, and of what an expression computes."""
_INSIDE: Final = frozenset({"@items", "@keys", "@values"})


def usual(path: Sequence[str]) -> Estimate:
    """Return the size a value has at most in a large object of practice, whatever it is."""
    return Estimate(0, OUTER if path and not _INSIDE & set(path) else INNER)


def usual_cost(expression: Expression) -> Estimate:
    """Estimate an expression for values of usual sizes."""
    program = expression.program
    return estimate(program.checked, program.env, usual)


def _trial_expressions(policy: Policy) -> dict[tuple[str, int], Expression]:
    """The expressions that a trial hears of, by clause and index."""
    rows = {
        "matchConditions": [c.expression for c in policy.conditions],
        "validations": [v.expression for v in policy.validations],
        "mutations": [m.expression for m in policy.mutations],
    }
    return {(clause, i): expression for clause, found in rows.items() for i, expression in enumerate(found)}


@rule("CEL017", Severity.WARNING, "an expression must stay within its cost budget on a large object")
def too_dear(context: LintContext) -> Iterator[Finding]:
    """The API server stops an expression after 1,000,000 units of cost, and a policy after 10,000,000. That is an
    error, and `failurePolicy` applies. The cost of nested loops over containers, variables or labels is the product of
    their sizes: store lookups in a variable, and use `in` instead of `exists`. The policy is run on a large object of a
    job kind that it matches. If it matches none, its cost is estimated as the API server does, for values of 100
    elements (or characters), and 10 for values inside lists and maps and for computed values. `sluice eval` shows the
    actual and the estimated cost of an expression.
    """
    trial = trial_of(context)
    for policy in context.bundle.policies:
        if policy.document is None:
            continue
        found = large_request(policy)
        yield from _estimated(policy, policy.document) if found is None else _tried(trial, policy, *found)


def _estimated(policy: Policy, document: Document) -> Iterator[Finding]:
    """Find expressions, or else the whole policy, that may cost more than they may."""
    total, hint = NOTHING, "nested loops multiply their costs"
    dear = False
    for expression in policy.expressions():
        cost = usual_cost(expression)
        total += cost
        if cost.max > CALL_LIMIT:
            dear = True
            message = f"this may cost {cost.most} units on long lists; the limit is {CALL_LIMIT:,}"
            yield Finding(document, expression.path, message, hint)
    if not dear and total.max > POLICY_LIMIT:
        message = f"the expressions may cost {total.most} units in total; the limit for a policy is {POLICY_LIMIT:,}"
        yield Finding(document, (*policy.path, "spec"), message, hint, key=True)


def _tried(trial: PolicyTrial, policy: Policy, sample: SampleObject, request: Request) -> Iterator[Finding]:
    """Find what fails on a large object, and not on ordinary ones."""
    assert policy.document is not None
    ordinary = trial.ordinary(policy)
    if any(outcome.heard.stopped for outcome in ordinary):
        return
    usual_failures = {failed for outcome in ordinary for failed in outcome.heard.failed}
    expressions = _trial_expressions(policy)
    heard = trial.heard(policy, trial.alone(policy, CALL_LIMIT), request)
    if heard.late:
        yield replace(_not_further(policy, policy.document, sample, heard, 2 * CALL_LIMIT), severity=Severity.NOTE)
        return
    for clause in heard.failed:
        expression = expressions.get(clause)
        if clause not in usual_failures and expression is not None:
            message = (
                f"this exceeds the cost limit on {sample.title}, or fails; estimated {usual_cost(expression)} units"
            )
            hint = "nested loops multiply their costs"
            yield Finding(policy.document, expression.path, message, hint)
    if heard.stopped and not heard.failed:
        yield replace(_not_further(policy, policy.document, sample, heard, 2 * CALL_LIMIT), severity=Severity.NOTE)


@rule("CEL022", Severity.NOTE, "a policy should be cheap enough to be tested")
def too_dear_to_try(context: LintContext) -> Iterator[Finding]:
    """Lint runs each policy on ordinary objects, to find expressions that fail and mutations that are not idempotent
    (CEL016, CEL017, MUT002 to MUT005). If a policy needs more than 20,000 cost units for one expression on a small
    object, or twice as many in total, lint stops testing it, and those rules do not check it. The limit is in cost
    units, so it is the same on every machine. Lint also stops after five seconds of processor time: comparing
    lists that contain the same list many times costs few units, but may take hours.
    """
    trial = trial_of(context)
    for policy in context.bundle.policies:
        if policy.document is None:
            continue
        for outcome in trial.ordinary(policy):
            if outcome.heard.stopped:
                yield _not_further(policy, policy.document, outcome.sample, outcome.heard, SAMPLE_LIMIT)


def _not_further(policy: Policy, document: Document, sample: SampleObject, heard: Heard, units: int) -> Finding:
    limit = f"{POLICY_SECONDS:g} s of processor time" if heard.late else f"{units:,} cost units"
    message = f"{policy.name} was not tested further: {sample.title} needs more than {limit}"
    hint = "values made from themselves double in size" if heard.late else "nested loops multiply their costs"
    return Finding(document, (*policy.path, "metadata", "name"), message, hint)


@rule("CEL021", Severity.NOTE, "estimated cost of an expression")
def each_cost(context: LintContext) -> Iterator[Finding]:
    """Reported by `sluice lint --costs` only: the minimum and maximum cost of an expression, estimated from its text
    and types as the API server does, then the maximum for values of usual sizes (see CEL017). For a rule of a custom
    kind, the bounds of its schema apply, multiplied by the number of such values in an object (see CEL020).
    """
    for policy in context.bundle.policies:
        for expression in policy.expressions() if policy.document is not None else ():
            assert policy.document is not None
            cost = f"this costs {expression.program.estimate} units; for usual sizes {usual_cost(expression)}"
            yield Finding(policy.document, expression.path, cost)
    for version in versions(context):
        for path, most in version.costs.items():
            message = f"this costs {Estimate(0, most)} units for all values together"
            yield version.crd.finding(path, message)


RULES: Final[tuple[LintRule, ...]] = (too_dear, too_dear_to_try)
ON_REQUEST: Final[tuple[LintRule, ...]] = (each_cost,)
