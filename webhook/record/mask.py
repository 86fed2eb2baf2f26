"""Masks secrets in recorded reviews: data of Secrets, values of environment variables, embedded copies of objects.

Values become `***`; the structure stays, so that policies that only test for presence give the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from webhook.kube.absent import ABSENT
from webhook.kube.json_patch import Operation, split
from webhook.policy.request import Request

MASK: Final = "***"
ENCODED: Final = "Kioq"
"""`***` in base64, which the data of a Secret has to be."""
_COPY: Final = "kubectl.kubernetes.io/last-applied-configuration"
_SECRET_FIELDS: Final = {"data": ENCODED, "stringData": MASK}
_VARIABLES: Final = frozenset({"env", "envVars", "env_vars"})
"""Lists of variables, and maps of them as in a SparkApplication."""
_TEXTS: Final = re.compile(r"EnvYAML$|^serveConfigV2$")
"""Texts with variables among other things, of a RayJob and a RayService."""
_SETTINGS: Final = frozenset({"sparkConf", "hadoopConf", "rayStartParams"})
_SECRET_SETTING: Final = re.compile(
    r"^spark\.(kubernetes\.driverEnv|executorEnv|yarn\.appMasterEnv)\.|secret|password|token|(access|account|private)[.]?key",
    re.IGNORECASE,
)
"""Settings that are variables, what Spark itself leaves out of its log (`spark.redaction.regex`), and more keys."""
_CREDENTIALS: Final = frozenset({"redisPassword", "redisUsername"})
"""Of a RayCluster: a value or where it comes from, as a variable has it."""


def masked_request(request: Request) -> dict[str, Any]:
    """Return the wire form of a request without secrets."""
    wire = {**request.attributes}
    if isinstance(user := wire.get("userInfo"), dict) and "extra" in user:
        wire["userInfo"] = {**user, "extra": {key: [MASK] for key in user["extra"] or ()}}
    secret = is_secret(request)
    for field, obj in (("object", request.object), ("oldObject", request.old_object)):
        if obj is not None:
            wire[field] = masked(obj, secret=secret)
    return wire


def is_secret(request: Request) -> bool:
    """Return whether the request is about a Secret."""
    return request.kind.group == "" and request.kind.kind == "Secret"


def masked(obj: dict[str, Any], *, secret: bool = False) -> dict[str, Any]:
    """Return a copy of an object without secrets, those of the objects that it wraps included."""
    found: dict[str, Any] = _tree(obj)
    return _without_data(found) if secret else found


def _tree(value: Any) -> Any:
    if isinstance(value, list):
        return [_tree(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: _entry(key, child) for key, child in value.items()}
    if _is_secret(value):
        return _without_data(found)
    if value.get("kind") == "TokenReview" and isinstance(spec := found.get("spec"), dict) and "token" in spec:
        found["spec"] = {**spec, "token": MASK}
    return found


def _is_secret(value: dict[str, Any]) -> bool:
    return value.get("kind") == "Secret" and value.get("apiVersion") == "v1"


def _without_data(obj: dict[str, Any]) -> dict[str, Any]:
    found = {field: (obj[field], mask) for field, mask in _SECRET_FIELDS.items() if isinstance(obj.get(field), dict)}
    return {**obj, **{field: dict.fromkeys(data, mask) for field, (data, mask) in found.items()}}


def _entry(key: str, child: Any) -> Any:
    if key == _COPY or (isinstance(child, str) and _TEXTS.search(key)):
        return MASK
    if key in _VARIABLES and isinstance(child, list):
        return [_variable(item) for item in child]
    if key in _VARIABLES and isinstance(child, dict):
        return {name: _variable(item) if isinstance(item, dict | list) else MASK for name, item in child.items()}
    if key in _SETTINGS and isinstance(child, dict):
        return {name: MASK if _SECRET_SETTING.search(name) else _tree(item) for name, item in child.items()}
    return _variable(child) if key in _CREDENTIALS else _tree(child)


def _variable(item: Any) -> Any:
    return {**item, "value": MASK} if isinstance(item, dict) and "value" in item else _tree(item)


def masked_operations(request: Request, operations: Iterable[Operation]) -> list[dict[str, Any]]:
    """Return a patch in its wire form, without the values that the object is recorded without."""
    secret = is_secret(request)
    return [_operation(operation, request.object, secret=secret) for operation in operations]


def _operation(operation: Operation, obj: dict[str, Any] | None, *, secret: bool) -> dict[str, Any]:
    wire = operation.wire()
    if operation.value is ABSENT:
        return wire
    steps = split(operation.path)
    value = operation.value
    if any(step in _SECRET_FIELDS for step in steps) and (secret or _has_secret(obj)):
        wire["value"] = dict.fromkeys(value, MASK) if isinstance(value, dict) else MASK
    else:
        wire["value"] = _below(steps, value)
    return wire


def _below(steps: list[str], value: Any) -> Any:
    """Mask a value as at its place in an object: it may be a list of variables, one of them, or what one holds."""
    for step in reversed(steps):
        value = {step: value}
    value = _tree(value)
    for step in steps:
        if not isinstance(value, dict):
            return value  # something above it is masked as a whole
        value = value[step]
    return value


def _has_secret(value: Any) -> bool:
    """Return whether a Secret is in an object, at any place: the steps of a patch do not tell whose data they are."""
    if isinstance(value, list):
        return any(map(_has_secret, value))
    return isinstance(value, dict) and (_is_secret(value) or any(map(_has_secret, value.values())))
