"""Rules for what never happens: resource rules that match nothing, expressions that always fail, old exceptions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from webhook.diagnostics import Severity, did_you_mean
from webhook.documents import Path
from webhook.jobs.kinds import KINDS
from webhook.kube.schemas import built_in_kinds
from webhook.kube.well_known import SLUICE
from webhook.offline.lint.context import Finding, LintContext, LintRule, Subject, rule
from webhook.offline.lint.reading.policies import (
    BINDINGS,
    PolicyExpression,
    bindings,
    enforced,
    expressions,
    match_rules,
    policies,
    words,
)
from webhook.offline.lint.rules.unknown_fields import plural
from webhook.policy.loading.policy_kinds import EXCEPTION, MUTATING
from webhook.policy.matching.exceptions import read_date

_BUILT_IN: Final = {
    "": "pods services configmaps secrets namespaces nodes serviceaccounts persistentvolumes persistentvolumeclaims"
    " limitranges resourcequotas replicationcontrollers endpoints events podtemplates bindings componentstatuses",
    "apps": "deployments statefulsets daemonsets replicasets controllerrevisions",
    "batch": "jobs cronjobs",
    "networking.k8s.io": "ingresses networkpolicies ingressclasses ipaddresses servicecidrs",
    "rbac.authorization.k8s.io": "roles rolebindings clusterroles clusterrolebindings",
    "policy": "poddisruptionbudgets",
    "autoscaling": "horizontalpodautoscalers",
    "scheduling.k8s.io": "priorityclasses",
    "storage.k8s.io": "storageclasses volumeattachments csidrivers csinodes csistoragecapacities"
    " volumeattributesclasses",
    "coordination.k8s.io": "leases leasecandidates",
    "kueue.x-k8s.io": "clusterqueues localqueues resourceflavors cohorts workloads workloadpriorityclasses"
    " admissionchecks topologies multikueueclusters multikueueconfigs provisioningrequestconfigs",
}


def _known() -> Mapping[str, frozenset[str]]:
    found = {group: set(names.split()) for group, names in _BUILT_IN.items()}
    for kind in KINDS:
        found.setdefault(kind.group, set()).add(kind.resource)
    return {group: frozenset(names) for group, names in found.items()}


_UNDOTTED: Final = frozenset({"", "*", "apps", "batch", "autoscaling", "policy"})
"""The groups without a dot."""
RESOURCES: Final = _known()
"""group -> the resources that are known here. Groups that are not in the table are left alone."""


@rule("RCH001", Severity.ERROR, "a resource must be plural and lower case")
def resource_names(context: LintContext) -> Iterator[Finding]:
    """Rules name resources, not kinds: `pods`, not `Pod`; `jobs`, not `job`. A rule with any other word matches
    nothing, and the policy is never evaluated. `--fix` writes the resource if it is clear which one is meant.
    """
    for policy in policies(context):
        for path, found in (*match_rules(policy), *match_rules(policy, "excludeResourceRules")):
            known = _in_groups(words(found, "apiGroups"))
            for i, word in enumerate(words(found, "resources")):
                name = word.partition("/")[0]
                if known and name != "*" and name not in known and not _elsewhere(name):
                    yield _unknown(policy, (*path, "resources", i), word, known)


def _in_groups(groups: list[str]) -> frozenset[str]:
    """Return the resources of the groups of a rule; nothing where one of the groups is not known."""
    if not groups or any(group not in RESOURCES for group in groups):
        return frozenset()
    return frozenset().union(*(RESOURCES[group] for group in groups))


def _elsewhere(name: str) -> list[str]:
    return sorted(group for group, names in RESOURCES.items() if name in names)


def _unknown(policy: Subject, path: Path, word: str, known: frozenset[str]) -> Finding:
    name, slash, sub = word.partition("/")
    plural = next((p for p in _plurals(name.lower()) if p in known), "")
    if plural:
        finding = policy.finding(path, f'"{word}" matches nothing: a resource is plural and lower case')
        return replace(finding, hint=f'write "{plural}{slash}{sub}"', edit=policy.edit(path, f"{plural}{slash}{sub}"))
    hint = did_you_mean(name, known) or f"known resources: {', '.join(sorted(known))}"
    return policy.finding(path, f'unknown resource "{name}" in these groups', hint)


def _plurals(name: str) -> tuple[str, ...]:
    return name, f"{name}s", f"{name}es", f"{name[:-1]}ies"


@rule("RCH002", Severity.ERROR, "a resource must be listed with its own API group and a served version")
def wrong_group(context: LintContext) -> Iterator[Finding]:
    """Each resource belongs to a group: `jobs` to `batch`, `deployments` to `apps`, `pods` to the core group, written
    `""`. A rule that lists the resource with another group matches nothing. The same holds for a group that does
    not exist (`core`, `v1`, `batch/v1`) and for a version that Kubernetes 1.36 does not serve.
    """
    for policy in policies(context):
        for path, found in match_rules(policy):
            groups = words(found, "apiGroups")
            yield from _no_groups(policy, (*path, "apiGroups"), groups)
            yield from _no_versions(policy, path, found)
            known = _in_groups(groups)
            for i, word in enumerate(words(found, "resources")):
                name = word.partition("/")[0]
                if known and name not in known and (right := _elsewhere(name)):
                    shown = " or ".join(f'"{group}"' for group in right)
                    message = f"{name} is in group {shown}, not {_quoted(groups)}: the rule matches nothing"
                    yield policy.finding((*path, "resources", i), message, f"write apiGroups: [{shown}]")


def _no_groups(policy: Subject, path: Path, groups: list[str]) -> Iterator[Finding]:
    """Yield words that are not a group: with a version, `core`, or a word that Kubernetes does not have."""
    for i, group in enumerate(groups):
        bare = group.partition("/")[0]
        if "/" in group:
            hint = f'write "{bare}": versions belong in apiVersions'
        elif group == "core" or re.fullmatch(r"v\d\w*", group):
            hint = 'write the core group as ""'
        elif group in _UNDOTTED or "." in group:
            continue
        else:
            hint = did_you_mean(group, RESOURCES) or "groups of custom kinds contain a dot"
        yield policy.finding((*path, i), f'unknown API group "{group}": the rule matches nothing', hint)


def _no_versions(policy: Subject, path: Path, found: dict[str, Any]) -> Iterator[Finding]:
    """Yield versions that no resource of a rule is served in, where all of them are built in."""
    groups, versions = words(found, "apiGroups"), words(found, "apiVersions")
    names = {word.partition("/")[0] for word in words(found, "resources")}
    served = {gvk.version for gvk in built_in_kinds() if gvk.group in groups and plural(gvk.kind) in names}
    known = {plural(gvk.kind) for gvk in built_in_kinds() if gvk.group in groups}
    if not served or not versions or "*" in versions or not names <= known or served & set(versions):
        return
    shown = ", ".join(sorted(served))
    message = f"{', '.join(sorted(names))} {'is' if len(names) == 1 else 'are'} not served in {', '.join(versions)}"
    yield policy.finding((*path, "apiVersions"), f"{message}: the rule matches nothing", f"write {shown}", key=True)


def _quoted(groups: list[str]) -> str:
    return ", ".join(f'"{group}"' for group in groups)


_OBJECT: Final = re.compile(r"(?<![\w.])object\s*[.\[]")
_OLD: Final = re.compile(r"(?<![\w.])oldObject\s*[.\[]")
_GUARD: Final = re.compile(r"\b(object|oldObject)\s*[!=]=\s*null|request\.operation|has\(request\.\w+\)")


@rule("RCH003", Severity.WARNING, "an expression must read only what the operation provides")
def null_objects(context: LintContext) -> Iterator[Finding]:
    """`object` is null on DELETE and on CONNECT to some resources; `oldObject` is null on CREATE. An expression that
    reads a field of null fails. With `failurePolicy: Fail` every such request is denied: for example, nothing can
    be deleted any more.
    """
    for policy in policies(context):
        operations = {word for _, found in match_rules(policy) for word in words(found, "operations")}
        found = [e for e in expressions(policy) if e.role in ("matchConditions", "validations")]
        if any(_GUARD.search(e.text) for e in expressions(policy)):
            continue
        for needed, pattern, name in (("DELETE", _OBJECT, "object"), ("CREATE", _OLD, "oldObject")):
            if not operations & {needed, "*"}:
                continue
            other = "oldObject" if name == "object" else "object"
            for expression in found:
                if match := pattern.search(expression.text):
                    message = f"{name} is null on {needed}: the expression fails there"
                    hint = f'guard it: request.operation == "{needed}" ? {other}... : {name}..., or remove {needed}'
                    yield _at(policy, expression, match, message, hint)
                    break


def _at(policy: Subject, expression: PolicyExpression, match: re.Match[str], message: str, hint: str) -> Finding:
    return policy.finding(expression.path, message, hint, span=(match.start(), len(match[0]) - 1))


@rule("RCH004", Severity.ERROR, "a mutating policy must not match DELETE")
def mutating_operations(context: LintContext) -> Iterator[Finding]:
    """A mutation needs an object that is being written. On DELETE there is none, and the API server rejects such a
    rule of a policy or binding.
    """
    for policy in (*policies(context), *bindings(context)):
        for path, found in match_rules(policy) if policy.gvk.kind.startswith(MUTATING) else ():
            for i, word in enumerate(words(found, "operations")):
                if word == "DELETE":
                    yield policy.finding((*path, "operations", i), "a mutating policy cannot match DELETE", "remove it")


@rule("RCH005", Severity.NOTE, "a validation must have a message")
def message(context: LintContext) -> Iterator[Finding]:
    """Without `message` or `messageExpression` the user sees "failed expression:" and the CEL text. Say what is wrong
    and how to fix it.
    """
    for policy in policies(context):
        for path, validation in policy.each("spec", "validations") if enforced(context, policy) else ():
            if not validation.get("message") and not validation.get("messageExpression"):
                yield policy.finding(
                    (*path, "expression"), "the denial would show the expression itself", "add message:"
                )


@rule("EXC002", Severity.ERROR, "an exception must not be expired")
def expired(context: LintContext) -> Iterator[Finding]:
    """A PolicyException applies until `spec.expires`. After that it has no effect. Remove it, or extend it with a new
    reason.
    """
    for subject in context.of(SLUICE, EXCEPTION):
        text = subject.text("spec", "expires")
        until = read_date(text)
        if until is not None and until <= context.now.timestamp():
            days = int(context.now.timestamp() - until) // 86_400
            message = f"{subject} expired on {text}" + (f", {days} days ago" if days > 1 else "")
            yield subject.finding(("spec", "expires"), message, "remove it, or set a later date and a reason")


@rule("RCH006", Severity.ERROR, "a policy must match something")
def for_nothing(context: LintContext) -> Iterator[Finding]:
    """If `excludeResourceRules` exclude everything in `resourceRules`, or no labels can satisfy a selector, the policy
    is never evaluated.
    """
    for policy in (*policies(context), *bindings(context)):
        where = "matchResources" if policy.gvk.kind in BINDINGS else "matchConstraints"
        taken = [found for _, found in match_rules(policy, "excludeResourceRules")]
        rules = list(match_rules(policy))
        if rules and all(any(_covers(t, found) for t in taken) for _, found in rules):
            message = "excludeResourceRules exclude everything in resourceRules"
            yield policy.finding(("spec", where, "excludeResourceRules"), message, "exclude less here", key=True)
        for selector in ("namespaceSelector", "objectSelector"):
            if key := _contradicted(policy.map("spec", where, selector)):
                message = f'no labels can match: "{key}" has two conflicting requirements'
                yield policy.finding(("spec", where, selector), message, "keep one of them", key=True)


def _covers(wide: dict[str, Any], narrow: dict[str, Any]) -> bool:
    """Return whether a resource rule takes in all of another one."""
    fields = ("apiGroups", "apiVersions", "resources", "operations")
    stars = all("*" in words(wide, f) or set(words(narrow, f)) <= set(words(wide, f)) for f in fields)
    return stars and not wide.get("resourceNames") and wide.get("scope", "*") in ("*", narrow.get("scope", "*"))


def _contradicted(selector: dict[str, Any]) -> str:
    """Name a label of which a selector asks what cannot be."""
    labels, found = selector.get("matchLabels"), selector.get("matchExpressions")
    can_be = {key: {str(value)} for key, value in labels.items()} if isinstance(labels, dict) else {}
    items = [e for e in found if isinstance(e, dict)] if isinstance(found, list) else []
    there = set(can_be) | {str(e.get("key")) for e in items if e.get("operator") in ("In", "Exists")}
    for item in items:
        key, operator, values = str(item.get("key")), item.get("operator"), set(words(item, "values"))
        if operator == "In":
            can_be[key] = can_be.get(key, values) & values
        elif operator == "NotIn" and key in can_be:
            can_be[key] = can_be[key] - values
        if operator == "DoesNotExist" and key in there:
            return key
    return next((key for key, values in can_be.items() if not values), "")


RULES: Final[tuple[LintRule, ...]] = (
    resource_names,
    wrong_group,
    null_objects,
    mutating_operations,
    message,
    for_nothing,
    expired,
)
