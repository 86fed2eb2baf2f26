"""What a request asks for, read from its query. Everything is bounded; what cannot be read is a StatusError."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.api.amounts import amount
from webhook.dashboard.views.cluster import NODE_LIMIT
from webhook.dashboard.views.queue import Wanted
from webhook.dashboard.views.simulate import OtherQuota
from webhook.dashboard.views.what_if import WorkloadChange
from webhook.kube.quantity import QuantityError
from webhook.server.responses import StatusError

Query = Mapping[str, str]
ROWS: Final = 500
"""Rows of one answer."""
MAX_NUMBER: Final = 10**15
"""Larger than any number that makes sense here."""


class FieldError(StatusError):
    """What is wrong is one field of the question."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def number(query: Query, name: str, default: int, most: int = MAX_NUMBER) -> int:
    """Read a number that is not negative; larger ones than `most` are that."""
    text = query.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise FieldError(name, f"{name} must be a number, 0 or more: {text[:40]}")
    return min(int(text), most)


def text(query: Query, name: str) -> str:
    """Read a name."""
    found = query.get(name, "")
    if len(found) > 253:
        raise FieldError(name, f"{name} is longer than a name may be")
    return found


def nodes(query: Query) -> tuple[str, int, int]:
    """Read which nodes of the tree are wanted: a part of their names, the first, and how many."""
    return text(query, "filter").casefold(), number(query, "offset", 0), number(query, "limit", NODE_LIMIT, NODE_LIMIT)


def lists(query: Query) -> Wanted:
    """Read which part of a queue's lists is wanted."""
    return Wanted(
        number(query, "offset", 0),
        number(query, "running-offset", 0),
        number(query, "limit", 100, ROWS),
        text(query, "namespace"),
    )


def wish(query: Query, gpu: str) -> WorkloadChange:
    """Read the changes to try; `gpu` is the resource that the workload's GPUs are requested as."""
    resource = text(query, "resource") or gpu
    asked = query.get("gpus", "")
    if asked and not resource:
        raise FieldError("resource", "the workload requests no GPU; set resource")
    priority = query.get("priority", "")
    sign, digits = (-1, priority[1:]) if priority.startswith("-") else (1, priority)
    return WorkloadChange(
        resource,
        _amount("gpus", resource, asked) if asked else None,
        text(query, "queue") or None,
        sign * number({"priority": digits}, "priority", 0, 2**31 - 1) if priority else None,
    )


def other_quota(query: Query) -> OtherQuota | None:
    """Read which quota is to be another; None where none is."""
    asked = query.get("quota", "")
    if not asked:
        return None
    queue, resource = text(query, "queue"), text(query, "resource")
    if not queue or not resource:
        raise FieldError("resource" if queue else "queue", "quota requires queue and resource")
    return OtherQuota(queue, resource, _amount("quota", resource, asked), text(query, "flavor"))


def _amount(field: str, resource: str, asked: str) -> int:
    try:
        found = amount(resource, asked[:64])
    except QuantityError:
        raise FieldError(field, f"{asked[:40]} is not a quantity; write 24 or 64Gi") from None
    if not 0 <= found < MAX_NUMBER:
        raise FieldError(field, f"{asked[:40]} is out of range")
    return found
