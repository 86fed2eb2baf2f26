"""Drops the nulls of pod templates: a template stands for a Pod, and a Pod has none, as Go reads null as no value.

The API server does so for built-in kinds and for the fields that a CRD describes, and keeps the nulls of templates that
a CRD does not describe. Policies ask what is there.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

_MAPS: Final = frozenset(
    {"annotations", "labels", "limits", "matchLabels", "nodeSelector", "options", "overhead", "requests"}
    | {"volumeAttributes"}
)
"""Fields with keys of the user's own: there, null is a value, which is empty; a quantity becomes 0 in `normalise`."""


def without_nulls(template: dict[str, Any]) -> dict[str, Any]:
    """Return a pod template without its fields that are null; one that has none is returned itself.

    Elements of lists stay: null is an empty one there.
    """
    # Most have none, and are written faster than they are walked through.
    try:
        if b":null" not in orjson.dumps(template):
            return template
    except TypeError:  # it is no JSON: a string that is not UTF-8, or a number too large
        pass
    dropped: dict[str, Any] = _dropped(template)
    return dropped


def _dropped(node: Any) -> Any:
    if isinstance(node, dict):
        return {k: v if k in _MAPS and isinstance(v, dict) else _dropped(v) for k, v in node.items() if v is not None}
    return [_dropped(item) for item in node] if isinstance(node, list) else node
