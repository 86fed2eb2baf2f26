"""The wire form of admission.k8s.io/v1 AdmissionReview: reading a request, writing an answer. No policies here."""

from __future__ import annotations

import base64
from typing import Any, Final

import orjson

from webhook.admission.verdict import Verdict
from webhook.kube.gvk import GroupVersionKind, GroupVersionResource
from webhook.policy.request import Request

API_VERSION: Final = "admission.k8s.io/v1"
OPERATIONS: Final = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})
_HIDDEN: Final = frozenset({"object", "oldObject"})

__all__ = ["API_VERSION", "BadReview", "Request", "answer", "parse", "parse_bytes"]


class BadReview(Exception):
    """The body is not an AdmissionReview that we can answer (HTTP 400); the text says what is wrong."""


def parse_bytes(body: bytes) -> Request:
    """Read an AdmissionReview from its JSON text. Raises BadReview."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadReview(f"the body is not JSON: {error}") from None
    return parse(document)


def parse(document: Any) -> Request:
    """Read an AdmissionReview from its parsed JSON. Raises BadReview."""
    if not isinstance(document, dict):
        raise BadReview("the body is not a JSON object")
    if (kind := document.get("kind")) != "AdmissionReview":
        raise BadReview(f'kind is {_shown(kind)}, not "AdmissionReview"')
    if (version := document.get("apiVersion")) != API_VERSION:
        raise BadReview(f'apiVersion is {_shown(version)}; only "{API_VERSION}" is spoken here')
    raw = document.get("request")
    if not isinstance(raw, dict):
        raise BadReview("the review has no request")
    return _request(raw)


def _request(raw: dict[str, Any]) -> Request:
    operation, user = raw.get("operation"), raw.get("userInfo")
    if not isinstance(operation, str) or operation not in OPERATIONS:
        raise BadReview(f"request.operation is {_shown(operation)}")
    kind, resource = raw.get("requestKind"), raw.get("requestResource")
    return Request(
        uid=_string(raw, "uid", required=True),
        kind=_kind(raw.get("kind"), "kind"),
        resource=_resource(raw.get("resource"), "resource"),
        operation=operation,
        object=_object(raw, "object", required=operation in ("CREATE", "UPDATE")),
        old_object=_object(raw, "oldObject", required=operation in ("UPDATE", "DELETE")),
        sub_resource=_string(raw, "subResource"),
        name=_string(raw, "name"),
        namespace=_string(raw, "namespace"),
        user_info=user if isinstance(user, dict) else {},
        dry_run=raw.get("dryRun") is True,
        options=_object(raw, "options"),
        request_kind=None if kind is None else _kind(kind, "requestKind"),
        request_resource=None if resource is None else _resource(resource, "requestResource"),
        request_sub_resource=_string(raw, "requestSubResource"),
        attributes={k: v for k, v in raw.items() if k not in _HIDDEN},
    )


def _string(raw: dict[str, Any], field: str, *, required: bool = False) -> str:
    value = raw.get(field)
    if value is None and not required:
        return ""
    if not isinstance(value, str) or (required and not value):
        raise BadReview(f"request.{field} is {_shown(value)}, not a string")
    return value


def _object(raw: dict[str, Any], field: str, *, required: bool = False) -> dict[str, Any] | None:
    value = raw.get(field)
    if value is None:
        if required:
            raise BadReview(f"request.{field} is missing in a {raw.get('operation')} request")
        return None
    if not isinstance(value, dict):
        raise BadReview(f"request.{field} is {_shown(value)}, not an object")
    return value


def _triple(value: Any, field: str, last: str) -> tuple[str, str, str]:
    if not isinstance(value, dict):
        raise BadReview(f"request.{field} is missing")
    parts = (value.get("group") or "", value.get("version"), value.get(last))
    if not all(isinstance(p, str) for p in parts) or not parts[1] or not parts[2]:
        raise BadReview(f"request.{field} needs group, version and {last}")
    return str(parts[0]), str(parts[1]), str(parts[2])


def _kind(value: Any, field: str) -> GroupVersionKind:
    return GroupVersionKind(*_triple(value, field, "kind"))


def _resource(value: Any, field: str) -> GroupVersionResource:
    return GroupVersionResource(*_triple(value, field, "resource"))


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, str) else f'"{value}"'
    return text if len(text) <= 60 else text[:57] + "..."


def answer(uid: str, verdict: Verdict) -> dict[str, Any]:
    """Give the AdmissionReview that answers the request `uid`.

    A slash in an annotation's key becomes a dot: the API server puts the webhook's name before it, and a slash between.
    """
    response: dict[str, Any] = {"uid": uid, "allowed": verdict.allowed}
    if not verdict.allowed:
        response["status"] = {
            "code": verdict.code,
            "reason": verdict.reason,
            "message": verdict.message,
            "status": "Failure",
        }
    elif verdict.patch:
        response["patchType"] = "JSONPatch"
        steps = orjson.dumps([operation.wire() for operation in verdict.patch])
        response["patch"] = base64.b64encode(steps).decode("ascii")
    if verdict.warnings:
        response["warnings"] = list(verdict.warnings)
    if verdict.audit_annotations:
        response["auditAnnotations"] = {k.replace("/", "."): v for k, v in verdict.audit_annotations.items()}
    return {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response}
