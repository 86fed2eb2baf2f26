"""Which writes of a mutation the conversion cannot change, so that it can be skipped: decided from the types alone.

An object sent by an API server already has its defaults. A non-empty value written to a field then changes nothing
else, unless the field's type has a canonical form (a quantity, a time) or a default depends on the field.
"""

from __future__ import annotations

from typing import Final

from webhook.kube.schema import Ref, Schema, Shape
from webhook.kube.typed.constants import DEFAULTS
from webhook.kube.typed.go_fields import STRUCTS, FieldForm, fields_of
from webhook.kube.typed.rules import RULES

_API: Final = "io.k8s.api."
_REWRITTEN: Final = frozenset("qty")
"""Codes of types with a canonical form: quantities, times, bytes."""
_LOOKED_AT: Final = {
    "batch.v1.Job": ("spec.template.metadata.labels",),
    "core.v1.Container": (),
    "core.v1.EphemeralContainer": (),
    "core.v1.Pod": (
        "spec.hostNetwork",
        "spec.resources",
        "spec.containers.resources",
        "spec.containers.ports",
        "spec.initContainers.resources",
        "spec.initContainers.ports",
    ),
    "core.v1.PodSpec": ("serviceAccountName", "serviceAccount"),
    "core.v1.Volume": ("image",),
}
"""The fields that a type's rule reads in a defaulted object; all other rules may read all of their type."""


def looked_at(name: str, path: str) -> tuple[str, ...]:
    """Return the paths below which the rule of a type may see a change, for a value of the type at a path."""
    if name not in RULES:
        return ()
    fields = _LOOKED_AT.get(name.removeprefix(_API))
    return (path,) if fields is None else tuple(f"{path}.{field}" if path else field for field in fields)


def is_rewritten(code: str) -> bool:
    """Return whether a conversion may change a scalar of this code."""
    return code in _REWRITTEN


def keeps_empty(name: str, shape: Shape, field: str) -> bool:
    """Return whether a type keeps an empty value of a field."""
    defaulted = field in DEFAULTS.get(name, {}) or (shape.map is not None and field in shape.map.defaults)
    form = (fields_of(name) or {}).get(field)
    return form == FieldForm.UNLESS_NIL or (form in (FieldForm.ALWAYS, FieldForm.NULL_IF_NIL) and not defaulted)


def is_inert(schema: Schema, ref: Ref) -> bool:
    """Return whether a new value of this type gets no defaults."""
    shape = schema.resolve(ref)
    defaults = bool(shape.map and shape.map.defaults) or ref.name in DEFAULTS or ref.name in RULES
    written = (fields_of(ref.name) or {}).values()
    return not defaults and not any(
        when in STRUCTS or when in (FieldForm.ALWAYS, FieldForm.NULL_IF_NIL) for when in written
    )
