"""Rules for bypasses: ways to use the cluster without its quota and its policies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from webhook.api.requests import pod_requests, with_defaults
from webhook.diagnostics import Severity
from webhook.jobs.job import JobPodSet
from webhook.jobs.read_job import QUEUE
from webhook.kube.quantity import QuantityError
from webhook.offline.lint.context import Finding, LintContext, LintRule, Subject, rule
from webhook.offline.lint.reading.policies import PolicyExpression, enforced, expressions, match_rules, policies, words
from webhook.offline.lint.rules.jobs import in_namespace, jobs
from webhook.policy.loading.policy_kinds import VALIDATING

_CONTAINERS: Final = re.compile(r"(?:\.\??|\[\??['\"])containers\b(?!['\"]?\]?\.size\(\)|['\"]?\]?\))")
_POD_SPEC: Final = re.compile(r"[A-Za-z_]\w*(\.\??[A-Za-z_]\w*)*\.\??$")
"""What stands before `containers`: fields all the way."""
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
    """Yield the validating policies that refuse."""
    for policy in policies(context):
        if policy.gvk.kind == VALIDATING and enforced(context, policy):
            yield policy


@rule("BYP001", Severity.WARNING, "a queued job must set resource requests")
def zero_requests(context: LintContext) -> Iterator[Finding]:
    """Quota is counted from requests. A job without requests uses no quota: it is admitted at once, and its pods then
    compete with those of other jobs. Set requests, or add a LimitRange with `defaultRequest` to the namespace.
    """
    for subject, job in jobs(context):
        if not job.queue:
            continue
        ranges = [s.value for s in context.of("", "LimitRange") if in_namespace(s) == in_namespace(subject)]
        for pods in job.pod_sets:
            if pods.count and not _asks(pods, ranges):
                message = f'pod set "{pods.name}" has no resource requests, so it uses no quota'
                hint = "add resources.requests to its containers"
                yield subject.finding((*pods.path, "spec", "containers"), message, hint, key=True)


def _asks(pods: JobPodSet, ranges: list[dict[str, Any]]) -> bool:
    """Return whether pods ask for something; what cannot be read counts as asking (it is another finding)."""
    spec = pods.template.get("spec")
    if not isinstance(spec, dict) or not spec.get("containers"):
        return True
    try:
        return any(pod_requests(with_defaults(spec, ranges)).values())
    except (AttributeError, TypeError, ValueError, QuantityError):
        return True


def code(text: str) -> str:
    """Return an expression without its comments; what stays is where it was."""
    return _COMMENT.sub(lambda found: found[0] if found[1] else " " * len(found[0]), text)


@rule("BYP002", Severity.WARNING, "a policy must cover init containers")
def init_containers(context: LintContext) -> Iterator[Finding]:
    """A policy over `spec.containers` alone does not cover `spec.initContainers`: the same image, device or privilege
    is allowed there. (Ephemeral containers have no resources, but an image and privileges.)
    """
    for policy in policies(context):
        found = list(expressions(policy))
        if any("initContainers" in code(e.text) for e in found):
            continue
        for expression in found:
            match = _CONTAINERS.search(code(expression.text))
            if match and expression.role != "matchConditions" and not _NO_INIT.search(expression.text):
                message = "only containers are checked; initContainers are not"
                spec = _POD_SPEC.search(expression.text[: match.end() - 10])
                spec_path = spec[0].rstrip("?.") if spec else "object.spec"
                hint = f"({spec_path}.containers + {spec_path}.?initContainers.orValue([])).all(c, ...)"
                yield policy.finding(expression.path, message, hint, span=(match.end() - 10, 10))
                break


@rule("BYP003", Severity.WARNING, "a user-written label must not exempt an object from a policy")
def object_selector(context: LintContext) -> Iterator[Finding]:
    """The requester writes the labels of an object. A denying policy with an `objectSelector`, or with a match
    condition such as `!("skip" in object.metadata.labels)`, can be bypassed by adding or removing a label. Select
    by namespace, whose labels users cannot change.
    """
    for policy in _denying(context):
        for subject, where in (
            (policy, "matchConstraints"),
            *((b, "matchResources") for b in enforced(context, policy)),
        ):
            if subject.map("spec", where, "objectSelector"):
                message = "objectSelector matches labels that the requester controls"
                hint = "select by namespaceSelector or resourceRules; use objectSelector to opt in only"
                yield subject.finding(("spec", where, "objectSelector"), message, hint, key=True)
        for expression in expressions(policy):
            match = _EXEMPT.search(code(expression.text)) if expression.role == "matchConditions" else None
            if match:
                message = f"any requester can skip this policy by setting the {match[1][:-1]}"
                hint = "use a PolicyException for named objects, or select by namespace"
                yield policy.finding(expression.path, message, hint, span=(match.start(1), len(match[1])))


def _operations(policy: Subject) -> set[str]:
    return {word for _, found in match_rules(policy) for word in words(found, "operations")}


def _resources(policy: Subject) -> set[str]:
    return {word for _, found in match_rules(policy) for word in words(found, "resources")}


@rule("BYP004", Severity.WARNING, "a required label must be checked on UPDATE too")
def label_removal(context: LintContext) -> Iterator[Finding]:
    """Labels can be changed on any object at any time. A policy that requires a label on CREATE only can be bypassed
    by an update that removes it: without the queue name a job runs outside its quota.
    """
    guarded = {
        r for p in policies(context) if _reads_labels(p) and {"UPDATE", "*"} & _operations(p) for r in _resources(p)
    }
    for policy in _denying(context):
        found = _reads_labels(policy)
        if found is None or {"UPDATE", "*"} & _operations(policy) or _resources(policy) <= guarded:
            continue
        expression, match = found
        message = f"{match[0]} is checked on CREATE only" if match[0] == QUEUE else "labels are checked on CREATE only"
        span = (match.start(), len(match[0]))
        yield policy.finding(expression.path, message, "add UPDATE to operations", span=span)


def _reads_labels(policy: Subject) -> tuple[PolicyExpression, re.Match[str]] | None:
    """Return the first expression that reads the queue's name, else the first that reads any label."""
    found = [e for e in expressions(policy) if e.role != "matchConditions"]
    for pattern in (_QUEUE, _LABELS):
        for expression in found:
            if match := pattern.search(code(expression.text)):
                return expression, match
    return None


@rule("BYP005", Severity.WARNING, "a mutable field must be checked on UPDATE too")
def create_only(context: LintContext) -> Iterator[Finding]:
    """The pod templates of Deployments, StatefulSets, CronJobs and others can change after creation. A policy that
    checks them on CREATE only can be bypassed by an update.
    """
    for policy in _denying(context):
        if "pods" in _resources(policy):
            continue
        for path, found in match_rules(policy):
            mutable = sorted(_MUTABLE & set(words(found, "resources")))
            if mutable and words(found, "operations") == ["CREATE"]:
                message = f"{', '.join(mutable)} can change after CREATE"
                yield policy.finding((*path, "operations"), message, "add UPDATE to operations")


@rule("BYP006", Severity.WARNING, "an ownerReference must not exempt an object from a policy")
def forged_owner(context: LintContext) -> Iterator[Finding]:
    """Any requester can set `metadata.ownerReferences`, so any requester can bypass a policy that exempts objects with
    an owner. With the annotation `sluice.dev/skip: owned-by-workload` an owner counts only if it exists (with this UID,
    name and namespace), if its controller creates objects of this kind (a Job creates Pods, not Jobs), if it is not
    finished, and if it is queued or admitted. Objects of a job that is only queued must be suspended too. All other
    objects are queued as if they had no owner.
    """
    for policy in policies(context):
        for expression in expressions(policy):
            if match := _OWNERS.search(code(expression.text)):
                message = "any requester can write an ownerReference"
                hint = "use the annotation sluice.dev/skip: owned-by-workload, which checks that the owner has quota"
                yield policy.finding(expression.path, message, hint, span=(match.start(), len(match[0])))
                break


@rule("BYP007", Severity.WARNING, "a manifest must not set ownerReferences")
def owner_in_file(context: LintContext) -> Iterator[Finding]:
    """Controllers write ownerReferences, with the UID of an existing object. In a file the UID is from another cluster
    or another time: the garbage collector deletes the object, and the reference gives no exemption.
    """
    for subject, _ in jobs(context):
        if next(subject.each("metadata", "ownerReferences"), None) and not subject.map("status"):
            message = f"{subject} sets ownerReferences"
            yield subject.finding(("metadata", "ownerReferences"), message, "remove it", key=True)


@rule("BYP008", Severity.WARNING, "a queued pod must not set nodeName")
def own_node(context: LintContext) -> Iterator[Finding]:
    """`spec.nodeName` bypasses the scheduler: it ignores the taints and the free capacity of the node. A Pod that sets
    it cannot have a scheduling gate (the API server rejects both together), so it runs at once, outside the quota of
    its queue. The pods of a job do wait for quota, but are then bound to that node whatever their flavor is, and fail
    if the node lacks the labels of the flavor or has no capacity. Use a nodeSelector instead.
    """
    for subject, job in jobs(context):
        if not job.queue or subject.map("status"):
            continue
        for pods in job.pod_sets:
            path = (*pods.path, "spec", "nodeName")
            if name := subject.text(*path):
                waits = (
                    "it does not wait for quota" if job.kind.gate else "the node selection of its flavor is bypassed"
                )
                hint = f"nodeSelector: {{kubernetes.io/hostname: {name}}}"
                yield subject.finding(path, f"{subject} sets nodeName: {waits}", hint, key=True)


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
