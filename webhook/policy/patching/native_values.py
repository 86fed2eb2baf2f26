"""The fragment of an ApplyConfiguration, and an object in a JSON patch, as the API server makes them from a value.

Its conversion goes one level deep: a list or map that the expression writes inside another one, and a null anywhere it
writes one, stay values of the language, which no schema takes. What came from the request as JSON is JSON at any depth.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from webhook.cel.keys import bare
from webhook.cel.values import ObjectValue, Optional, TypeValue, Uint
from webhook.kube.merge import NIL, Foreign

_ENDS: Final = frozenset({str, bool, int, float})


PLAIN: Final = frozenset({str, bool, type(None)})
"""Types whose values are JSON as they are."""


class MutationError(Exception):
    """A mutation gave something that cannot be put into the object; the text is the API server's."""


class NotNative(Exception):
    """A map in an object has a key that is no text."""


class Given:
    """What an expression was given: tells the lists and maps in it from those that the expression wrote."""

    __slots__ = ("_known", "_roots")

    def __init__(self, roots: Iterable[Any] = ()) -> None:
        """Keep the values; they are walked through only when the first question comes."""
        self._roots = tuple(roots)
        self._known: set[int] | None = None

    def has(self, value: Any) -> bool:
        """Whether a list or map is part of what was given, and not merely equal to a part."""
        if self._known is None:
            self._known = set()
            waiting = list(self._roots)
            while waiting:
                item = waiting.pop()
                if isinstance(item, (dict, list)) and id(item) not in self._known:
                    self._known.add(id(item))
                    waiting.extend(item.values() if isinstance(item, dict) else item)
        return id(value) in self._known


def native(value: ObjectValue, given: Given | None = None, empty: list[Any] | Foreign = NIL) -> dict[str, Any]:
    """Return the fields of an object as JSON; what JSON has no form for becomes `Foreign`.

    `empty` is what an empty list that the expression wrote becomes: the structured merge sees Go's nil slice. Raises
    NotNative where a map that is one of its own fields has other keys than texts.
    """
    return _Conversion(given or Given(), empty).object(value)


class _Conversion:
    __slots__ = ("empty", "given")

    def __init__(self, given: Given, empty: list[Any] | Foreign) -> None:
        self.given, self.empty = given, empty

    def object(self, value: ObjectValue) -> dict[str, Any]:
        return {name: self.field(inner) for name, inner in value.fields.items()}

    def field(self, value: Any) -> Any:
        kind = type(value)
        if kind in _ENDS:
            return value
        if kind is list:
            return self._list(value)
        if kind is dict:
            return self._map(value)
        if isinstance(value, Optional) and value.present:
            return self.field(value.value)
        return self.element(value)

    def element(self, value: Any) -> Any:
        """What stands in a list or map that the expression wrote."""
        if type(value) in _ENDS:
            return value
        if isinstance(value, ObjectValue):
            return self._nested(value)
        if isinstance(value, Optional):
            return self.element(value.value) if value.present else None
        if isinstance(value, (list, dict)):
            return value if self.given.has(value) else Foreign(str(value))
        if isinstance(value, TypeValue):
            return value.name
        if isinstance(value, Uint):
            return Foreign(int.__repr__(value), int.__int__(value))
        if isinstance(value, bytes):
            return Foreign(f"[{' '.join(map(str, value))}]", value)
        return Foreign("NULL_VALUE" if value is None else str(value))

    def _nested(self, value: ObjectValue) -> Any:
        try:
            return self.object(value)
        except NotNative as error:
            return Foreign(str(error))

    def _list(self, value: list[Any]) -> Any:
        if not value or any(item is None or isinstance(item, (list, dict)) for item in value):
            if self.given.has(value):
                return value
            if not value:
                return self.empty
        return [self.element(item) for item in value]

    def _map(self, value: dict[Any, Any]) -> Any:
        if any(item is None or isinstance(item, (list, dict)) for item in value.values()) and self.given.has(value):
            return value
        return {_key(key): self.element(item) for key, item in value.items()}


def _key(key: Any) -> str:
    """Return a map's key; an optional one counts as what it holds. Raises NotNative."""
    key = bare(key)
    if isinstance(key, Optional) and key.present:
        key = key.value
    if not isinstance(key, str):
        raise NotNative(f"map key '{key}' is of type {type(key).__name__}, not string")
    return key


def check_names(value: ObjectValue) -> None:
    """Refuse objects whose type name is not the path they stand at, such as `Object{spec: Object.status{}}`."""
    wrong: list[str] = []
    _mismatches(value, value.type_name, wrong)
    if wrong:
        raise MutationError("type mismatch: " + "\n".join(wrong))


def _mismatches(value: Any, path: str, wrong: list[str]) -> None:
    if isinstance(value, ObjectValue):
        if value.type_name != path:
            wrong.append(
                f'unexpected type name "{value.type_name}", expected "{path}", '
                "which matches field name path from root Object type"
            )
        for name, inner in value.fields.items():
            if type(inner) not in PLAIN:
                _mismatches(inner, f"{path}.{name}", wrong)
    elif isinstance(value, list | dict):
        for inner in value if isinstance(value, list) else value.values():
            if type(inner) not in PLAIN:
                _mismatches(inner, path, wrong)
