"""The wire format of admission.k8s.io/v1 AdmissionReview: parses requests and builds responses."""

from __future__ import annotations

import json
from binascii import b2a_base64
from typing import Any, Final

import orjson

from webhook.admission.verdict import Verdict
from webhook.kube.gvk import GroupVersionKind, GroupVersionResource, kind_named, resource_named
from webhook.policy.request import Request

API_VERSION: Final = "admission.k8s.io/v1"
OPERATIONS: Final = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})

__all__ = ["API_VERSION", "BadReview", "Request", "answer", "parse"]


class BadReview(Exception):
    """The body is not a valid AdmissionReview (HTTP 400); the text says what is wrong."""


def parse(document: Any) -> Request:
    """Parse an AdmissionReview from its decoded JSON. Raises BadReview."""
    if not isinstance(document, dict):
        raise BadReview("the body is not a JSON object")
    if (kind := document.get("kind")) != "AdmissionReview":
        raise BadReview(f'kind is {_shown(kind)}; expected "AdmissionReview"')
    if (version := document.get("apiVersion")) != API_VERSION:
        raise BadReview(f'apiVersion is {_shown(version)}; expected "{API_VERSION}"')
    raw = document.get("request")
    if not isinstance(raw, dict):
        raise BadReview("the review has no request")
    return _request(raw)


def _request(raw: dict[str, Any]) -> Request:
    operation, user = raw.get("operation"), raw.get("userInfo")
    if not isinstance(operation, str) or operation not in OPERATIONS:
        raise BadReview(f"request.operation is {_shown(operation)}; expected CREATE, UPDATE, DELETE or CONNECT")
    named, listed = raw.get("kind"), raw.get("resource")
    kind, resource = _kind(named, "kind"), _resource(listed, "resource")
    asked, wanted = raw.get("requestKind"), raw.get("requestResource")
    request_kind = kind if asked == named else None if asked is None else _kind(asked, "requestKind")
    request_resource = (
        resource if wanted == listed else None if wanted is None else _resource(wanted, "requestResource")
    )
    attributes = raw.copy()
    attributes.pop("object", None)
    attributes.pop("oldObject", None)
    return Request(
        _string(raw, "uid", required=True),
        kind,
        resource,
        operation,
        _object(raw, "object", required=operation in ("CREATE", "UPDATE")),
        _object(raw, "oldObject", required=operation in ("UPDATE", "DELETE")),
        _string(raw, "subResource"),
        _string(raw, "name"),
        _string(raw, "namespace"),
        user if isinstance(user, dict) else {},
        raw.get("dryRun") is True,
        _object(raw, "options"),
        request_kind,
        request_resource,
        attributes,
    )


def _string(raw: dict[str, Any], field: str, *, required: bool = False) -> str:
    value = raw.get(field)
    if type(value) is str and value:
        return value
    if required or (value is not None and value != ""):
        raise BadReview(f"request.{field} is {_shown(value)}; expected a string")
    return ""


def _object(raw: dict[str, Any], field: str, *, required: bool = False) -> dict[str, Any] | None:
    value = raw.get(field)
    if type(value) is dict:
        return value
    if value is not None:
        raise BadReview(f"request.{field} is {_shown(value)}; expected an object")
    if required:
        raise BadReview(f"request.{field} is required for {raw.get('operation')}")
    return None


def _triple(value: Any, field: str, last: str) -> tuple[str, str, str]:
    if not isinstance(value, dict):
        raise BadReview(f"request.{field} is missing")
    group, version, name = value.get("group") or "", value.get("version"), value.get(last)
    if type(group) is str and type(version) is str and type(name) is str and version and name:
        return group, version, name
    raise BadReview(f"request.{field} needs group, version and {last}")


def _kind(value: Any, field: str) -> GroupVersionKind:
    return kind_named(*_triple(value, field, "kind"))


def _resource(value: Any, field: str) -> GroupVersionResource:
    return resource_named(*_triple(value, field, "resource"))


def _shown(value: Any) -> str:
    """Return a value as the body has it; of an array or an object only what it is."""
    if isinstance(value, list | dict):
        return "an array" if isinstance(value, list) else "an object"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def answer(uid: str, verdict: Verdict) -> dict[str, Any]:
    """Return the AdmissionReview response to the request `uid`.

    A slash in an annotation's key becomes a dot: the API server prepends the webhook's name and a slash.
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
        response["patch"] = b2a_base64(steps, newline=False).decode("ascii")
    if verdict.warnings:
        response["warnings"] = list(verdict.warnings)
    if verdict.audit_annotations:
        response["auditAnnotations"] = {k.replace("/", "."): v for k, v in verdict.audit_annotations.items()}
    return {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response}
