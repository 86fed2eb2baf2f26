"""Rules for holes: ways to use the cluster past its quota and its policies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from webhook.api.requests import pod_requests, with_defaults
from webhook.diagnostics import Severity
from webhook.jobs.describe import QUEUE
from webhook.jobs.job import JobPodSet
from webhook.kube.quantity import QuantityError
from webhook.offline.lint.context import Finding, LintContext, LintRule, Subject, rule
from webhook.offline.lint.reading.policies import PolicyExpression, enforced, expressions, match_rules, policies, words
from webhook.offline.lint.rules.jobs import in_namespace, jobs
from webhook.policy.loading.policy_kinds import VALIDATING

_CONTAINERS: Final = re.compile(r"(?:\.\??|\[\??['\"])containers\b(?!['\"]?\]?\.size\(\)|['\"]?\]?\))")
_COMMENT: Final = re.compile(r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|//[^\n]*""")
_NO_INIT: Final = re.compile(r"Probe|lifecycle|\bports\b")
_OWNERS: Final = re.compile(r"\bownerReferences\b(?!(?:\.orValue\(\[\]\))?\.all\()")
_QUEUE: Final = re.compile(re.escape(QUEUE))
_LABELS: Final = re.compile(r"(?<=object\.metadata\.)\??labels\b|(?<=object\.\?metadata\.)\??labels\b")
_EXEMPT: Final = re.compile(r"!\s*\(?[^&|]*\bobject\.\??metadata\.\??(labels|annotations)\b")
_MUTABLE: Final = frozenset(
    {
        "deployments",
        "statefulsets",
        "daemonsets",
        "replicasets",
        "cronjobs",
        "services",
        "ingresses",
        "configmaps",
        "namespaces",
        "rayclusters",
        "rayservices",
        "leaderworkersets",
        "notebooks",
    }
)


def _denying(context: LintContext) -> Iterator[Subject]:
    """Give the validating policies that refuse."""
    for policy in policies(context):
        if policy.gvk.kind == VALIDATING and enforced(context, policy):
            yield policy


@rule("BYP001", Severity.WARNING, "a queued job asks for what it uses")
def zero_requests(context: LintContext) -> Iterator[Finding]:
    """Quota is counted from requests. A job without any takes no quota: it is admitted at once, whatever the queue
    holds, and its pods then compete with those that waited. Give requests, or a LimitRange with `defaultRequest` in
    the namespace.
    """
    for subject, job in jobs(context):
        if not job.queue:
            continue
        ranges = [s.value for s in context.of("", "LimitRange") if in_namespace(s) == in_namespace(subject)]
        for pods in job.pod_sets:
            if pods.count and not _asks(pods, ranges):
                message = f'the pods of "{pods.name}" ask for nothing: they take no quota'
                hint = "add resources.requests to their containers"
                yield subject.finding((*pods.path, "spec", "containers"), message, hint, key=True)


def _asks(pods: JobPodSet, ranges: list[dict[str, Any]]) -> bool:
    """Say whether pods ask for something; what cannot be read counts as asking (it is another finding)."""
    spec = pods.template.get("spec")
    if not isinstance(spec, dict) or not spec.get("containers"):
        return True
    try:
        return any(pod_requests(with_defaults(spec, ranges)).values())
    except (AttributeError, TypeError, ValueError, QuantityError):
        return True


def code(text: str) -> str:
    """Give an expression without its comments; what stays is where it was."""
    return _COMMENT.sub(lambda found: found[0] if found[1] else " " * len(found[0]), text)


@rule("BYP002", Severity.WARNING, "init containers are looked at as well")
def init_containers(context: LintContext) -> Iterator[Finding]:
    """A policy over `spec.containers` alone does not see `spec.initContainers`: the same image, the same device or
    the same privilege passes there. (Ephemeral containers have no resources, but an image and privileges.)
    """
    for policy in policies(context):
        found = list(expressions(policy))
        if any("initContainers" in code(e.text) for e in found):
            continue
        for expression in found:
            match = _CONTAINERS.search(code(expression.text))
            if match and expression.role != "matchConditions" and not _NO_INIT.search(expression.text):
                message = "containers are looked at, initContainers are not"
                hint = "(object.spec.containers + object.spec.?initContainers.orValue([])).all(c, ...)"
                yield policy.finding(expression.path, message, hint, span=(match.end() - 10, 10))
                break


@rule("BYP003", Severity.WARNING, "nobody chooses by a label whether a policy applies to him")
def object_selector(context: LintContext) -> Iterator[Finding]:
    """Labels are written by whoever sends the object. A policy that refuses, with an `objectSelector`, is escaped by
    leaving a label out or adding one, and so is one with a match condition such as `!("skip" in
    object.metadata.labels)`. Select by namespace, whose labels users cannot write.
    """
    for policy in _denying(context):
        for subject, where in (
            (policy, "matchConstraints"),
            *((b, "matchResources") for b in enforced(context, policy)),
        ):
            if subject.map("spec", where, "objectSelector"):
                message = "an objectSelector goes by labels that the requester writes"
                hint = "select by namespaceSelector or resourceRules; use objectSelector to opt in only"
                yield subject.finding(("spec", where, "objectSelector"), message, hint, key=True)
        for expression in expressions(policy):
            match = _EXEMPT.search(code(expression.text)) if expression.role == "matchConditions" else None
            if match:
                message = f"whoever writes the {match[1][:-1]} is not looked at"
                hint = "let a PolicyException free named objects, or select namespaces"
                yield policy.finding(expression.path, message, hint, span=(match.start(1), len(match[1])))


def _operations(policy: Subject) -> set[str]:
    return {word for _, found in match_rules(policy) for word in words(found, "operations")}


def _resources(policy: Subject) -> set[str]:
    return {word for _, found in match_rules(policy) for word in words(found, "resources")}


@rule("BYP004", Severity.WARNING, "a required label cannot be removed later")
def label_removal(context: LintContext) -> Iterator[Finding]:
    """Labels can be changed on any object at any time. A policy that asks for one on CREATE only is escaped by an
    update that takes it away: without the queue's name a job runs past its quota.
    """
    guarded = {
        r for p in policies(context) if _reads_labels(p) and {"UPDATE", "*"} & _operations(p) for r in _resources(p)
    }
    for policy in _denying(context):
        found = _reads_labels(policy)
        if found is None or {"UPDATE", "*"} & _operations(policy) or _resources(policy) <= guarded:
            continue
        expression, match = found
        message = (
            f"{match[0]} is looked at on CREATE only" if match[0] == QUEUE else "labels are looked at on CREATE only"
        )
        span = (match.start(), len(match[0]))
        yield policy.finding(expression.path, message, "add UPDATE to operations", span=span)


def _reads_labels(policy: Subject) -> tuple[PolicyExpression, re.Match[str]] | None:
    """Give the first expression that reads the queue's name, else the first that reads any label."""
    found = [e for e in expressions(policy) if e.role != "matchConditions"]
    for pattern in (_QUEUE, _LABELS):
        for expression in found:
            if match := pattern.search(code(expression.text)):
                return expression, match
    return None


@rule("BYP005", Severity.WARNING, "what can be changed is checked when it changes")
def create_only(context: LintContext) -> Iterator[Finding]:
    """The pod templates of Deployments, StatefulSets, CronJobs and others can be changed after they were made. A
    policy for them on CREATE only lets a clean object in, which then becomes what it wants.
    """
    for policy in _denying(context):
        if "pods" in _resources(policy):
            continue
        for path, found in match_rules(policy):
            mutable = sorted(_MUTABLE & set(words(found, "resources")))
            if mutable and words(found, "operations") == ["CREATE"]:
                message = f"{', '.join(mutable)} can be changed after CREATE"
                yield policy.finding((*path, "operations"), message, "add UPDATE to operations")


@rule("BYP006", Severity.WARNING, "nobody is freed by an ownerReference that he wrote himself")
def forged_owner(context: LintContext) -> Iterator[Finding]:
    """`metadata.ownerReferences` is a field like any other: whoever creates a pod can write one. A policy that lets
    an object pass because it has an owner lets everybody pass. With the annotation `sluice.dev/skip:
    owned-by-workload` an owner counts only where it is there (by UID, name and namespace), its controller makes objects
    of this kind (a Job makes Pods, and no Jobs), it has not ended, and a queue holds it or has admitted it. What a held
    job's controller makes counts where it is suspended as well. Anything else is held and queued like anyone's.
    """
    for policy in policies(context):
        for expression in expressions(policy):
            if match := _OWNERS.search(code(expression.text)):
                message = "an ownerReference can be written by anybody"
                hint = "use the annotation sluice.dev/skip: owned-by-workload, which asks whether the owner has quota"
                yield policy.finding(expression.path, message, hint, span=(match.start(), len(match[0])))
                break


@rule("BYP007", Severity.WARNING, "a manifest does not claim an owner")
def owner_in_file(context: LintContext) -> Iterator[Finding]:
    """Owners are written by controllers, with the UID of an object that exists. In a file the UID is of another
    cluster or another time: the garbage collector deletes the object, and no exemption comes of it.
    """
    for subject, _ in jobs(context):
        if next(subject.each("metadata", "ownerReferences"), None) and not subject.map("status"):
            message = f"{subject} claims an owner"
            yield subject.finding(("metadata", "ownerReferences"), message, "remove it", key=True)


@rule("BYP008", Severity.WARNING, "a queued pod leaves its node to the scheduler")
def own_node(context: LintContext) -> Iterator[Finding]:
    """`spec.nodeName` goes around the scheduler: the node's taints and what is left on it are not asked. A Pod with it
    cannot wait behind a scheduling gate (the API server refuses both together), so that it runs at once, outside of
    its queue's quota. The pods of a job do wait for their quota; then they are sent to that node, whatever flavor was
    given to them, and fail where the node does not have its labels or no room. Ask for a node by a nodeSelector.
    """
    for subject, job in jobs(context):
        if not job.queue or subject.map("status"):
            continue
        for pods in job.pod_sets:
            path = (*pods.path, "spec", "nodeName")
            if name := subject.text(*path):
                waits = "it does not wait for its quota" if job.kind.gate else "its flavor's nodes are not asked"
                hint = f"nodeSelector: {{kubernetes.io/hostname: {name}}}"
                yield subject.finding(path, f"{subject} names its node: {waits}", hint, key=True)


RULES: Final[tuple[LintRule, ...]] = (
    zero_requests,
    init_containers,
    object_selector,
    label_removal,
    create_only,
    forged_owner,
    owner_in_file,
    own_node,
)
