"""An object from a file as the API server stores it: pruned, defaulted, and encoded as Go does.

Custom kinds stay as they are: their defaults are in their CRDs.
"""

from __future__ import annotations

import copy
from typing import Any

from webhook.kube.gvk import gvk_of
from webhook.kube.schema import Ref, Schema
from webhook.kube.schemas import is_built_in, schema_of
from webhook.kube.typed.codec import read, write
from webhook.kube.typed.constants import DEFAULTS
from webhook.kube.typed.go_fields import STRUCTS, VALUES, fields_of
from webhook.kube.typed.rules import RULES

Object = dict[str, Any]


def defaulted(obj: Object) -> Object:
    """Return an object of a built-in kind as the API server stores it, any other as it is. `obj` is not changed."""
    gvk = gvk_of(obj)
    if not is_built_in(gvk):
        return obj
    schema = schema_of(gvk)
    held = read(schema, schema.root, copy.deepcopy(obj))
    _fill(schema, schema.root, held)
    written: Object = write(schema, schema.root, held)
    return written


def _fill(schema: Schema, ref: Ref, value: Any) -> None:
    """Set the defaults of a decoded value, outer structs before inner ones."""
    shape = schema.resolve(ref)
    if isinstance(value, list) and shape.list is not None:
        for item in value:
            _fill(schema, shape.list.element, item)
    elif isinstance(value, dict) and shape.map is not None and fields_of(ref.name) is not None:
        if rule := RULES.get(ref.name):
            rule(value)
        _constants(schema, ref, value)
        for field, inner in value.items():
            if field in shape.map.fields and isinstance(inner, dict | list):
                _fill(schema, shape.map.fields[field], inner)


def _constants(schema: Schema, ref: Ref, value: Object) -> None:
    shape, written = schema.resolve(ref), fields_of(ref.name) or {}
    published = shape.map.defaults if shape.map else {}
    for field, default in (*DEFAULTS.get(ref.name, {}).items(), *published.items()):
        when = written.get(field)
        if when is None or when in STRUCTS:
            continue
        if field not in value or (when in VALUES and value[field] in ("", 0, []) and default):
            value[field] = copy.deepcopy(default)
