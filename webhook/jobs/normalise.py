"""Converts quantities written as numbers (`nvidia.com/gpu: 1`) to strings, as the API server does for built-in kinds.

A quantity that is null is 0, as Go's UnmarshalJSON of resource.Quantity reads it. The other nulls of pod templates are
dropped, as it does too. This happens before a rule sees an object or a template.
Unchanged parts are shared with the original; an object without such numbers and nulls is returned itself.
"""

from __future__ import annotations

from typing import Any

from webhook.jobs.job import Path
from webhook.jobs.nulls import without_nulls
from webhook.jobs.read_job import Templates, templates
from webhook.kube.quantity import QuantityError, parse

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_TYPED = ("v1", "apps/v1", "batch/v1")
"""Versions whose objects have no nulls: the API server, or `defaulted`, reads them as Go does."""
_LIMIT_FIELDS = ("default", "defaultRequest", "max", "maxLimitRequestRatio", "min")


def normalise(obj: dict[str, Any], known: Templates | None = None) -> dict[str, Any]:
    """Return the object with the quantities of its pod templates, LimitRange or ResourceQuota as strings.

    The templates of kinds that are not built in lose their nulls. `known` are the object's `templates`, if known.
    """
    known = templates(obj) if known is None else known
    if known is None:
        return _of_limits(obj)
    if obj.get("kind") == "TrainJob":
        obj = _nested(obj, ("spec", "trainer", "resourcesPerNode"))
    typed = obj.get("apiVersion") in _TYPED
    for path, template, made in known:
        if made:
            continue
        fixed = normalise_template(template if typed else without_nulls(template))
        if fixed is not template:
            changed: dict[str, Any] = replace_at(obj, path, fixed)
            obj = changed
    return obj


def _of_limits(obj: dict[str, Any]) -> dict[str, Any]:
    if obj.get("kind") == "LimitRange":
        obj = _limit_range(obj)
    elif obj.get("kind") == "ResourceQuota":
        obj = _map_field(obj, "spec", lambda spec: _map_field(spec, "hard", _quantities))
    return obj


def normalise_template(template: dict[str, Any]) -> dict[str, Any]:
    """Return a pod template with its quantities as strings."""
    spec = template.get("spec")
    if not isinstance(spec, dict):
        return template
    fixed = spec
    if "overhead" in spec:
        fixed = _map_field(fixed, "overhead", _quantities)
    if "resources" in spec:
        fixed = _map_field(fixed, "resources", _resources)
    for field in _CONTAINERS:
        if field in spec and (changed := _of_containers(spec[field])) is not spec[field]:
            fixed = {**fixed, field: changed}
    return template if fixed is spec else {**template, "spec": fixed}


def _of_containers(containers: Any) -> Any:
    if not isinstance(containers, list):
        return containers
    changed = containers
    for place, container in enumerate(containers):
        resources = container.get("resources") if isinstance(container, dict) else None
        if resources:
            fixed = _resources(resources)
            if fixed is not resources:
                changed = list(containers) if changed is containers else changed
                changed[place] = {**container, "resources": fixed}
    return changed


def replace_at(node: Any, path: Path, value: Any) -> Any:
    """Return a copy of a tree with `value` at the path; only the nodes on the path are copied."""
    if not path:
        return value
    root = holder = node.copy()
    *way, last = path
    for step in way:
        holder[step] = holder = holder[step].copy()
    holder[last] = value
    return root


def quantity_text(value: Any) -> Any:
    """Return a number as the canonical text of a quantity, and null as 0; other values are returned unchanged."""
    if value is None:
        return "0"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    try:
        return parse(value).canonical()
    except QuantityError:
        return value


def _nested(holder: Any, path: tuple[str, ...]) -> Any:
    """Return a map with the resources at a path of keys as strings."""
    if not path:
        return _resources(holder)
    return _map_field(holder, path[0], lambda inner: _nested(inner, path[1:]))


def _resources(resources: Any) -> Any:
    if not isinstance(resources, dict):
        return resources
    fixed = resources
    for field in ("requests", "limits"):
        values = resources.get(field)
        if values and (changed := _quantities(values)) is not values:
            fixed = {**fixed, field: changed}
    return fixed


def _quantities(values: Any) -> Any:
    if not isinstance(values, dict):
        return values
    for value in values.values():
        if not isinstance(value, str):
            return {k: quantity_text(v) for k, v in values.items()}
    return values


def _map_field(holder: Any, field: str, change: Any) -> Any:
    if not isinstance(holder, dict) or field not in holder:
        return holder
    value = change(holder[field])
    return holder if value is holder[field] else {**holder, field: value}


def _limit_range(obj: dict[str, Any]) -> Any:
    def items(limits: Any) -> Any:
        if not isinstance(limits, list):
            return limits
        changed = []
        for item in limits:
            fixed = item
            for field in _LIMIT_FIELDS:
                fixed = _map_field(fixed, field, _quantities)
            changed.append(fixed)
        return limits if all(a is b for a, b in zip(changed, limits, strict=True)) else changed

    return _map_field(obj, "spec", lambda spec: _map_field(spec, "limits", items))
