"""The API server's defaults that rules can see, for the built-in kinds: offline, files come without them.

In a cluster the API server has done this before it calls a webhook. Custom kinds get none here; their defaults stand
in their CRDs. Rules: k8s.io/kubernetes pkg/apis/{core,batch,apps}/v1 defaults.
"""

from __future__ import annotations

import copy
from typing import Any

from webhook.jobs.describe import describe
from webhook.kube.quantity import QuantityError, parse

_BUILT_IN = frozenset(
    {("v1", "Pod"), ("batch/v1", "Job"), ("batch/v1", "CronJob"), ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet")}
)
_CONTAINERS = ("initContainers", "containers")
_JOB = {
    "backoffLimit": 6,
    "completionMode": "NonIndexed",
    "suspend": False,
    "manualSelector": False,
    "podReplacementPolicy": "TerminatingOrFailed",
}
_POD = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
}


def is_built_in(obj: dict[str, Any]) -> bool:
    """Say whether the object is of a kind that gets defaults here."""
    return (str(obj.get("apiVersion")), str(obj.get("kind"))) in _BUILT_IN


def defaulted(obj: dict[str, Any]) -> dict[str, Any]:
    """Give a copy of a built-in object with the API server's defaults; any other object as it is."""
    if obj.get("apiVersion") == "v1" and obj.get("kind") == "LimitRange":
        return _limit_range(copy.deepcopy(obj))
    if not is_built_in(obj):
        return obj
    obj = copy.deepcopy(obj)
    spec = obj.setdefault("spec", {})
    if not isinstance(spec, dict):
        return obj
    kind = obj["kind"]
    if kind == "Job":
        _job_spec(spec)
    elif kind == "CronJob":
        _cron_spec(spec)
    elif kind in ("Deployment", "StatefulSet"):
        spec.setdefault("replicas", 1)
    job = describe(obj)
    for pod_set in job.pod_sets if job else ():
        _pod(pod_set.template, requests=kind == "Pod")
    return obj


def _limit_range(obj: dict[str, Any]) -> dict[str, Any]:
    """Fill in a LimitRange: a default limit is the max, a default request the default limit, else the min."""
    limits = _map(obj.get("spec")).get("limits")
    for item in limits if isinstance(limits, list) else ():
        if isinstance(item, dict) and item.get("type") == "Container":
            default = {**_map(item.get("max")), **_map(item.get("default"))}
            request = {**_map(item.get("min")), **default, **_map(item.get("defaultRequest"))}
            item.update({k: v for k, v in (("default", default), ("defaultRequest", request)) if v})
    return obj


def _map(value: Any) -> dict[str, Any]:
    """Give a map, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _job_spec(spec: dict[str, Any]) -> None:
    """Fill in a JobSpec: both counts are 1 when neither is set; parallelism alone leaves completions open."""
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    if spec.get("parallelism") is None:
        spec["parallelism"] = 1
    for key, value in _JOB.items():
        spec.setdefault(key, value)


def _cron_spec(spec: dict[str, Any]) -> None:
    spec.setdefault("suspend", False)
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)


def _pod(template: dict[str, Any], *, requests: bool) -> None:
    spec = template.get("spec")
    if not isinstance(spec, dict):
        return
    for key, value in _POD.items():
        spec.setdefault(key, value)
    spec.setdefault("securityContext", {})
    if requests:
        spec.setdefault("enableServiceLinks", True)
    for field in _CONTAINERS:
        containers = spec.get(field)
        for container in containers if isinstance(containers, list) else ():
            if isinstance(container, dict):
                _container(container, requests=requests)


def _container(container: dict[str, Any], *, requests: bool) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", _pull_policy(str(container.get("image") or "")))
    resources = container.setdefault("resources", {})
    ports = container.get("ports")
    for port in ports if isinstance(ports, list) else ():
        if isinstance(port, dict):
            port.setdefault("protocol", "TCP")
    if not isinstance(resources, dict):
        return
    for field in ("limits", "requests"):
        if isinstance(resources.get(field), dict):
            resources[field] = {k: _canonical(v) for k, v in resources[field].items()}
    asked = resources.get("requests") or {}
    if requests and isinstance(resources.get("limits"), dict) and isinstance(asked, dict):
        resources["requests"] = {**resources["limits"], **asked}


def _canonical(value: Any) -> Any:
    """Write a quantity as the API server stores it: `0.5` as `500m`; what is no quantity stays."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    try:
        return str(parse(value))
    except QuantityError:
        return value


def _pull_policy(image: str) -> str:
    """Always for the tag latest and for no tag at all; a digest counts as a tag."""
    last = image.rpartition("/")[2]
    _, at, _ = last.partition("@")
    tag = last.partition(":")[2]
    return "IfNotPresent" if at or (tag and tag != "latest") else "Always"
