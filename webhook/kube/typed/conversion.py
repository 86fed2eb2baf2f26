"""The API server's conversion of a mutated object to the Go type of its kind and back.

Only what the mutation changed is checked, pruned and defaulted. The rest of the object stays as sent, also fields that
an API server newer than our data accepted. Rules: the dispatcher and the patchers of the API server's mutating
policies.
"""

from __future__ import annotations

from typing import Any

from webhook.kube.absent import ABSENT
from webhook.kube.equality import same
from webhook.kube.gvk import gvk_of
from webhook.kube.schemas import is_built_in, schema_of
from webhook.kube.typed.defaulted import defaulted
from webhook.kube.typed.written import FieldTypeError, UnknownFields, Written

Object = dict[str, Any]


def converted(before: Object, after: Object, *, strict: bool) -> Object:
    """Return `after`, the result of a mutation of `before`, as the server stores it; custom kinds stay as they are.

    Parts that the conversion does not change are shared with `after`. `strict`: unknown fields are an error, as when it
    is decoded from JSON. Raises ConversionError, UnknownFields.
    """
    gvk = gvk_of(after)
    if after is before or not is_built_in(gvk):
        return after
    schema = schema_of(gvk)
    written = Written(schema, gvk, strict)
    written.value(schema.root, before, after)
    if written.unknown and strict:
        raise UnknownFields(", ".join(f'unknown field "{path}"' for path in written.unknown))
    if written.steady:
        return after
    result: Object = _settled((before, after), (defaulted(before), defaulted(after)))
    return result


def _settled(written: tuple[Any, Any], read: tuple[Any, Any]) -> Any:
    """Return the defaulted form (`read`) of parts that the mutation changed, the form as `written` of all others.

    Both arguments are pairs: the object before and after the mutation.
    """
    (before, after), (base, result) = written, read
    if after is before and same(base, result):
        return after
    if isinstance(after, dict) and isinstance(result, dict):
        made = _settled_map(_or(before, {}), after, _or(base, {}), result)
        return after if len(made) == len(after) and all(made.get(k, ABSENT) is v for k, v in after.items()) else made
    if isinstance(after, list) and isinstance(result, list) and len(after) == len(result):
        items = _settled_list(_or(before, []), after, _or(base, []), result)
        return after if all(old is new for old, new in zip(after, items, strict=True)) else items
    return after if same(after, result) else result


def _or(value: Any, empty: Any) -> Any:
    return value if type(value) is type(empty) else empty


def _settled_map(before: Object, after: Object, base: Object, result: Object) -> Object:
    made = {}
    for key in (*after, *(key for key in result if key not in after)):
        written = before.get(key, ABSENT), after.get(key, ABSENT)
        value = _settled(written, (base.get(key, ABSENT), result.get(key, ABSENT)))
        if value is not ABSENT:
            made[key] = value
    return made


def _settled_list(before: list[Any], after: list[Any], base: list[Any], result: list[Any]) -> list[Any]:
    """Settle the items of a list. An item that the mutation did not touch may have moved."""
    places = {id(item): at for at, item in enumerate(before)} if len(base) == len(before) else {}
    made = []
    for at, item in enumerate(after):
        was = places.get(id(item), at if at < len(places) else None)
        old = (ABSENT, ABSENT) if was is None else (before[was], base[was])
        made.append(_settled((old[0], item), (old[1], result[at])))
    return made


__all__ = ["FieldTypeError", "UnknownFields", "converted"]
