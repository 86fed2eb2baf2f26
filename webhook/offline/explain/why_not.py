"""Why a policy is not for a request: the first thing that keeps them apart, in words."""

from __future__ import annotations

from webhook.jobs.normalise import normalise
from webhook.policy.bundle import Bundle
from webhook.policy.evaluation.review_context import ReviewContext
from webhook.policy.facts import Facts
from webhook.policy.match_resources import MatchResources, RequestMatcher, ResourceOperation, ResourceRule
from webhook.policy.matching.exceptions import excused
from webhook.policy.matching.index import entry_for
from webhook.policy.model import Policy
from webhook.policy.pod_templates import Targets
from webhook.policy.request import Request


def why_not(policy: Policy, request: Request, facts: Facts, bundle: Bundle, now: float) -> str:
    """Say why a policy says nothing about a request; `now` is in seconds, for exceptions."""
    obj = None if request.object is None else normalise(request.object)
    old = None if request.old_object is None else normalise(request.old_object)
    context = ReviewContext(request, facts, Targets(obj, old))
    target = ResourceOperation.of(request)
    if policy.name in excused(bundle.exceptions, request, obj, old, now):
        return "an exception exempts the request"
    if not policy.bindings:
        return "it has no binding"
    entry = entry_for(policy, target)
    if entry is None:
        return _rules(policy.match, target) or "no binding matches this request"
    if policy.skip_unmanaged and not context.is_held():
        return "the settings of the queues leave out objects of this kind, or in this namespace"
    if policy.skip_owned and context.look_for_owner():
        return "the object belongs to a job that is evaluated as a whole"
    if reason := _matcher(policy.match, entry.matcher, context):
        return reason
    for binding, matcher in entry.bindings:
        if matcher is not None and binding.match is not None and (reason := _matcher(binding.match, matcher, context)):
            return f"binding {binding.name}: {reason}"
    if policy.param_kind is not None:
        if facts.scope(policy.param_kind) is None:
            return f"its paramKind {policy.param_kind} is not served, and its failurePolicy is Ignore"
        return f"no {policy.param_kind.kind} was found, and parameterNotFoundAction is Allow"
    return "nothing was evaluated"


def _rules(match: MatchResources, target: ResourceOperation) -> str:
    """Say in what the resource rules differ from the request."""
    if any(rule.fits(target) for rule in match.excludes):
        return f"excludeResourceRules exclude {target.resource}"
    about = [rule for rule in match.rules if _names(rule, target)]
    if not about:
        if any("core" in rule.groups for rule in match.rules):
            return 'its rules name the group "core"; write the core group as ""'
        names = sorted({_named(name, group) for r in match.rules for name, _ in r.resources for group in r.groups})
        return f"its rules match {', '.join(names)}, not {_full(target)}"
    operations = sorted({o for rule in about for o in rule.operations})
    if target.operation not in operations and "*" not in operations:
        return f"its rules match {', '.join(operations)}, not {target.operation}"
    return ""


def _names(rule: ResourceRule, target: ResourceOperation) -> bool:
    return bool({"*", target.group} & rule.groups) and any(
        r in ("*", target.resource) and s in ("*", target.sub_resource) for r, s in rule.resources
    )


def _named(resource: str, group: str) -> str:
    return f"{resource}.{group}" if group else resource


def _full(target: ResourceOperation) -> str:
    name = _named(target.resource, target.group)
    return f"{name}/{target.sub_resource}" if target.sub_resource else name


def _matcher(match: MatchResources, matcher: RequestMatcher, context: ReviewContext) -> str:
    """Say which selector does not take the request; empty where all do."""
    labels = context.namespace_labels()
    if labels is not None and not matcher.in_namespace(labels):
        shown = ", ".join(f"{k}={v}" for k, v in sorted(labels.items())) or "none"
        return f'namespaceSelector does not match namespace "{context.request.namespace}" (labels: {shown})'
    if not matcher.named(context.request):
        return "resourceNames or scope do not match"
    if not matcher.selects(context.targets.object, context.targets.old):
        return "objectSelector does not match the object's labels"
    return ""
