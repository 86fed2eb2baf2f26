"""Defaults of Pods, pod templates and their parts that depend on other fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from webhook.kube.quantity import Quantity, QuantityError, parse
from webhook.kube.typed.structs import structs

Struct = dict[str, Any]
_SIZED: Final = ("cpu", "memory")
_HUGE_PAGES: Final = "hugepages-"


def _pod(pod: Struct) -> None:
    """A limit is also the request, on Pods only; with the node's network each port is a port of the node."""
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        return
    for container in structs(spec, "containers", "initContainers"):
        resources = container.get("resources")
        if isinstance(resources, dict) and isinstance(limits := resources.get("limits"), dict):
            requests = resources.get("requests") or {}
            resources["requests"] = {**limits, **requests} if isinstance(requests, dict) else requests
    if isinstance(resources := spec.get("resources"), dict):
        _pod_resources(spec, resources)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for container in structs(spec, "containers", "initContainers"):
            for port in structs(container, "ports"):
                if not port.get("hostPort") and "containerPort" in port:
                    port["hostPort"] = port["containerPort"]


def _pod_resources(spec: Struct, resources: Struct) -> None:
    """Fill in what a Pod asks as a whole: what its containers ask, else its own limits (KEP-2837)."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if not isinstance(limits, dict) or not isinstance(requests, dict):
        return
    if limits or requests:
        of_containers = _summed(spec, "limits").items()
        pages = {k: v for k, v in of_containers if k.startswith(_HUGE_PAGES) and k not in requests}
        limits = {**pages, **limits}
    if not limits:
        return
    summed = {name: amount for name, amount in _summed(spec, "requests").items() if name in _SIZED}
    own = {name: amount for name, amount in limits.items() if name in _SIZED or name.startswith(_HUGE_PAGES)}
    resources["limits"] = limits
    if made := {**own, **summed, **requests}:
        resources["requests"] = made


def _summed(spec: Struct, field: str) -> dict[str, str]:
    """Return what all containers need at once: the sum, or more where an init container needs more while it starts."""
    total: dict[str, Quantity] = {}
    for container in structs(spec, "containers"):
        _add(total, _amounts(container, field))
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in structs(spec, "initContainers"):
        needed = dict(_amounts(container, field))
        if container.get("restartPolicy") == "Always":
            _add(total, needed)
            _add(sidecars, needed)
            needed = dict(sidecars)
        else:
            _add(needed, sidecars)
        for name, amount in needed.items():
            peak[name] = max(peak[name], amount) if name in peak else amount
    for name, amount in peak.items():
        total[name] = max(total[name], amount) if name in total else amount
    return {name: amount.canonical() for name, amount in total.items()}


def _add(total: dict[str, Quantity], more: dict[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _amounts(container: Struct, field: str) -> dict[str, Quantity]:
    resources = container.get("resources")
    given = resources.get(field) if isinstance(resources, dict) else None
    found = {}
    for name, amount in given.items() if isinstance(given, dict) else ():
        try:
            found[name] = parse(amount)
        except (QuantityError, TypeError):
            continue
    return found


def _pod_spec(spec: Struct) -> None:
    """The account has two names, of which one is old."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name
    else:
        spec.pop("serviceAccount", None)


def _pod_status(status: Struct) -> None:
    """One address is also the first of the list, as the server's own type has only the list."""
    one, many = status.get("podIP"), list(structs(status, "podIPs"))
    first = many[0].get("ip", "") if many else ""
    if one and one != first:
        status["podIPs"] = [{"ip": one}]
    elif first:
        status["podIP"] = first


def _volume(volume: Struct) -> None:
    if not any(field != "name" for field in volume):
        volume["emptyDir"] = {}
    image = volume.get("image")
    if isinstance(image, dict) and not image.get("pullPolicy"):
        image["pullPolicy"] = pull_policy(str(image.get("reference") or ""))


def _container(container: Struct) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(str(container.get("image") or ""))


def pull_policy(image: str) -> str:
    """Always for the tag latest and for no tag at all; a digest counts as a tag."""
    if not image:
        return "IfNotPresent"
    last = image.rpartition("/")[2]
    _, at, _ = last.partition("@")
    tag = last.partition(":")[2]
    return "IfNotPresent" if at or (tag and tag != "latest") else "Always"


RULES: Final[dict[str, Callable[[Struct], None]]] = {
    "core.v1.Container": _container,
    "core.v1.EphemeralContainer": _container,
    "core.v1.Pod": _pod,
    "core.v1.PodSpec": _pod_spec,
    "core.v1.PodStatus": _pod_status,
    "core.v1.Volume": _volume,
}

__all__ = ["RULES", "pull_policy"]
