"""Explains why a policy does not match a request: the first criterion that does not hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from webhook.jobs.normalise import normalise
from webhook.offline.lint.rules.unreachable import RESOURCES
from webhook.policy.bundle import Bundle
from webhook.policy.evaluation.review_context import ReviewContext
from webhook.policy.facts import Facts
from webhook.policy.match_resources import MatchResources, RequestMatcher, ResourceOperation, ResourceRule
from webhook.policy.matching.exceptions import excused
from webhook.policy.matching.index import entry_for, targets_of
from webhook.policy.model import Policy
from webhook.policy.pod_templates import Targets
from webhook.policy.request import Request

_MOST: Final = 5
"""Names that are listed; the others are counted."""


def no_match(policy: Policy, request: Request, facts: Facts, bundle: Bundle, now: float) -> str:
    """Return why a policy says nothing about a request; `now` is in seconds, for exceptions."""
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
        return _rules(policy.match, targets_of(policy, target)) or "no binding matches this request"
    if policy.skip_unmanaged and not context.is_held():
        return "the queue settings exclude this kind or namespace"
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


def _rules(match: MatchResources, targets: tuple[ResourceOperation, ...]) -> str:
    """Return how the resource rules differ from the request, which goes by its last target; empty if they do not."""
    asked = targets[-1]
    if any(rule.fits(target) for rule in match.excludes for target in targets):
        return f"excludeResourceRules exclude {asked.resource}"
    if not match.rules or match.narrow(targets) is not None:
        return ""
    about = [rule for rule in match.rules if any(_fits_but_for_operation(rule, target) for target in targets)]
    if not about:
        if any("core" in rule.groups for rule in match.rules):
            return 'its rules name the group "core"; write the core group as ""'
        return f"it does not match {_full(asked)}; its rules match {_listed(_kinds(match.rules))}"
    if not any(rule.fits(target, any_version=True) for rule in about for target in targets):
        operations = {operation for rule in about for operation in rule.operations}
        return f"it does not match {asked.operation}; its rules match {_listed(operations)}"
    versions = {version for rule in about for version in rule.versions}
    return f"it does not match version {asked.version}; its rules match {_listed(versions)}"


def _fits_but_for_operation(rule: ResourceRule, target: ResourceOperation) -> bool:
    return any(rule.fits(replace(target, operation=own), any_version=True) for own in rule.operations)


def _kinds(rules: Iterable[ResourceRule]) -> set[str]:
    """Name the resources of rules: each group with each resource, but those that are known to be of another group."""
    found = set()
    for rule in rules:
        known = {name for group in rule.groups for name in RESOURCES.get(group, ())}
        for group in rule.groups:
            for name, part in rule.resources:
                if name not in known or name in RESOURCES.get(group, ()):
                    found.add(_named(name, group, part))
    return found


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = len(ordered) - _MOST
    return ", ".join(ordered[:_MOST]) + (f" and {more} more" if more > 0 else "")


def _full(target: ResourceOperation) -> str:
    return _named(target.resource, target.group, target.sub_resource)


def _named(resource: str, group: str, part: str) -> str:
    name = f"{resource}.{group}" if group else resource
    return f"{name}/{part}" if part else name


def _matcher(match: MatchResources, matcher: RequestMatcher, context: ReviewContext) -> str:
    """Return the selector that does not match the request; empty if all do."""
    labels = context.namespace_labels()
    if labels is not None and not matcher.in_namespace(labels):
        shown = ", ".join(f"{k}={v}" for k, v in sorted(labels.items())) or "none"
        return f'namespaceSelector does not match namespace "{context.request.namespace}" (labels: {shown})'
    if not matcher.named(context.request):
        return "resourceNames or scope do not match"
    if not matcher.selects(context.targets.object, context.targets.old):
        return "objectSelector does not match the object's labels"
    return ""
