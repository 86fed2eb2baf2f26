"""Masks secrets in recorded reviews: data of Secrets, values of environment variables, embedded copies of objects.

Values become `***`; the structure stays, so that policies that only test for presence give the same answer.
"""

from __future__ import annotations

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
    """Return an object without secrets; what has none in it is shared with the original."""
    found: dict[str, Any] = {**_tree(obj)}
    for field, mask in _SECRET_FIELDS.items() if secret else ():
        if isinstance(obj.get(field), dict):
            found[field] = dict.fromkeys(obj[field], mask)
    return found


def _tree(value: Any) -> Any:
    if isinstance(value, list):
        return [_tree(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _entry(key, child) for key, child in value.items()}


def _entry(key: str, child: Any) -> Any:
    if key == "env" and isinstance(child, list):
        return [_variable(item) for item in child]
    if key == _COPY:
        return MASK
    return _tree(child)


def _variable(item: Any) -> Any:
    return {**item, "value": MASK} if isinstance(item, dict) and "value" in item else _tree(item)


def masked_operations(request: Request, operations: Iterable[Operation]) -> list[dict[str, Any]]:
    """Return a patch in its wire form, without the values that the object is recorded without."""
    secret = is_secret(request)
    return [_operation(operation, secret=secret) for operation in operations]


def _operation(operation: Operation, *, secret: bool) -> dict[str, Any]:
    wire = operation.wire()
    if operation.value is ABSENT:
        return wire
    steps = split(operation.path)
    value = operation.value
    if secret and steps and steps[0] in _SECRET_FIELDS:
        wire["value"] = dict.fromkeys(value, MASK) if isinstance(value, dict) else MASK
    elif "env" in steps:
        wire["value"] = _below_env(steps, value)
    else:
        wire["value"] = _entry(steps[-1], value) if steps else _tree(value)
    return wire


def _below_env(steps: list[str], value: Any) -> Any:
    """Mask what is put into a list of variables: the whole list, one variable, or its value."""
    depth = len(steps) - 1 - max(i for i, step in enumerate(steps) if step == "env")
    if depth == 0:
        return _entry("env", value)
    if depth == 1:
        return _variable(value)
    return MASK if steps[-1] == "value" else _tree(value)
