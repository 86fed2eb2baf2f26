"""Evaluating validating policies. Rules: the validator and the dispatcher of the API server's policy plugin."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from webhook.cel.errors import CelError, Interrupted
from webhook.cel.lib.go.strconv import json_text, to_bytes
from webhook.cel.program import Budget
from webhook.policy.evaluation.activation import OUT_OF_BUDGET, Activation, Invocation, conditions_hold
from webhook.policy.evaluation.authorizer import Unanswered
from webhook.policy.evaluation.invocation import runs, stands_for, unexpected
from webhook.policy.evaluation.result import FAILURE_KEY, Denial, EvaluationResult
from webhook.policy.evaluation.review_context import ReviewContext
from webhook.policy.expression import OutOfBudget
from webhook.policy.matching.bound_policies import BoundPolicy
from webhook.policy.model import Policy, Validation
from webhook.policy.pod_templates import EvaluationTarget

MESSAGE_BYTES: Final = 5 * 1024
"""A messageExpression that gives more is not used (apis/cel MaxEvaluatedMessageExpressionSizeBytes)."""
ANNOTATION_BYTES: Final = 10 * 1024

Failure = tuple[int, str, str]
"""The index of a validation, what is told of it, and its reason."""


def validate(steps: Sequence[BoundPolicy], world: ReviewContext, findings: EvaluationResult) -> None:
    """Evaluate the policies on the request and collect what comes of it."""
    for one in runs(steps, world, findings):
        for at in stands_for(one.step, world):
            try:
                _evaluate(one, world, at, findings)
            except Unanswered as unanswered:
                findings.unknown.append(unanswered.check)
            except (Exception, Interrupted) as error:
                text = unexpected(one.step.policy, error)
                if not one.step.policy.ignore_failure:
                    _denied(one, at, 0, text, "", findings)
    world.close()


def _evaluate(one: Invocation, world: ReviewContext, at: EvaluationTarget, findings: EvaluationResult) -> None:
    """Evaluate one policy at one place. Where a stage runs out of its budget, nothing else comes of the policy."""
    policy = one.step.policy
    held = conditions_hold(one, world, at, findings) if policy.conditions else True
    if held is not True:
        if held:
            _denied(one, at, 0, held, "", findings)
        return
    if policy.name not in findings.evaluated:
        findings.evaluated.append(policy.name)
    try:
        failures = _failures(one, world, at, findings)
        notes = _annotations(one, Activation(one, world, at), findings) if policy.audit_annotations else ()
    except OutOfBudget:
        if not policy.ignore_failure:
            _denied(one, at, 0, OUT_OF_BUDGET, "", findings)
        return
    for index, message, reason in failures:
        _denied(one, at, index, message, reason, findings)
    for note in notes:
        if isinstance(note, Denial):
            findings.denials.append(note)
        else:
            findings.audit(*note)


def _failures(
    one: Invocation, world: ReviewContext, at: EvaluationTarget, findings: EvaluationResult
) -> Sequence[Failure]:
    """Evaluate the validations, and word what comes of those that do not hold. Raises OutOfBudget."""
    policy = one.step.policy
    seen = Activation(one, world, at)
    results = [_holds(policy, i, validation, seen, findings) for i, validation in enumerate(policy.validations)]
    if False not in results:
        messages: Sequence[str] = ("",) * len(results)
    else:
        try:
            messages = _messages(one, world, at, results, seen.budget, findings)
        except OutOfBudget:
            # What cannot be worded counts as an error, those rules included that hold.
            results = [f"failed messageExpression: {OUT_OF_BUDGET}" if type(r) is bool else r for r in results]
            messages = ("",) * len(results)
    return [
        (i, message, validation.reason) if result is False else (i, str(result), "")
        for i, (result, message, validation) in enumerate(zip(results, messages, policy.validations, strict=True))
        if result is False or (result is not True and not policy.ignore_failure)
    ]


def _holds(
    policy: Policy, index: int, validation: Validation, seen: Activation, findings: EvaluationResult
) -> bool | str:
    """Say whether a validation holds; a text is its error."""
    try:
        result = seen.call(validation.expression)
    except CelError as error:
        findings.saw(policy, "validations", index, "error")
        return f"expression '{validation.expression.text}' resulted in error: {error.message}"
    findings.saw(policy, "validations", index, "true" if result is True else "false")
    return result is True


def _messages(
    one: Invocation,
    world: ReviewContext,
    at: EvaluationTarget,
    results: Sequence[bool | str],
    budget: Budget,
    findings: EvaluationResult,
) -> list[str]:
    """Word each validation: by messageExpression (no authorizer there), else message, else the expression itself.

    As in the API server the expressions of all validations are evaluated, on variables computed anew, within what the
    validations left of the budget. Only where none fails are they not evaluated here. Raises OutOfBudget.
    """
    policy = one.step.policy
    scene = Activation(one, world, at)
    scene.budget, scene.values = budget, (*scene.values[:-2], None, None)
    texts = []
    for i, (result, validation) in enumerate(zip(results, policy.validations, strict=True)):
        made = None
        if validation.message_expression is not None:
            with suppress(CelError):
                made = validation.message_expression.call(scene.values[:-2], scene.budget)
            if result is False:
                findings.saw(policy, "messageExpression", i, "error" if made is None else "ran")
        texts.append(_usable(made) or validation.message.strip() or _unworded(validation))
    return texts


def _usable(made: object) -> str:
    """Give the text that a messageExpression made; none where it is no text, too long, or of several lines."""
    text = made.strip() if isinstance(made, str) else ""
    return "" if "\n" in text or len(to_bytes(text)) > MESSAGE_BYTES else text


def _unworded(validation: Validation) -> str:
    return f"failed expression: {validation.expression.text.strip()}"


def _denied(
    one: Invocation, at: EvaluationTarget, index: int, message: str, reason: str, findings: EvaluationResult
) -> None:
    """Do what the binding's actions say with a failed validation."""
    policy, binding = one.step.policy, one.step.binding
    denial = Denial(policy.name, binding.name, json_text(message), reason or "Invalid", at.path, index)
    if "Deny" in binding.actions:
        findings.denials.append(denial)
    if "Warn" in binding.actions:
        where = f"{policy.name}' with binding '{binding.name}"
        findings.warnings.append(f"Validation failed for ValidatingAdmissionPolicy '{where}': {_placed(denial)}")
    if "Audit" in binding.actions:
        record: dict[str, Any] = {
            "message": _placed(denial),
            "policy": policy.name,
            "binding": binding.name,
            "expressionIndex": index,
            "validationActions": list(binding.actions),
        }
        findings.audit(FAILURE_KEY, json.dumps(record, separators=(",", ":")))


def _placed(denial: Denial) -> str:
    return denial.text().removeprefix(f"{denial.policy}: ")


def _annotations(one: Invocation, seen: Activation, findings: EvaluationResult) -> list[Denial | tuple[str, str]]:
    """Give the keys and values of the audit annotations; a Denial where one cannot be evaluated. Raises OutOfBudget."""
    policy = one.step.policy
    notes: list[Denial | tuple[str, str]] = []
    for i, annotation in enumerate(policy.audit_annotations):
        try:
            value = seen.call(annotation.expression)
        except CelError as error:
            findings.saw(policy, "auditAnnotations", i, "error")
            if not policy.ignore_failure:
                text = f"expression '{annotation.expression.text}' resulted in error: {error.message}"
                notes.append(Denial(policy.name, one.step.binding.name, text))
            continue
        findings.saw(policy, "auditAnnotations", i, "null" if value is None else "ran")
        if isinstance(value, str) and value.strip():
            cut = json_text(value).strip().encode()[:ANNOTATION_BYTES].decode(errors="ignore")
            notes.append((f"{policy.name}/{annotation.key}", cut))
    return notes
