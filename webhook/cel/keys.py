"""Map keys: numbers of several types and bools, which Python would treat as equal.

A string, integer or bool is its own key; it is wrapped if an equal key of another type exists, and a double always is.
Rules: cel-go's map of values, where a double finds integers, int and uint find each other, and no integer finds a
double.
"""

from __future__ import annotations

from typing import Final

from webhook.cel.errors import CelError
from webhook.cel.values import Optional, Uint

MISSING: Final = object()
_LEAST: Final = -(2**63)
_MOST: Final = 2**64
"""A double between these may stand for a whole number; the least int64 itself is not found by one, as in cel-go."""


class Key:
    """A map key that Python cannot tell from another, or cannot hash: a number or bool beside a number, a list, a map.

    Lists, maps and optionals are equal only to themselves, as Go's pointers are.
    """

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Key):
            return False
        if isinstance(self.value, (int, float)):
            return type(self.value) is type(other.value) and self.value == other.value
        return self.value is other.value

    def __hash__(self) -> int:
        return hash(self.value) if isinstance(self.value, (int, float)) else id(self.value)


def bare(key: object) -> object:
    """A map key without its wrapper."""
    return key.value if isinstance(key, Key) else key


def find(mapping: dict[object, object], key: object) -> object:
    """The value at `key`, MISSING if there is none."""
    kind = type(key)
    if kind is str:
        return mapping.get(key, MISSING)
    if kind is float:
        return _of_double(mapping, key)  # type: ignore[arg-type]
    if kind is Optional:
        return mapping.get(Key(key), MISSING)
    try:
        value = mapping.get(key, MISSING)
    except TypeError:
        return mapping.get(Key(key), MISSING)
    if value is MISSING:
        return value
    own = mapping.get(Key(key), MISSING)
    if own is not MISSING or not (kind is bool or key == 0 or key == 1):
        return value if own is MISSING else own
    if any(k == key and (type(k) is bool) == (kind is bool) for k in mapping if not isinstance(k, Key)):
        return value
    # What is there is a bool, beside which a whole number of the other type may be.
    other: object = MISSING if not isinstance(key, int) or kind is bool else int(key) if kind is Uint else Uint(key)
    return mapping.get(Key(other), MISSING)


def _of_double(mapping: dict[object, object], key: float) -> object:
    value = mapping.get(Key(key), MISSING)
    if value is MISSING and key.is_integer() and _LEAST < key < _MOST:
        return find(mapping, int(key))
    return value


def as_key(mapping: dict[object, object], key: object) -> object:
    """What a key is put into a map as: itself, or wrapped where Python would take it for another or cannot hash it."""
    kind = type(key)
    if kind is str:
        return key
    if kind is bytes:
        # No Go map can have such a key: the API server crashes, and catches that.
        raise CelError("internal error: runtime error: hash of unhashable type types.Bytes")
    if kind is float or kind is Optional:
        return Key(key)
    try:
        known = key in mapping
    except TypeError:
        return Key(key)
    if known and any(k == key and type(k) is not kind for k in mapping if not isinstance(k, Key)):
        return Key(key)
    return key
