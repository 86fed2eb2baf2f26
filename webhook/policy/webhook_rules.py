"""What a webhook registration needs to know of a bundle: a call per failure policy, for all policies together.

Data only; writing WebhookConfigurations is the server's part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final

from webhook.jobs.kinds import KINDS
from webhook.policy.match_resources import MatchResources, ResourceRule, synonyms
from webhook.policy.model import Policy

FAIL: Final = "Fail"
IGNORE: Final = "Ignore"
EXPRESSION_LIMIT: Final = 100_000
"""Code points of an expression that the API server's parser takes (cel-go, `ExpressionSizeCodePointLimit`)."""
SUB_RESOURCE: Final = "request.?subResource.orValue('')"
RESOURCE: Final = "(request.resource.group + '/' + request.resource.resource)"
REQUEST: Final = f"(request.operation + ' ' + {RESOURCE})"
OPERATIONS: Final = ("CONNECT", "CREATE", "DELETE", "UPDATE")
_HIDDEN: Final = ("params", "namespaceObject", "variables")
"""What a webhook's own match conditions cannot speak of."""


Rule = dict[str, Any]
"""One of a webhook's `rules` (admissionregistration.k8s.io/v1, RuleWithOperations)."""


@dataclass(frozen=True, slots=True)
class WebhookEntry:
    """One webhook: the rules of its policies together, and a condition that holds where one of them may match.

    `condition` is CEL; empty where every request that the rules take must come.
    """

    mutating: bool
    failure_policy: str
    rules: tuple[Rule, ...]
    condition: str
    reinvocation_policy: str
    policies: tuple[str, ...]


def registration(policies: Iterable[Policy]) -> tuple[WebhookEntry, ...]:
    """Return the webhooks for the policies that are bound: mutating before validating, Fail before Ignore."""
    return tuple(_entry(*call, group) for call, group in calls(policies).items())


def calls(policies: Iterable[Policy]) -> dict[tuple[bool, str], list[Policy]]:
    """Return the policies that are bound, by the webhook that sends requests for them: mutating, failurePolicy.

    A policy that ignores failures goes with those that do not where every request of its rules is sent for these: it
    costs no call of its own, and where the call fails the request is refused anyhow.
    """
    found = {}
    bound = [policy for policy in policies if policy.bindings]
    for mutating in (True, False):
        phase = [policy for policy in bound if policy.mutating is mutating]
        failing = [policy for policy in phase if not policy.ignore_failure]
        sent = rules_of(failing) if _always(failing) or not condition_of(failing) else []
        alone = [p for p in phase if p.ignore_failure and not all(is_covered(rule, sent) for rule in rules_of([p]))]
        together = [policy for policy in phase if policy not in alone]
        found.update({(mutating, name): group for name, group in ((FAIL, together), (IGNORE, alone)) if group})
    return found


def _entry(mutating: bool, failure_policy: str, group: Sequence[Policy]) -> WebhookEntry:
    again = any(policy.reinvoke for policy in group)
    return WebhookEntry(
        mutating,
        failure_policy,
        tuple(rules_of(group)),
        condition_of(group),
        ("IfNeeded" if again else "Never") if mutating else "",
        tuple(policy.name for policy in group),
    )


def rules_of(policies: Iterable[Policy]) -> list[Rule]:
    """Return the rules of the policies as a webhook writes them, none that another one covers.

    A policy that is expanded also has the job kinds.
    """
    found: dict[tuple[Any, ...], Rule] = {}
    for policy in policies:
        for rule in _rules(policy):
            written = {
                "apiGroups": sorted(rule.groups),
                "apiVersions": sorted(rule.versions),
                "operations": sorted(rule.operations),
                "resources": [f"{r}/{s}" if s else r for r, s in rule.resources],
                "scope": rule.scope,
            }
            found.setdefault(tuple(map(str, written.values())), written)
    kept = [found[key] for key in sorted(found)]
    for written in tuple(kept):
        others = [other for other in kept if other is not written]
        if is_covered(written, others):
            kept = others
    return kept


def _rules(policy: Policy) -> list[ResourceRule]:
    rules = list(policy.match.rules) or [EVERYTHING]
    if policy.expand:
        rules += [r for rule in policy.match.rules if _takes_pods(rule) for r in _job_rules(rule.operations)]
    return rules


def is_covered(rule: Rule, others: Iterable[Rule]) -> bool:
    """Return whether one of the others takes all that the rule takes."""
    return any(
        all(_has(other[field], rule[field]) for field in ("apiGroups", "apiVersions", "operations"))
        and all(any(map(_has_resource, other["resources"], repeat(name))) for name in rule["resources"])
        and other["scope"] in ("*", rule["scope"])
        for other in others
    )


def _has(words: Collection[str], wanted: Collection[str]) -> bool:
    return "*" in words or set(wanted) <= set(words)


def _has_resource(name: str, wanted: str) -> bool:
    """Return whether `name` takes all that `wanted` does: `*` stands for all resources, `*/*` for subresources too."""
    (resource, _, sub), (other, _, of) = name.partition("/"), wanted.partition("/")
    return resource in ("*", other) and sub in ("*", of)


EVERYTHING: Final = ResourceRule(
    frozenset({"*"}), frozenset({"*"}), (("*", "*"),), frozenset({"CREATE", "UPDATE", "DELETE"}), frozenset(), "*"
)


def _takes_pods(rule: ResourceRule) -> bool:
    return (
        bool(rule.groups & {"", "*"})
        and bool(rule.versions & {"v1", "*"})
        and any(r in ("*", "pods") and not s for r, s in rule.resources)
    )


def _job_rules(operations: frozenset[str]) -> list[ResourceRule]:
    return [
        ResourceRule(frozenset({k.group}), frozenset(k.versions), ((k.resource, ""),), operations, frozenset(), "*")
        for k in KINDS
        if k.kind != "Pod"
    ]


def condition_of(policies: Sequence[Policy]) -> str:
    """Return one condition for all: the conditions of each policy ANDed, those of all policies ORed.

    Where some policies need every request of their rules, it is about the other requests alone, by operation and
    resource, and all else comes. Empty where these are none, and where the condition is longer than the API server
    reads.
    """
    parts = []
    if always := _always(policies):
        taken = _requests(always)
        spared = {name for name in _requests(policies) if "*" not in name and not _is_among(name, taken)}
        words = (f"{operation} {group}/{resource}" for operation, group, resource in spared)
        parts = [f"!({_among(REQUEST, words)})"] if spared else []
        own = [(policy, _requests([policy])) for policy in policies]
        policies = [policy for policy, names in own if any(_is_among(name, names) for name in spared)]
    for policy in policies:
        tests = [*_reach(policy.match), *(c.expression.text.strip() for c in policy.conditions)]
        parts.append(f"({' && '.join(map(_bracketed, tests))})")
    condition = " || ".join(dict.fromkeys(parts))
    return condition if len(condition) <= EXPRESSION_LIMIT else ""


def _always(policies: Sequence[Policy]) -> list[Policy]:
    """Return those of one call that need every request of their rules.

    One that ignores failures does beside others: it is there as it costs them no call.
    """
    failing = any(not policy.ignore_failure for policy in policies)
    return [
        policy
        for policy in policies
        if not policy.conditions or policy.expand or not portable(policy) or (failing and policy.ignore_failure)
    ]


def _requests(policies: Iterable[Policy]) -> set[tuple[str, str, str]]:
    """Return operation, group and resource of what the rules of these policies take; `*` stands for all, but of
    operations.
    """
    rules = [(rule, policy.match) for policy in policies for rule in _rules(policy)]
    named = [(rule, name) for rule, match in rules for _, sub in rule.resources for name in _names(rule, sub, match)]
    return {
        (operation, *name)
        for rule, name in named
        for operation in (OPERATIONS if "*" in rule.operations else rule.operations)
    }


def _is_among(name: tuple[str, str, str], taken: Iterable[tuple[str, str, str]]) -> bool:
    return any(all(theirs in ("*", own) for theirs, own in zip(each, name, strict=True)) for each in taken)


def portable(policy: Policy) -> bool:
    """Return whether a webhook's own condition can speak of all that the policy's conditions speak of."""
    texts = [condition.expression.text for condition in policy.conditions]
    return not any(name in text for text in texts for name in _HIDDEN)


def _bracketed(text: str) -> str:
    """Return a test in brackets, which others can follow: a comment ends with its line."""
    return f"({text}\n)" if "//" in text else f"({text})"


def _reach(match: MatchResources) -> Iterator[str]:
    """Yield the test that comes before a policy's conditions: it holds for what the policy's own rules take.

    An error in one condition refuses the request, whatever the other policies say. So a condition is tried only on
    requests that it was written for: no `oldObject` of a CREATE, no object of another shape.
    """
    rules = [(rule, sub) for rule in match.rules for sub in dict.fromkeys(sub for _, sub in rule.resources)]
    found = dict.fromkeys(" && ".join(filter(None, _tests(rule, sub, match))) for rule, sub in rules)
    if found and "" not in found:
        yield found.popitem()[0] if len(found) == 1 else " || ".join(f"({test})" for test in found)


def _names(rule: ResourceRule, sub: str, match: MatchResources) -> set[tuple[str, str]]:
    """Return the resources of a rule by group and name, each with those that are the same ones in another group."""
    names = {(group, resource) for group in rule.groups for resource, of in rule.resources if of == sub}
    if match.equivalent:
        names |= {other for name in names for other in synonyms(*name)}
    return names


def _tests(rule: ResourceRule, sub: str, match: MatchResources) -> Iterator[str]:
    """Yield the tests of one rule for one subresource, empty where it takes every one. Versions are converted."""
    names = _names(rule, sub, match)
    yield _among("request.operation", rule.operations)
    yield _among("request.resource.group", {group for group, _ in names})
    yield _among("request.resource.resource", {resource for _, resource in names})
    yield _among(SUB_RESOURCE, {sub})


def _among(what: str, words: Iterable[str]) -> str:
    words = sorted(words)
    if "*" in words:
        return ""
    first, *others = (f"'{word}'" for word in words)
    return f"{what} in [{', '.join((first, *others))}]" if others else f"{what} == {first}"
