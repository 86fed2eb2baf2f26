"""Rules for objects that a policy must not block: kube-system, leases, Sluice itself, and the API server's reviews."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from webhook.cel import CALL_LIMIT
from webhook.diagnostics import Severity
from webhook.documents import Path
from webhook.kube.well_known import KUEUE, NAMESPACE_NAME, SLUICE
from webhook.offline.dryrun.requests import ResourceScopes, Sender, received, request_for
from webhook.offline.lint.context import Finding, LintContext, LintRule, Subject, rule
from webhook.offline.lint.reading.policies import (
    bindings_of,
    could_match,
    enforced,
    expressions,
    match_rules,
    policies,
    selects,
    words,
)
from webhook.offline.lint.trial.run_policies import trial_of
from webhook.policy.loading.policy_kinds import MUTATING, VALIDATING
from webhook.store.objects import FIELD_MANAGER

SYSTEM: Final = ("kube-system", "sluice-system")
_SELECTOR: Final = "namespaceSelector"
_NAMESPACES: Final = re.compile(
    r"""namespaceObject|\bkube-|namespace\)?\s*(==|in\b|!=\s*['"]\w)|namespace\.(starts|ends|match)"""
)
_LEASE: Final = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "node-1", "namespace": "kube-node-lease"},
    "spec": {"holderIdentity": "node-1"},
}
_WORKLOAD: Final = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "job-train", "namespace": "team-a"},
    "spec": {"podSets": []},
}
CLUSTER_SCOPED: Final = frozenset(
    {
        "namespaces",
        "nodes",
        "persistentvolumes",
        "clusterroles",
        "clusterrolebindings",
        "priorityclasses",
        "storageclasses",
        "runtimeclasses",
        "customresourcedefinitions",
        "clusterqueues",
        "resourceflavors",
        "cohorts",
        "workloadpriorityclasses",
        "admissionchecks",
    }
)
_OWN: Final = (
    (SLUICE, "queuepolicies", "the rules of the queue"),
    (KUEUE, "workloads", "what Sluice writes when a job is queued, started or evicted"),
    ("authorization.k8s.io", "subjectaccessreviews", "requests of the control plane itself"),
    ("authentication.k8s.io", "tokenreviews", "authentication and authorization"),
)


@rule("SAF001", Severity.WARNING, "a policy must exclude system namespaces")
def system_namespaces(context: LintContext) -> Iterator[Finding]:
    """Sluice itself never evaluates requests in `kube-system` and in its own namespace. The same file as a native
    policy would: a denial there can stop pods that the cluster needs to recover. Exclude the namespaces with a
    `namespaceSelector` in the policy or in each binding: opt in by a label, or `NotIn` on
    `kubernetes.io/metadata.name`.
    """
    for policy in policies(context):
        if not _namespaced(policy) or _asks_for_namespace(policy):
            continue
        bound = enforced(context, policy) if bindings_of(context, policy) else [policy]
        bound = [binding for binding in bound if not _by_params(binding)]
        open_to = [name for name in SYSTEM if any(_selects(policy, binding, name) for binding in bound)]
        if "kube-system" in open_to:
            message = f"{policy} could match requests in {' and '.join(open_to)}"
            names = ", ".join(SYSTEM)
            hint = f"matchConstraints.namespaceSelector: {NAMESPACE_NAME} NotIn [{names}], or opt in by a label"
            yield policy.finding(("spec", "matchConstraints"), message, hint, key=True)


def _selects(policy: Subject, binding: Subject, namespace: str) -> bool:
    labels = {NAMESPACE_NAME: namespace}
    narrowed = binding is policy or selects(binding, ("spec", "matchResources", _SELECTOR), labels)
    return narrowed and selects(policy, ("spec", "matchConstraints", _SELECTOR), labels)


def _by_params(binding: Subject) -> bool:
    """Return whether a binding is only for namespaces in which somebody has put its params."""
    ref = binding.map("spec", "paramRef")
    return bool(ref) and "namespace" not in ref and ref.get("parameterNotFoundAction") == "Allow"


def _namespaced(policy: Subject) -> bool:
    """Return whether a policy has a rule for objects in namespaces."""
    for _, found in match_rules(policy):
        plain = {word.partition("/")[0] for word in words(found, "resources")}
        if found.get("scope") != "Cluster" and not plain <= CLUSTER_SCOPED:
            return True
    return False


def _asks_for_namespace(policy: Subject) -> bool:
    """Return whether a match condition tells namespaces apart, by name, by labels, or by the system's prefix."""
    conditions = (e.text for e in expressions(policy) if e.role == "matchConditions")
    return any(_NAMESPACES.search(text) for text in conditions)


@rule("SAF002", Severity.ERROR, "a policy must not match leases")
def leases(context: LintContext) -> Iterator[Finding]:
    """Every node renews its lease every ten seconds, and every controller holds its leadership by one. If a policy
    matches `coordination.k8s.io/leases`, mostly through `*`, it runs on each heartbeat: when it fails, nodes are
    considered dead.
    """
    for policy in policies(context):
        path = could_match(policy, "coordination.k8s.io", "leases")
        if path and not _conditions_leave_out(context, policy, _LEASE):
            hint = "list only the groups and resources you need, or exclude leases by excludeResourceRules"
            yield policy.finding(_place(policy, path), f"{policy} matches leases", hint)


@rule("SAF003", Severity.WARNING, "a policy must not match requests that Sluice itself needs")
def own_objects(context: LintContext) -> Iterator[Finding]:
    """A policy that matches Sluice's own kinds, or the Workloads that it writes, runs on every write of Sluice itself.
    When it denies or fails, jobs stop starting, and the rule file that would fix it may be denied as well. To check
    what others write, exclude the field manager `sluice` with a match condition.
    (Kubernetes exempts policies, their bindings and webhook registrations.)
    """
    for policy in policies(context):
        for group, resource, what in _OWN:
            if (path := could_match(policy, group, resource)) and not (
                resource == "workloads" and _conditions_leave_out(context, policy, _WORKLOAD, FIELD_MANAGER)
            ):
                hint = f"list only the groups and resources you need, or exclude {group}"
                yield policy.finding(_place(policy, path), f"{policy} matches {resource}: {what}", hint)
                break


def _conditions_leave_out(context: LintContext, policy: Subject, obj: dict[str, Any], manager: str = "") -> bool:
    """Return whether a match condition of the policy is false for an object, tried by the engine."""
    runner, sender, resources = trial_of(context), Sender("UPDATE", manager=manager), ResourceScopes()
    request = request_for(received(obj, resources, sender), resources, sender)
    for made in context.bundle.policies:
        if (made.name, made.mutating) != (policy.name, policy.gvk.kind == MUTATING) or not made.conditions:
            continue
        heard = runner.heard(made, runner.alone(made, CALL_LIMIT), request)  # it may ask the authorizer, which is dear
        return any(clause == "matchConditions" and outcome == "false" for clause, _, outcome in heard.seen)
    return False


def _place(policy: Subject, path: Path) -> Path:
    """Point at the wildcard of a rule, where it has one."""
    for field in ("resources", "apiGroups"):
        found = policy.at(*path, field)
        if isinstance(found, list) and ("*" in found or "*/*" in found):
            return (*path, field)
    return (*path, "resources")


@rule("SAF004", Severity.WARNING, "an error in a policy must not allow requests")
def ignored_failures(context: LintContext) -> Iterator[Finding]:
    """With `failurePolicy: Ignore` the request is allowed if an expression fails, as if there were no policy: a user
    who finds an object that makes it fail (a missing field is enough) is not checked at all. Guard the fields with
    `has()` or `?.`, and write `failurePolicy: Fail`.
    """
    for policy in policies(context):
        validating = policy.gvk.kind == VALIDATING
        if validating and policy.text("spec", "failurePolicy") == "Ignore" and enforced(context, policy):
            message = "the request is allowed if an expression fails"
            yield policy.finding(("spec", "failurePolicy"), message, "set failurePolicy: Fail")


RULES: Final[tuple[LintRule, ...]] = (system_namespaces, leases, own_objects, ignored_failures)
