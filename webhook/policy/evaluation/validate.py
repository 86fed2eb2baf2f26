"""Evaluating validating policies. Rules: the validator and the dispatcher of the API server's policy plugin."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from webhook.cel.budget import Budget
from webhook.cel.errors import CelError, Interrupted
from webhook.cel.lib.go.strconv import json_text, to_bytes
from webhook.policy.evaluation.activation import Activation, evaluate
from webhook.policy.evaluation.failure_policy import OUT_OF_BUDGET, error_counts, failure_of
from webhook.policy.evaluation.invocation import Invocation, invocations
from webhook.policy.evaluation.match_conditions import conditions_hold
from webhook.policy.evaluation.result import FAILURE_KEY, Denial
from webhook.policy.evaluation.review_context import ReviewContext
from webhook.policy.expression import OutOfBudget
from webhook.policy.facts import Unanswered
from webhook.policy.matching.bound_policies import BoundPolicy
from webhook.policy.model import Validation
from webhook.policy.pod_templates import EvaluationTarget

MESSAGE_BYTES: Final = 5 * 1024
"""A messageExpression that gives more is not used (apis/cel MaxEvaluatedMessageExpressionSizeBytes)."""
ANNOTATION_BYTES: Final = 10 * 1024

Failure = tuple[int, str, str]
"""The index of a validation, what is told of it, and its reason."""


def validate(policies: Sequence[BoundPolicy], context: ReviewContext) -> None:
    """Evaluate the policies on the request, and collect what comes of it in the context's result."""
    targets = context.targets
    for invocation in invocations(policies, context):
        bound = invocation.bound
        for target in (targets.templates or targets.pod_templates()) if bound.expanded else targets.whole:
            if bound.selecting and not bound.selects(target):
                continue
            try:
                _evaluate(invocation, target)
            except Unanswered as unanswered:
                context.result.unknown.append(unanswered.question)
            except (Exception, Interrupted) as error:
                if text := failure_of(invocation.policy, error, context.request):
                    _failed(invocation, target, (0, text, ""))
    context.close()


def _evaluate(invocation: Invocation, target: EvaluationTarget) -> None:
    """Evaluate one policy on one target. Raises ConditionsFailed, and OutOfBudget: then nothing else comes of it."""
    policy = invocation.policy
    if policy.conditions and not conditions_hold(invocation, target):
        return
    invocation.result.evaluated[policy.name] = None
    failures = _failures(invocation, target)
    notes = _annotations(invocation, Activation(invocation, target, target.object)) if policy.audit_annotations else ()
    for failure in failures:
        _failed(invocation, target, failure)
    for note in notes:
        if isinstance(note, Denial):
            invocation.result.denials.append(note)
        else:
            invocation.result.audit(*note)


def _failures(invocation: Invocation, target: EvaluationTarget) -> Sequence[Failure]:
    """Evaluate the validations, and word what comes of those that do not hold. Raises OutOfBudget."""
    policy = invocation.policy
    activation = Activation(invocation, target, target.object)
    results = [_holds(invocation, activation, i, validation) for i, validation in enumerate(policy.validations)]
    if False not in results:
        messages: Sequence[str] = ("",) * len(results)
    else:
        try:
            messages = _messages(invocation, target, results, activation.budget)
        except OutOfBudget:
            # What cannot be worded counts as an error, those rules included that hold.
            results = [f"failed messageExpression: {OUT_OF_BUDGET}" if type(r) is bool else r for r in results]
            messages = ("",) * len(results)
    return [
        (i, message, validation.reason) if result is False else (i, str(result), "")
        for i, (result, message, validation) in enumerate(zip(results, messages, policy.validations, strict=True))
        if result is False or (result is not True and error_counts(policy))
    ]


def _holds(invocation: Invocation, activation: Activation, index: int, validation: Validation) -> bool | str:
    """Return whether a validation holds; a text is its error."""
    try:
        held = activation.evaluate(validation.expression)
    except CelError as error:
        invocation.result.saw(invocation.policy, "validations", index, "error")
        return f"expression '{validation.expression.text}' resulted in error: {error.message}"
    if invocation.result.observer is not None:
        invocation.result.saw(invocation.policy, "validations", index, "true" if held is True else "false")
    return held is True


def _messages(
    invocation: Invocation, target: EvaluationTarget, results: Sequence[bool | str], budget: Budget
) -> list[str]:
    """Word each validation: by messageExpression (no authorizer there), else message, else the expression itself.

    As in the API server the expressions of all validations are evaluated, on variables computed anew, within what the
    validations left of the budget. Only where none fails are they not evaluated here. Raises OutOfBudget.
    """
    policy = invocation.policy
    activation = Activation(invocation, target, target.object)
    activation.budget, activation.values = budget, (*activation.values[:-2], None, None)
    texts = []
    for i, (result, validation) in enumerate(zip(results, policy.validations, strict=True)):
        made = None
        if validation.message_expression is not None:
            with suppress(CelError):
                made = evaluate(validation.message_expression, activation.values[:-2], budget)
            if result is False:
                invocation.result.saw(policy, "messageExpression", i, "error" if made is None else "ran")
        texts.append(_usable(made) or validation.message.strip() or _unworded(validation))
    return texts


def _usable(made: object) -> str:
    """Return the text that a messageExpression made; none where it is no text, too long, or of several lines."""
    text = made.strip() if isinstance(made, str) else ""
    return "" if "\n" in text or len(to_bytes(text)) > MESSAGE_BYTES else text


def _unworded(validation: Validation) -> str:
    return f"failed expression: {validation.expression.text.strip()}"


def _failed(invocation: Invocation, target: EvaluationTarget, failure: Failure) -> None:
    """Do what the binding's actions say with a failed validation."""
    index, message, reason = failure
    policy, binding, result = invocation.policy, invocation.binding, invocation.result
    denial = Denial(policy.name, binding.name, json_text(message), reason or "Invalid", target.path, index)
    if "Deny" in binding.actions:
        result.denials.append(denial)
    if "Warn" in binding.actions:
        where = f"{policy.name}' with binding '{binding.name}"
        result.warnings.append(f"Validation failed for ValidatingAdmissionPolicy '{where}': {_placed(denial)}")
    if "Audit" in binding.actions:
        record: dict[str, Any] = {
            "message": _placed(denial),
            "policy": policy.name,
            "binding": binding.name,
            "expressionIndex": index,
            "validationActions": list(binding.actions),
        }
        result.audit(FAILURE_KEY, json.dumps(record, separators=(",", ":")))


def _placed(denial: Denial) -> str:
    return denial.text().removeprefix(f"{denial.policy}: ")


def _annotations(invocation: Invocation, activation: Activation) -> list[Denial | tuple[str, str]]:
    """Return the keys and values of the audit annotations; a Denial if one cannot be evaluated. Raises OutOfBudget."""
    policy, result = invocation.policy, invocation.result
    notes: list[Denial | tuple[str, str]] = []
    for i, annotation in enumerate(policy.audit_annotations):
        try:
            value = activation.evaluate(annotation.expression)
        except CelError as error:
            result.saw(policy, "auditAnnotations", i, "error")
            if error_counts(policy):
                text = f"expression '{annotation.expression.text}' resulted in error: {error.message}"
                notes.append(Denial(policy.name, invocation.binding.name, text))
            continue
        result.saw(policy, "auditAnnotations", i, "null" if value is None else "ran")
        if isinstance(value, str) and value.strip():
            cut = json_text(value).strip().encode()[:ANNOTATION_BYTES].decode(errors="ignore")
            notes.append((f"{policy.name}/{annotation.key}", cut))
    return notes
