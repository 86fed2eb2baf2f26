"""The resource requests of a pod: defaults as the API server sets them, then the sum over containers and overhead.

Init containers and sidecars count as in the scheduler. Quota and resource transformations are not applied here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from webhook.kube import quantity

Resources = Mapping[str, Any]
POD_LEVEL: Final = ("cpu", "memory", "hugepages-")
"""Resources that a pod may ask for as a whole (KEP-2837)."""


def requests_of_pod_sets(
    workload: Mapping[str, Any], limit_ranges: Iterable[Mapping[str, Any]] = ()
) -> dict[str, dict[str, int]]:
    """Return what one pod of each pod set of a Workload holds, by the name of the set.

    With what the LimitRanges of its namespace give a pod, where there are any.
    """
    sets, ranges = (workload.get("spec") or {}).get("podSets") or (), tuple(limit_ranges)
    specs = {str(pods.get("name")): (pods.get("template") or {}).get("spec") or {} for pods in sets}
    return {name: pod_requests(with_defaults(spec, ranges) if ranges else spec) for name, spec in specs.items()}


def asks_more(requests: Mapping[str, int], granted: Mapping[str, int]) -> bool:
    """Return whether a pod holds more of any resource than was granted."""
    return any(amount > granted.get(resource, 0) for resource, amount in requests.items())


def pod_requests(spec: Mapping[str, Any]) -> dict[str, int]:
    """Sum what one pod with this spec holds, in billionths of a unit per resource.

    Containers add up; an init container counts while it runs, beside the sidecars that started before it; sidecars
    (init containers that restart) go on; overhead is added. Source: k8s.io/component-helpers/resource, PodRequests.
    """
    total: dict[str, int] = {}
    for container in spec.get("containers") or ():
        _add(total, _requests(container))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        asked = _requests(container)
        if container.get("restartPolicy") == "Always":
            _add(total, asked)
            _add(sidecars, asked)
            _raise(peak, sidecars)
        else:
            _add(asked, sidecars)
            _raise(peak, asked)
    _raise(total, peak)
    total.update(_whole(spec, total))
    _add(total, _nanos(spec.get("overhead")))
    return total


def _whole(spec: Mapping[str, Any], asked: Mapping[str, int]) -> dict[str, int]:
    """Return what the pod asks for as a whole: a limit of the pod counts where neither it nor a container says less.

    Source: k8s.io/kubernetes pkg/apis/core/v1, defaulting of pod-level requests (KEP-2837).
    """
    resources = spec.get("resources") or {}
    limits = {name: n for name, n in _nanos(resources.get("limits")).items() if name not in asked}
    whole = {**limits, **_nanos(resources.get("requests"))}
    return {name: n for name, n in whole.items() if name.startswith(POD_LEVEL)}


def with_defaults(spec: Mapping[str, Any], limit_ranges: Iterable[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Fill in the requests and limits that the API server would give a pod with this spec.

    First a request takes its limit's value, then the namespace's LimitRanges give what is still missing; the first
    LimitRange by name that has a value wins. The given spec is left as it is; unchanged parts are shared with it.
    """
    limits, requests = _range_defaults(limit_ranges)
    filled = _whole_filled(spec)
    for field in ("initContainers", "containers"):
        if field in spec:
            filled[field] = [_filled(container, limits, requests) for container in spec[field] or ()]
    return filled


def _whole_filled(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec whose pod-level requests take their limits' values, before a LimitRange gives containers any."""
    resources = spec.get("resources") or {}
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if not limits:
        return dict(spec)
    asked = {name for field in ("initContainers", "containers") for c in spec.get(field) or () for name in _requests(c)}
    missing = {name: value for name, value in limits.items() if name not in asked and name.startswith(POD_LEVEL)}
    whole = {**missing, **requests}
    return {**spec, "resources": {**resources, "requests": whole}} if whole else dict(spec)


def _filled(container: Mapping[str, Any], limits: Resources, requests: Resources) -> dict[str, Any]:
    resources = container.get("resources") or {}
    own = resources.get("limits") or {}
    asked = {**own, **(resources.get("requests") or {})}
    merged = {"limits": {**limits, **own}, "requests": {**requests, **asked}}
    kept = {name: values for name, values in merged.items() if values}
    if not kept and "resources" not in container:
        return dict(container)
    return {**container, "resources": {**resources, **kept}}


def _range_defaults(limit_ranges: Iterable[Mapping[str, Any]]) -> tuple[Resources, Resources]:
    """Return default limits and default requests of containers.

    Where a LimitRange leaves them out: a limit is `max`, a request the limit, else `min` (core/v1 defaulting).
    """
    limits: dict[str, Any] = {}
    requests: dict[str, Any] = {}
    for limit_range in in_order(limit_ranges):
        for item in (limit_range.get("spec") or {}).get("limits") or ():
            if item.get("type") != "Container":
                continue
            default = {**(item.get("max") or {}), **(item.get("default") or {})}
            request = {**(item.get("min") or {}), **default, **(item.get("defaultRequest") or {})}
            limits = {**default, **limits}
            requests = {**request, **requests}
    return limits, requests


def in_order(limit_ranges: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return LimitRanges sorted by name, in whatever order they were heard of: a restart must count as before."""
    return sorted(limit_ranges, key=lambda each: str((each.get("metadata") or {}).get("name") or ""))


def _requests(container: Mapping[str, Any]) -> dict[str, int]:
    resources = container.get("resources") or {}
    return _nanos({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _nanos(resources: Resources | None) -> dict[str, int]:
    return {name: quantity.parse(value).nanos for name, value in (resources or {}).items()}


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, n in more.items():
        total[name] = total.get(name, 0) + n


def _raise(total: dict[str, int], least: Mapping[str, int]) -> None:
    for name, n in least.items():
        if n > total.get(name, 0):
            total[name] = n
