"""Which requests the API server must send us: webhook entries generated from a set of policies. Pure.

One entry for each failurePolicy in use, for all its policies together. What no policy wants is not sent: the rules
are those of the policies, and their match conditions are ORed into one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.cluster.kinds import MANAGED
from webhook.jobs.kinds import KINDS
from webhook.policy.model import Policy

FAIL, IGNORE = "Fail", "Ignore"
_OUT_OF_REACH: Final = re.compile(r"\b(params|namespaceObject|variables)\b")
"""What a webhook's match condition does not know; a policy that asks for it is always sent its objects."""
_WITH_TEMPLATES: Final = tuple(kind for kind in KINDS if kind.kind != "Pod")
_QUEUED: Final = tuple((kind.group, kind.resource) for kind in KINDS if kind.gvk in MANAGED)

Rule = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...], str]
"""API groups, versions, resources, operations, scope."""


@dataclass(frozen=True, slots=True)
class Hook:
    """One entry: what is sent to `path` (below the server's root), and what happens when we do not answer."""

    mutating: bool
    failure: str
    path: str
    rules: tuple[Rule, ...]
    condition: str
    reinvoke: bool = False

    @property
    def name(self) -> str:
        """The entry's name, a domain name as the API server wants it."""
        return f"{self.failure.lower()}.{'mutate' if self.mutating else 'validate'}.sluice.dev"


def hooks(policies: Sequence[Policy], *, gate: bool) -> list[Hook]:
    """Give the entries for these policies; with `gate`, queued jobs are sent to be judged in any case.

    Where both failure policies are in use, each has a path of its own, at which only its policies are evaluated.
    """
    found = []
    for mutating in (True, False):
        groups = [(failure, _of(policies, mutating, failure)) for failure in (FAIL, IGNORE)]
        used = [(failure, group) for failure, group in groups if group]
        if gate and not mutating and not used:
            used = [(IGNORE, [])]
        for index, (failure, group) in enumerate(used):
            path = "mutate" if mutating else "validate"
            if len(used) > 1:
                path = f"{path}/{failure.lower()}"
            found.append(_hook(mutating, failure, path, group, gate=gate and not mutating and index == 0))
    return found


def _of(policies: Iterable[Policy], mutating: bool, failure: str) -> list[Policy]:
    return [p for p in policies if p.mutating is mutating and p.ignore_failure is (failure == IGNORE) and p.bindings]


def _hook(mutating: bool, failure: str, path: str, policies: Sequence[Policy], *, gate: bool) -> Hook:
    rules = {rule for policy in policies for rule in _rules(policy)}
    conditions = [_condition(policy) for policy in policies]
    if gate:
        rules |= {_job_rule(kind.group, kind.versions, kind.resource) for kind in KINDS if kind.gvk in MANAGED}
        conditions.append(_is_one_of(_QUEUED))
    condition = "" if "" in conditions else " || ".join(f"({text})" for text in dict.fromkeys(conditions))
    reinvoke = any(policy.reinvoke for policy in policies)
    return Hook(mutating, failure, path, tuple(sorted(_merged(rules))), condition, reinvoke)


def _rules(policy: Policy) -> Iterable[Rule]:
    for rule in (policy.spec.get("matchConstraints") or {}).get("resourceRules") or ():
        operations = tuple(sorted(rule.get("operations") or ()))
        if policy.mutating:
            operations = tuple(name for name in operations if name != "DELETE")
        yield (
            tuple(sorted(rule.get("apiGroups") or ())),
            tuple(sorted(rule.get("apiVersions") or ())),
            tuple(sorted(rule.get("resources") or ())),
            operations,
            str(rule.get("scope") or "*"),
        )
    if policy.expand:
        for kind in _WITH_TEMPLATES:
            yield _job_rule(kind.group, kind.versions, kind.resource)


def _job_rule(group: str, versions: tuple[str, ...], resource: str) -> Rule:
    return ((group,), tuple(sorted(versions)), (resource,), ("CREATE", "UPDATE"), "*")


def _merged(rules: Iterable[Rule]) -> list[Rule]:
    """Put resources together that differ in nothing else."""
    resources: dict[tuple[Any, ...], set[str]] = {}
    for groups, versions, names, operations, scope in rules:
        resources.setdefault((groups, versions, operations, scope), set()).update(names)
    return [
        (groups, versions, ("*",) if "*" in names else tuple(sorted(names)), operations, scope)
        for (groups, versions, operations, scope), names in resources.items()
    ]


def _condition(policy: Policy) -> str:
    """Give the policy's match conditions as one expression; empty for `always`."""
    texts = [str(item.get("expression") or "") for item in policy.spec.get("matchConditions") or ()]
    if not texts or any(_OUT_OF_REACH.search(text) for text in texts):
        return ""
    both = " && ".join(f"({text.strip()})" for text in texts)
    if policy.expand:
        both = f"({both}) || {_is_one_of([(kind.group, kind.resource) for kind in _WITH_TEMPLATES])}"
    return both


def _is_one_of(resources: Iterable[tuple[str, str]]) -> str:
    names = ", ".join(f"'{group}/{resource}'" for group, resource in resources)
    return f"(request.resource.group + '/' + request.resource.resource) in [{names}]"
