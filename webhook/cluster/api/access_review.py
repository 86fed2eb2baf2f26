"""Builds the SubjectAccessReview that asks whether a user may do something. Pure."""

from __future__ import annotations

from typing import Any

from webhook.policy.facts import Check
from webhook.store.objects import Object


def access_review(check: Check) -> Object:
    """Return the SubjectAccessReview (authorization.k8s.io/v1) for an authorization check."""
    spec: dict[str, Any] = {"user": check.user, "groups": list(check.groups)}
    if check.user_uid:
        spec["uid"] = check.user_uid
    if check.extra:
        spec["extra"] = {key: list(values) for key, values in check.extra}
    if check.path:
        spec["nonResourceAttributes"] = {"path": check.path, "verb": check.verb}
    else:
        spec["resourceAttributes"] = _resource_attributes(check)
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {}, "spec": spec}


def _resource_attributes(check: Check) -> dict[str, Any]:
    texts: dict[str, Any] = {
        "verb": check.verb,
        "group": check.group,
        "version": check.version,
        "resource": check.resource,
        "subresource": check.subresource,
        "namespace": check.namespace,
        "name": check.name,
    }
    attributes = {key: text for key, text in texts.items() if text}
    if check.field_selector:
        attributes["fieldSelector"] = {"rawSelector": check.field_selector}
    if check.label_selector:
        attributes["labelSelector"] = {"rawSelector": check.label_selector}
    return attributes
