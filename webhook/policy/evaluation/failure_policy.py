"""What an error of a policy means under failurePolicy Fail and Ignore. No other file of the evaluation decides it.

Source: `failurePolicy` of admissionregistration.k8s.io/v1, and the API server's dispatchers.

- Parameters, a binding or the Namespace cannot be had. Fail: a denial, whatever the binding's actions. Ignore: skipped.
- Match conditions fail and none is false; their budget, or that of all validations, is spent; Sluice has a bug. The
  policy ends on this object. Fail: a denial, or one failed validation. Ignore: nothing.
- A validation fails. Fail: as if it were false. Ignore: as if it were true.
- An audit annotation fails. Fail: a denial, whatever the binding's actions. Ignore: it is left out.
- A mutation fails or spends its budget. The object stays as it was, and the next is tried. Fail: also a denial.

Neither decides about a fact that is not known yet (`Unanswered`: the review is tried again), nor about an
`InternalError` of a JSON patch, which always denies.
"""

from __future__ import annotations

import logging
from typing import Final

from webhook.cel.errors import Interrupted
from webhook.policy.evaluation.result import Denial
from webhook.policy.evaluation.review_context import ReviewContext
from webhook.policy.expression import OutOfBudget
from webhook.policy.model import Binding, Policy
from webhook.policy.request import Request

log = logging.getLogger(__name__)

OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


class ConditionsFailed(Exception):
    """Match conditions failed, and none of them is false; the text has the errors."""


def error_counts(policy: Policy) -> bool:
    """Return whether an error of the policy counts (Fail), or is as if it were not there (Ignore)."""
    return not policy.ignore_failure


def failure_of(policy: Policy, error: BaseException, request: Request) -> str:
    """Word what ended a policy on one target; empty under Ignore.

    What no expression may raise is a bug of ours: for the log, and this policy's failure alone (docs/decisions/0075).
    """
    if isinstance(error, ConditionsFailed):
        text = str(error)
    elif isinstance(error, OutOfBudget):
        text = OUT_OF_BUDGET
    else:
        text = f"the policy could not be evaluated: {error}"
        if not isinstance(error, Interrupted):
            told = {"uid": request.uid, "policy": policy.name}
            log.error("policy %s failed: this is a bug in Sluice", policy.name, exc_info=error, extra=told)
    return text if error_counts(policy) else ""


def configuration_error(policy: Policy, binding: Binding, message: str, context: ReviewContext) -> None:
    """Deny because a policy or a binding cannot be used; nothing comes of it under Ignore."""
    if error_counts(policy):
        context.result.denials.append(Denial(policy.name, binding.name, message))
