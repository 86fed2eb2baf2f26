"""Equality of JSON values: `true` is not 1, while 1 equals 1.0."""

from __future__ import annotations

from typing import Any

from webhook.kube.absent import ABSENT


def same(a: Any, b: Any) -> bool:
    """Return whether two JSON values are equal; maps regardless of order, a bool only to a bool."""
    if a is b:
        return True
    if isinstance(a, dict):
        if not isinstance(b, dict) or len(a) != len(b):
            return False
        for key, value in a.items():
            other = b.get(key, ABSENT)
            if value is not other and (other is ABSENT or not same(value, other)):
                return False
        return True
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)
