"""Evaluating validating policies. Rules: the validator and the dispatcher of the API server's policy plugin."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from webhook.cel.errors import CelError
from webhook.policy.authorizer import Unanswered
from webhook.policy.expand import Stand
from webhook.policy.expression import OutOfBudget
from webhook.policy.findings import FAILURE_KEY, Denial, Findings
from webhook.policy.invoke import runs, stands_for
from webhook.policy.model import Policy, Validation
from webhook.policy.scene import OUT_OF_BUDGET, Run, Scene, conditions_hold
from webhook.policy.steps import Step
from webhook.policy.world import World

MESSAGE_BYTES: Final = 5 * 1024
"""A messageExpression that gives more is not used (apis/cel MaxEvaluatedMessageExpressionSizeBytes)."""
ANNOTATION_BYTES: Final = 10 * 1024


def validate(steps: Sequence[Step], world: World, findings: Findings) -> None:
    """Evaluate the policies on the request and collect what comes of it."""
    for one in runs(steps, world, findings):
        for at in stands_for(one.step, world):
            try:
                _evaluate(one, world, at, findings)
            except Unanswered as unanswered:
                findings.unknown.append(unanswered.check)
    world.close()


def _evaluate(one: Run, world: World, at: Stand, findings: Findings) -> None:
    policy = one.step.policy
    held = conditions_hold(one, world, at, findings) if policy.conditions else True
    if held is not True:
        if held:
            _denied(one, at, 0, held, "", findings)
        return
    seen = Scene(one, world, at)
    if policy.name not in findings.evaluated:
        findings.evaluated.append(policy.name)
    try:
        for i, validation in enumerate(policy.validations):
            _validation(one, at, i, validation, seen, findings)
        for i in range(len(policy.audit_annotations)):
            _annotation(one, i, seen, findings)
    except OutOfBudget:
        if not policy.ignore_failure:
            _denied(one, at, 0, OUT_OF_BUDGET, "", findings)


def _validation(one: Run, at: Stand, index: int, validation: Validation, seen: Scene, findings: Findings) -> None:
    policy = one.step.policy
    try:
        result = seen.call(validation.expression)
    except CelError as error:
        findings.saw(policy, "validations", index, "error")
        if not policy.ignore_failure:
            text = f"expression '{validation.expression.text}' resulted in error: {error.message}"
            _denied(one, at, index, text, "", findings)
        return
    if result is True:
        findings.saw(policy, "validations", index, "true")
        return
    findings.saw(policy, "validations", index, "false")
    _denied(one, at, index, _message(policy, index, validation, seen, findings), validation.reason, findings)


def _message(policy: Policy, index: int, validation: Validation, seen: Scene, findings: Findings) -> str:
    """Word the failure: messageExpression (no authorizer there), else message, else the expression itself."""
    if validation.message_expression is not None:
        try:
            made = validation.message_expression.call(seen.values[:-2], seen.budget)
        except CelError:
            made = None
        findings.saw(policy, "messageExpression", index, "error" if made is None else "ran")
        if isinstance(made, str):
            text = made.strip()
            if text and "\n" not in text and len(text.encode()) <= MESSAGE_BYTES:
                return text
    return validation.message.strip() or f"failed expression: {validation.expression.text.strip()}"


def _denied(one: Run, at: Stand, index: int, message: str, reason: str, findings: Findings) -> None:
    """Do what the binding's actions say with a failed validation."""
    policy, binding = one.step.policy, one.step.binding
    denial = Denial(policy.name, binding.name, message, reason or "Invalid", at.path, index)
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


def _annotation(one: Run, index: int, seen: Scene, findings: Findings) -> None:
    policy, binding = one.step.policy, one.step.binding
    annotation = policy.audit_annotations[index]
    try:
        value = seen.call(annotation.expression)
    except CelError as error:
        findings.saw(policy, "auditAnnotations", index, "error")
        if not policy.ignore_failure:
            text = f"expression '{annotation.expression.text}' resulted in error: {error.message}"
            findings.denials.append(Denial(policy.name, binding.name, text))
        return
    findings.saw(policy, "auditAnnotations", index, "null" if value is None else "ran")
    if isinstance(value, str) and value.strip():
        cut = value.strip().encode()[:ANNOTATION_BYTES].decode(errors="ignore")
        findings.audit(f"{policy.name}/{annotation.key}", cut)
