"""Rules for conditions that do not depend on the object: always true, never true, said twice."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from webhook.cel.syntax import nodes
from webhook.diagnostics import Severity
from webhook.jobs.kinds import KINDS as JOB_KINDS
from webhook.kube.schemas import built_in_kinds
from webhook.offline.lint.context import Finding, LintContext, LintRule, rule
from webhook.offline.lint.reading.expressions import Facts, junction, key, names, truth
from webhook.offline.lint.rules.unknown_fields import plural
from webhook.policy.expression import Expression
from webhook.policy.model import Policy

OPERATIONS: Final = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})


def facts_of(policy: Policy) -> Facts:
    """Return the operations, resources and groups of a request that the policy's rules allow."""
    rules = policy.match.rules
    operations = frozenset().union(*(r.operations for r in rules)) if rules else OPERATIONS
    found = {"request.operation": OPERATIONS if "*" in operations else operations}
    if kinds := kinds_of(policy):
        found["object.kind"] = found["request.kind.kind"] = kinds
    if rules and not policy.match.equivalent and not policy.expand:
        groups = frozenset().union(*(r.groups for r in rules))
        if "*" not in groups:
            found["request.resource.group"] = groups
    return found


@cache
def _kinds() -> dict[tuple[str, str], str]:
    """Return (group, resource) -> kind, of the kinds that are built in and of job kinds."""
    found = {(gvk.group, plural(gvk.kind)): gvk.kind for gvk in built_in_kinds()}
    return found | {(row.group, row.resource): row.kind for row in JOB_KINDS}


def kinds_of(policy: Policy) -> frozenset[str]:
    """Name the kinds that a policy's rules choose; nothing where that is not known for each."""
    if policy.expand:
        return frozenset()
    named = {(group, name, part) for r in policy.match.rules for group in r.groups for name, part in r.resources}
    if not named or any(part or (group, name) not in _kinds() for group, name, part in named):
        return frozenset()
    return frozenset(_kinds()[group, name] for group, name, _ in named)


def holding(policy: Policy) -> dict[Any, bool]:
    """Return the conditions that hold whenever a validation runs: the parts of the match conditions."""
    known: dict[Any, bool] = {}
    for condition in policy.conditions:
        for part in junction(nodes.AND, condition.expression.program.checked.root):
            if isinstance(part, nodes.Call) and part.function == nodes.NOT:
                known[key(part.args[0])] = False
            known[key(part)] = True
    return known


def _judged(policy: Policy, expression: Expression, known: dict[Any, bool]) -> bool | None:
    return truth(expression.program.checked.root, facts_of(policy), known)


def _at(policy: Policy, expression: Expression, message: str, hint: str = "") -> Iterator[Finding]:
    if policy.document is not None:
        yield Finding(policy.document, expression.path, message, hint)


@rule("CEL010", Severity.WARNING, "a validation must be able to fail")
def always_true(context: LintContext) -> Iterator[Finding]:
    """The expression is always true: the validation never denies. Common causes are `a || !a`, a test for an operation
    that the rules do not list, and repeating a match condition.
    """
    for policy in context.bundle.policies:
        known = holding(policy)
        for validation in policy.validations:
            if _judged(policy, validation.expression, known) is True:
                yield from _at(policy, validation.expression, "this is always true: it never denies")


@rule("CEL011", Severity.WARNING, "a validation must be able to pass")
def never_true(context: LintContext) -> Iterator[Finding]:
    """The expression is always false: every matched request is denied. If this is intended, write `expression:
    "false"` and select the requests in `matchConditions`.
    """
    for policy in context.bundle.policies:
        known = holding(policy)
        for validation in policy.validations:
            plain = validation.expression.text.strip() == "false"
            if not plain and _judged(policy, validation.expression, known) is False:
                message = "this is never true: it denies every matched request"
                yield from _at(policy, validation.expression, message, 'write expression: "false" if this is intended')


@rule("CEL012", Severity.ERROR, "a match condition must be able to be true")
def unreachable(context: LintContext) -> Iterator[Finding]:
    """A match condition that is never true disables the policy. Operations are upper case (`CREATE`), and an operation
    that `resourceRules` does not list never occurs.
    """
    for policy in context.bundle.policies:
        for i, condition in enumerate(policy.conditions):
            before = {key(c.expression.program.checked.root): True for c in policy.conditions[:i]}
            if _judged(policy, condition.expression, before) is False:
                operations = ", ".join(sorted(facts_of(policy)["request.operation"]))
                kinds = ", ".join(sorted(kinds_of(policy)))
                message = "this is never true: the policy is never evaluated"
                hint = f"its rules name the operations {operations}" + (f" and the kinds {kinds}" if kinds else "")
                yield from _at(policy, condition.expression, message, hint)


@rule("CEL013", Severity.NOTE, "a match condition should be able to be false")
def idle_condition(context: LintContext) -> Iterator[Finding]:
    """A match condition that is always true has no effect. Remove it, or correct it."""
    for policy in context.bundle.policies:
        for condition in policy.conditions:
            if _judged(policy, condition.expression, {}) is True:
                yield from _at(policy, condition.expression, "this is always true: it has no effect", "remove it")


@rule("CEL014", Severity.WARNING, "a condition must read the request")
def constant(context: LintContext) -> Iterator[Finding]:
    """The expression reads neither the object nor the request, so its value never changes. Often a name is in quotes
    by mistake: `"object.spec"` is a string.
    """
    for policy in context.bundle.policies:
        known = holding(policy)
        for expression in (*(c.expression for c in policy.conditions), *(v.expression for v in policy.validations)):
            root = expression.program.checked.root
            literal = isinstance(root, nodes.Literal)
            if not literal and not names(root) and _judged(policy, expression, known) is None:
                yield from _at(policy, expression, "this does not read the request: its value never changes")


@rule("CEL015", Severity.WARNING, "an expression must not be repeated")
def said_twice(context: LintContext) -> Iterator[Finding]:
    """Two validations of a policy have the same expression: the user sees the same message twice, or one was copied
    and not changed.
    """
    for policy in context.bundle.policies:
        seen: set[Any] = set()
        for validation in policy.validations:
            this = key(validation.expression.program.checked.root)
            if this in seen:
                yield from _at(policy, validation.expression, "this repeats an expression above", "remove or change it")
            seen.add(this)


RULES: Final[tuple[LintRule, ...]] = (always_true, never_true, unreachable, idle_condition, constant, said_twice)
