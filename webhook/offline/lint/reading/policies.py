"""Reads policies and bindings for the lint rules: which bindings name which policies, resource rules, all expressions.

It is lenient: a policy that cannot be loaded is still linted. `webhook.policy.loading` loads policies for evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from webhook.documents import Path
from webhook.kube.selectors import SelectorError, compile_selector
from webhook.offline.lint.context import LintContext, Subject
from webhook.policy.loading.policy_kinds import BINDING, GROUP, MUTATING, VALIDATING

POLICIES: Final = (VALIDATING, MUTATING)
BINDINGS: Final = (VALIDATING + BINDING, MUTATING + BINDING)


def policies(context: LintContext) -> Iterator[Subject]:
    """Return the validating and mutating policies."""
    return context.of(GROUP, *POLICIES)


def bindings(context: LintContext) -> Iterator[Subject]:
    """Return the bindings of both kinds."""
    return context.of(GROUP, *BINDINGS)


def bindings_of(context: LintContext, policy: Subject) -> list[Subject]:
    """Return the bindings that name a policy."""
    found = context.of(GROUP, policy.gvk.kind + BINDING)
    return [b for b in found if b.text("spec", "policyName") == policy.name]


def enforced(context: LintContext, policy: Subject) -> list[Subject]:
    """Return the bindings by which a policy can change or refuse something, not only warn or audit."""
    mutating = policy.gvk.kind == MUTATING
    return [b for b in bindings_of(context, policy) if mutating or "Deny" in b.strings("spec", "validationActions")]


@dataclass(frozen=True, slots=True)
class PolicyExpression:
    """One CEL expression of a policy: its path, its text, and the field of the spec it stands under."""

    path: Path
    text: str
    role: str


_LISTS: Final = (
    ("matchConditions", ("expression",)),
    ("variables", ("expression",)),
    ("validations", ("expression", "messageExpression")),
    ("auditAnnotations", ("valueExpression",)),
)
_PATCHES: Final = (("applyConfiguration", "expression"), ("jsonPatch", "expression"))


def expressions(policy: Subject) -> Iterator[PolicyExpression]:
    """Yield every CEL expression of a policy, in the order in which they are evaluated."""
    for role, fields in _LISTS:
        for path, item in policy.each("spec", role):
            for field in fields:
                if isinstance(text := item.get(field), str):
                    yield PolicyExpression((*path, field), text, role)
    for path, _ in policy.each("spec", "mutations"):
        for deeper in _PATCHES:
            if text := policy.text(*path, *deeper):
                yield PolicyExpression((*path, *deeper), text, "mutations")


def match_rules(policy: Subject, field: str = "resourceRules") -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the resource rules of a policy (or binding), each with its path."""
    where = "matchResources" if policy.gvk.kind in BINDINGS else "matchConstraints"
    yield from policy.each("spec", where, field)


def words(rule: dict[str, Any], field: str) -> list[str]:
    """Return the strings of a list of a resource rule."""
    value = rule.get(field)
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


def takes(rule: dict[str, Any], group: str, resource: str) -> bool:
    """Return whether a resource rule covers a resource, wildcards included, its subresources aside."""
    groups, resources = words(rule, "apiGroups"), words(rule, "resources")
    return ("*" in groups or group in groups) and bool({"*", "*/*", resource} & set(resources))


def could_match(policy: Subject, group: str, resource: str) -> Path | None:
    """Return the path of the first rule by which a policy covers a resource, None where it excludes it or has none."""
    if any(takes(rule, group, resource) for _, rule in match_rules(policy, "excludeResourceRules")):
        return None
    return next((path for path, rule in match_rules(policy) if takes(rule, group, resource)), None)


def selects(subject: Subject, path: Path, labels: dict[str, str]) -> bool:
    """Ask the label selector at a path; where there is none, or it cannot be used, it selects."""
    selector = subject.at(*path)
    try:
        return compile_selector(selector if isinstance(selector, dict) else None)(labels)
    except (SelectorError, AttributeError, TypeError):
        return True
