"""What a webhook registration needs to know of a bundle: one entry per failure policy, for all policies together.

Data only; writing WebhookConfigurations is the server's part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.jobs.kinds import KINDS
from webhook.policy.matching.matcher import Match, Rule
from webhook.policy.model import Policy

MAX_CONDITIONS: Final = 64
"""The API server takes no more matchConditions of one webhook (admissionregistration.k8s.io/v1)."""
_HIDDEN: Final = ("params", "namespaceObject", "variables")
"""What a webhook's own match conditions cannot speak of."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One webhook: the rules of its policies together, and a condition that holds where one of them may match.

    `condition` is CEL; empty where every request that the rules take must come.
    """

    mutating: bool
    failure_policy: str
    rules: tuple[dict[str, Any], ...]
    condition: str
    reinvocation_policy: str
    policies: tuple[str, ...]


def registration(policies: Iterable[Policy]) -> tuple[Entry, ...]:
    """Give the webhooks for the policies that are bound: mutating before validating, Fail before Ignore."""
    found = []
    bound = [policy for policy in policies if policy.bindings]
    for mutating in (True, False):
        for ignore in (False, True):
            group = [p for p in bound if p.mutating is mutating and p.ignore_failure is ignore]
            if group:
                found.append(_entry(group, mutating=mutating, ignore=ignore))
    return tuple(found)


def _entry(group: Sequence[Policy], *, mutating: bool, ignore: bool) -> Entry:
    again = any(policy.reinvoke for policy in group)
    return Entry(
        mutating,
        "Ignore" if ignore else "Fail",
        tuple(rules_of(group)),
        condition_of(group),
        ("IfNeeded" if again else "Never") if mutating else "",
        tuple(policy.name for policy in group),
    )


def rules_of(policies: Iterable[Policy]) -> list[dict[str, Any]]:
    """Give the rules of the policies as a webhook writes them, each once; an expanded policy also has the job kinds."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for policy in policies:
        rules = list(policy.match.rules) or [EVERYTHING]
        if policy.expand:
            rules += [r for rule in policy.match.rules if _takes_pods(rule) for r in _job_rules(rule.operations)]
        for rule in rules:
            written = {
                "apiGroups": sorted(rule.groups),
                "apiVersions": sorted(rule.versions),
                "operations": sorted(rule.operations),
                "resources": [f"{r}/{s}" if s else r for r, s in rule.resources],
                "scope": rule.scope,
            }
            found.setdefault(tuple(map(str, written.values())), written)
    return [found[key] for key in sorted(found)]


EVERYTHING: Final = Rule(
    frozenset({"*"}), frozenset({"*"}), (("*", "*"),), frozenset({"CREATE", "UPDATE", "DELETE"}), frozenset(), "*"
)


def _takes_pods(rule: Rule) -> bool:
    return (
        bool(rule.groups & {"", "*"})
        and bool(rule.versions & {"v1", "*"})
        and any(r in ("*", "pods") and not s for r, s in rule.resources)
    )


def _job_rules(operations: frozenset[str]) -> list[Rule]:
    return [
        Rule(frozenset({k.group}), frozenset(k.versions), ((k.resource, ""),), operations, frozenset(), "*")
        for k in KINDS
        if k.kind != "Pod"
    ]


def condition_of(policies: Sequence[Policy]) -> str:
    """Give one condition for all: the conditions of each policy ANDed, those of all policies ORed.

    Empty where one policy has none, is expanded, or speaks of what a webhook's condition cannot see.
    """
    parts = []
    for policy in policies:
        if not policy.conditions or policy.expand or not portable(policy):
            return ""
        joined = " && ".join(f"({c.expression.text.strip()})" for c in policy.conditions)
        parts.append(f"({_reach(policy.match, joined)})")
    return " || ".join(dict.fromkeys(parts))


def portable(policy: Policy) -> bool:
    """Say whether a webhook's own condition can speak of all that the policy's conditions speak of."""
    texts = [condition.expression.text for condition in policy.conditions]
    return not any(name in text for text in texts for name in _HIDDEN)


def _reach(match: Match, condition: str) -> str:
    """Guard a condition by its policy's resources, so that it is not tried on objects of another shape."""
    resources = sorted({r for rule in match.rules for r, _ in rule.resources})
    if not resources or "*" in resources:
        return condition
    names = ", ".join(f'"{r}"' for r in resources)
    return f"request.resource.resource in [{names}] && {condition}"


def mentions_authorizer(policy: Policy) -> bool:
    """Say whether the policy asks the authorizer, so that reviews may need answers from the API server."""
    return any("authorizer" in expression.text for expression in policy.expressions())
