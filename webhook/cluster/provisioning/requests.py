"""Builds a ProvisioningRequest and its PodTemplates for a Workload with quota, and finds the latest one. Pure.

Names, labels and fields are Kueue's (KEP 1136), so that requests made by a Kueue are found.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
import orjson

from webhook.api.requests import with_defaults
from webhook.api.types.provisioning import ProvisioningRequestConfigSpec
from webhook.cluster.api.kinds import POD_TEMPLATE, PROVISIONING_REQUEST
from webhook.cluster.jobs.start_stop import flavors_of, on_flavors
from webhook.kube.fields import at
from webhook.store.objects import Object, key_of, uid_of

CONTROLLER: Final = "kueue.x-k8s.io/provisioning-request"
MANAGED: Final = {"kueue.x-k8s.io/managed": "true"}
PASSED_ON: Final = "provreq.kueue.x-k8s.io/"
"""Prefix of annotations of a Workload that become parameters of its requests."""
ADMISSION: Final = "sluice.dev/admission-digest"
"""Annotation of a request: the pods and flavors that it was made for. One that a Kueue made has none."""
_LONGEST: Final = 247
_MOST: Final = 1000
"""Attempts that are looked for behind a name that was cut."""


@dataclass(frozen=True, slots=True)
class MergedPodSets:
    """Pods that are requested together: those of `pod_set`, and of similar pod sets merged into it."""

    pod_set: Object
    assignment: Object
    count: int


def config_of(obj: Object) -> ProvisioningRequestConfigSpec:
    """Read a ProvisioningRequestConfig. Raises msgspec.ValidationError."""
    return msgspec.convert(obj.get("spec") or {}, ProvisioningRequestConfigSpec)


def name_of(workload: str, check: str, attempt: int) -> str:
    """Return the name of the request of an attempt; attempts count from 1."""
    return _limited(f"{workload}-{check}-{attempt}")


def template_name(request: str, pod_set: str) -> str:
    """Return the name of the PodTemplate of a pod set."""
    return _limited(f"ppt-{request}-{pod_set}")


def attempt_of(request: Object, workload: str, check: str) -> int:
    """Return the number of a request's attempt; 0 if it belongs to another Workload or check.

    A name that was cut does not have it: it is the attempt whose name would be the same.
    """
    name, whole = key_of(request)[1], f"{workload}-{check}-"
    if match := re.fullmatch(re.escape(whole) + "([0-9]+)", name):
        return int(match[1])
    if len(name) <= _LONGEST or not name.startswith(whole[:_LONGEST]):
        return 0
    return next((attempt for attempt in range(1, _MOST) if name_of(workload, check, attempt) == name), 0)


def _limited(name: str) -> str:
    if len(name) <= _LONGEST:
        return name
    digest = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
    return f"{name[:_LONGEST]}-{digest[:5]}"


def last(
    requests: Iterable[Object], workload: Object, check: str, config: ProvisioningRequestConfigSpec
) -> Object | None:
    """Return the request of the latest attempt that matches the configuration, None if there is none.

    A Workload may be admitted again, on other flavors, before the request of its earlier admission is deleted.
    """
    name, admission = key_of(workload)[1], _admission(wanted(workload, config))
    mine = [r for r in requests if attempt_of(r, name, check) and _is_as(r, config) and _is_of(r, admission)]
    return max(mine, key=lambda request: attempt_of(request, name, check), default=None)


def _admission(rows: Iterable[MergedPodSets]) -> str:
    """Return a digest of the pods to request and of their flavors."""
    asked = [(row.pod_set.get("name"), row.count, row.assignment.get("flavors")) for row in rows]
    return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def _is_of(request: Object, admission: str) -> bool:
    return bool((at(request, ("metadata", "annotations")) or {}).get(ADMISSION, admission) == admission)


def _is_as(request: Object, config: ProvisioningRequestConfigSpec) -> bool:
    parameters = at(request, ("spec", "parameters")) or {}
    same_class = at(request, ("spec", "provisioningClassName")) == config.provisioning_class_name
    return same_class and all(parameters.get(key) == value for key, value in config.parameters.items())


def wanted(workload: Object, config: ProvisioningRequestConfigSpec) -> list[MergedPodSets]:
    """Return the pods to request; none if no pod set has any, or none requests a managed resource."""
    assignments = {row.get("name"): row for row in at(workload, ("status", "admission", "podSetAssignments")) or ()}
    out: list[MergedPodSets] = []
    for pod_set in at(workload, ("spec", "podSets")) or ():
        assignment = assignments.get(pod_set.get("name"))
        if assignment is None or not _uses(pod_set, config.managed_resources):
            continue
        count = assignment.get("count")
        count = int(pod_set.get("count", 1) if count is None else count)
        if count <= 0:
            continue
        like = next((n for n, row in enumerate(out) if _alike(row.pod_set, pod_set, config.pod_set_merge_policy)), None)
        if like is None:
            out.append(MergedPodSets(pod_set, assignment, count))
        else:
            out[like] = replace(out[like], count=out[like].count + count)
    return out


def _containers(pod_set: Object) -> list[Object]:
    spec = at(pod_set, ("template", "spec")) or {}
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


def _uses(pod_set: Object, managed: Sequence[str]) -> bool:
    if not managed:
        return True
    named = {r for c in _containers(pod_set) for part in (c.get("resources") or {}).values() if part for r in part}
    return not named.isdisjoint(managed)


def _alike(one: Object, other: Object, policy: str | None) -> bool:
    if policy is None:
        return False
    if policy == "IdenticalPodTemplates":
        return bool(one.get("template") == other.get("template"))
    return _needs(one) == _needs(other)


def _needs(pod_set: Object) -> tuple[Any, ...]:
    """Return the fields of a pod set that matter to a scheduler."""
    spec = at(pod_set, ("template", "spec")) or {}
    fields = ("resources", "nodeSelector", "tolerations", "affinity", "resourceClaims")
    asks = [
        [at(container, ("resources", "requests")) or {} for container in spec.get(kind) or ()]
        for kind in ("containers", "initContainers")
    ]
    return (asks, *(spec.get(name) or None for name in fields))


def made(
    workload: Object, check: str, attempt: int, config: ProvisioningRequestConfigSpec, flavors: Mapping[str, Object]
) -> tuple[Object, list[Object]]:
    """Return the request of an attempt and its PodTemplates, all owned by the Workload. Raises FlavorNotFound."""
    namespace, name = key_of(workload)
    request_name = name_of(name, check, attempt)
    templates, pod_sets, rows = [], [], wanted(workload, config)
    for row in rows:
        called = template_name(request_name, str(row.pod_set.get("name") or "main"))
        templates.append(_template(workload, called, row, flavors))
        pod_sets.append({"podTemplateRef": {"name": called}, "count": row.count})
    annotations = at(workload, ("metadata", "annotations")) or {}
    passed = {k.removeprefix(PASSED_ON): v for k, v in annotations.items() if k.startswith(PASSED_ON)}
    request = {
        "apiVersion": PROVISIONING_REQUEST.api_version,
        "kind": PROVISIONING_REQUEST.kind,
        "metadata": {
            **_metadata(workload, namespace, request_name),
            "annotations": {ADMISSION: _admission(rows)},
        },
        "spec": {
            "provisioningClassName": config.provisioning_class_name,
            "parameters": {**config.parameters, **passed},
            "podSets": pod_sets,
        },
    }
    return request, templates


def _template(workload: Object, name: str, row: MergedPodSets, flavors: Mapping[str, Object]) -> Object:
    template = on_flavors(row.pod_set.get("template") or {}, flavors_of(row.assignment, flavors))
    return {
        "apiVersion": POD_TEMPLATE.api_version,
        "kind": POD_TEMPLATE.kind,
        "metadata": _metadata(workload, key_of(workload)[0], name),
        "template": {**template, "spec": with_defaults(template.get("spec") or {})},
    }


def _metadata(owner: Object, namespace: str, name: str) -> dict[str, Any]:
    return {"name": name, "namespace": namespace, "labels": MANAGED, "ownerReferences": [owner_reference(owner)]}


def owner_reference(owner: Object) -> dict[str, Any]:
    """Return an ownerReference to `owner` as the controller."""
    named = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": key_of(owner)[1], "uid": uid_of(owner)}
    return {**named, "controller": True}
