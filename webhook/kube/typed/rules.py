"""Defaults that depend on other fields, by type; each changes the fields of a struct that was read.

Rules: k8s.io/kubernetes pkg/apis/*/v1/defaults.go, and conversion.go where the server's own types say it otherwise.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from typing import Any, Final

from webhook.kube.typed.pod_rules import RULES as POD_RULES
from webhook.kube.well_known import NAMESPACE_NAME

Struct = dict[str, Any]
_MAX_INT32: Final = 2**31 - 1
_CPU_UTILIZATION: Final = 80
_METRICS: Final = "autoscaling.alpha.kubernetes.io/current-metrics"
_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
_TIMEOUT: Final = 10800
_RBAC: Final = "rbac.authorization.k8s.io"
_UP: Final = [
    {"type": "Pods", "value": 4, "periodSeconds": 15},
    {"type": "Percent", "value": 100, "periodSeconds": 15},
]
_DOWN: Final = [{"type": "Percent", "value": 100, "periodSeconds": 15}]
_CPU: Final = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": _CPU_UTILIZATION}},
}


def _map(value: Any) -> Struct:
    return value if isinstance(value, dict) else {}


def _items(value: Any) -> list[Struct]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _job(job: Struct) -> None:
    spec = _map(job.get("spec"))
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _MAX_INT32 if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    _labels_of_template(job)


def _labels_of_template(obj: Struct) -> None:
    """An object without labels gets those of its pods."""
    labels = _map(_map(_map(obj.get("spec")).get("template")).get("metadata")).get("labels")
    metadata = _map(obj.get("metadata"))
    if labels is not None and not metadata.get("labels"):
        metadata["labels"] = copy.deepcopy(labels)


def _replication_controller(obj: Struct) -> None:
    spec = _map(obj.get("spec"))
    labels = _map(_map(spec.get("template")).get("metadata")).get("labels")
    if labels is not None and not spec.get("selector"):
        spec["selector"] = copy.deepcopy(labels)
    _labels_of_template(obj)


def _deployment_strategy(strategy: Struct) -> None:
    _rolling(strategy, "25%", "25%")


def _daemon_set_strategy(strategy: Struct) -> None:
    _rolling(strategy, 1, 0)


def _rolling(strategy: Struct, unavailable: str | int, surge: str | int) -> None:
    """A rolling update has both numbers; where another type names only one of them, the server's own type adds a 0."""
    if strategy.get("type") in (None, "", "RollingUpdate"):
        strategy.setdefault("rollingUpdate", {})
    else:
        unavailable = surge = 0
    rolling = strategy.get("rollingUpdate")
    if isinstance(rolling, dict):
        rolling.setdefault("maxUnavailable", unavailable)
        rolling.setdefault("maxSurge", surge)


def _daemon_set(obj: Struct) -> None:
    """The template's generation of extensions/v1beta1 lives on as an annotation."""
    metadata = _map(obj.get("metadata"))
    metadata["annotations"] = {_TEMPLATE_GENERATION: "0", **_map(metadata.get("annotations"))}


def _stateful_set(spec: Struct) -> None:
    for claim in _items(spec.get("volumeClaimTemplates")):
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"


def _stateful_set_strategy(strategy: Struct) -> None:
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    rolling = strategy.get("rollingUpdate")
    if isinstance(rolling, dict):
        rolling.setdefault("partition", 0)


def _persistent_volume(obj: Struct) -> None:
    spec = _map(obj.get("spec"))
    spec["persistentVolumeReclaimPolicy"] = spec.get("persistentVolumeReclaimPolicy") or "Retain"
    spec.setdefault("volumeMode", "Filesystem")


def _service(spec: Struct) -> None:
    kind = spec.get("type") or "ClusterIP"
    affinity = spec.get("sessionAffinity") or "None"
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        given = _map(_map(spec.get("sessionAffinityConfig")).get("clientIP")).get("timeoutSeconds")
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _TIMEOUT if given is None else given}}
    for port in _items(spec.get("ports")):
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    outside = kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if outside and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def _service_status(service: Struct) -> None:
    if _map(service.get("spec")).get("type") == "LoadBalancer":
        for ingress in _items(_map(_map(service.get("status")).get("loadBalancer")).get("ingress")):
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def _namespace(obj: Struct) -> None:
    metadata = _map(obj.get("metadata"))
    if metadata.get("name"):
        metadata["labels"] = {**_map(metadata.get("labels")), NAMESPACE_NAME: metadata["name"]}


def _node_status(status: Struct) -> None:
    if "capacity" in status:
        status.setdefault("allocatable", copy.deepcopy(status["capacity"]))


def _limit_range_item(item: Struct) -> None:
    """A missing default is the max; a missing default request the default, else the min."""
    if item.get("type") == "Container":
        default = {**_map(item.get("max")), **_map(item.get("default"))}
        item["defaultRequest"] = {**_map(item.get("min")), **default, **_map(item.get("defaultRequest"))}
        item["default"] = default


def _secret(secret: Struct) -> None:
    """What is written as text is kept as bytes."""
    texts = secret.pop("stringData", None)
    if isinstance(texts, dict) and texts:
        coded = {key: base64.b64encode(str(text).encode()).decode() for key, text in texts.items()}
        secret["data"] = {**_map(secret.get("data")), **coded}


def _subject(subject: Struct) -> None:
    if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
        subject["apiGroup"] = _RBAC


def _network_policy(spec: Struct) -> None:
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _autoscaler(spec: Struct) -> None:
    if not spec.get("metrics"):
        spec["metrics"] = [copy.deepcopy(_CPU)]
    behavior = spec.get("behavior")
    if isinstance(behavior, dict):
        up = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": copy.deepcopy(_UP)}
        down = {"selectPolicy": "Max", "policies": copy.deepcopy(_DOWN)}
        behavior["scaleUp"] = {**up, **_map(behavior.get("scaleUp"))}
        behavior["scaleDown"] = {**down, **_map(behavior.get("scaleDown"))}


def _device_request(request: Struct) -> None:
    if request.get("allocationMode") in (None, "", "ExactCount") and not request.get("count"):
        request["count"] = 1


def _node(spec: Struct) -> None:
    """One range of addresses is also the first of the list, as the server's own type has only the list."""
    one, many = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not many or many[0] != one):
        spec["podCIDRs"] = [one]
    elif many and isinstance(many, list):
        spec["podCIDR"] = many[0]


def _autoscaler_v1(spec: Struct) -> None:
    spec.setdefault("targetCPUUtilizationPercentage", _CPU_UTILIZATION)


def _autoscaler_v1_status(obj: Struct) -> None:
    """What this version's status cannot say stands in an annotation, which v1 has for the metrics of v2."""
    used = _map(obj.get("status")).get("currentCPUUtilizationPercentage")
    if isinstance(used, int):
        text = f'{{"name":"cpu","currentAverageUtilization":{used},"currentAverageValue":"0"}}'
        metadata = _map(obj.get("metadata"))
        annotations = {**_map(metadata.get("annotations")), _METRICS: f'[{{"type":"Resource","resource":{text}}}]'}
        metadata["annotations"] = annotations


def _device(device: Struct) -> None:
    for mapping in _map(device.get("nodeAllocatableResourceMappings")).values():
        _map(mapping).setdefault("allocationMultiplier", "1")


def _definition(obj: Struct) -> None:
    """A CustomResourceDefinition: names made of the kind, no conversion, and the version that is stored."""
    spec = _map(obj.get("spec"))
    names = _map(spec.get("names"))
    if kind := str(names.get("kind") or ""):
        names["singular"] = names.get("singular") or kind.lower()
        names["listKind"] = names.get("listKind") or f"{kind}List"
    conversion = _map(spec.setdefault("conversion", {"strategy": "None"}))
    if not _map(conversion.get("webhook")):
        conversion.pop("webhook", None)
    status = _map(obj.get("status"))
    stored = [version.get("name", "") for version in _items(spec.get("versions")) if version.get("storage") is True]
    if stored and not status.get("storedVersions"):
        status["storedVersions"] = stored[:1]


_OTHERS: Final[dict[str, Callable[[Struct], None]]] = {
    "apps.v1.DaemonSet": _daemon_set,
    "apps.v1.DaemonSetUpdateStrategy": _daemon_set_strategy,
    "apps.v1.DeploymentStrategy": _deployment_strategy,
    "apps.v1.StatefulSetSpec": _stateful_set,
    "apps.v1.StatefulSetUpdateStrategy": _stateful_set_strategy,
    "autoscaling.v2.HorizontalPodAutoscalerSpec": _autoscaler,
    "autoscaling.v1.HorizontalPodAutoscaler": _autoscaler_v1_status,
    "autoscaling.v1.HorizontalPodAutoscalerSpec": _autoscaler_v1,
    "batch.v1.Job": _job,
    "core.v1.LimitRangeItem": _limit_range_item,
    "core.v1.Namespace": _namespace,
    "core.v1.NodeSpec": _node,
    "core.v1.NodeStatus": _node_status,
    "core.v1.PersistentVolume": _persistent_volume,
    "core.v1.ReplicationController": _replication_controller,
    "core.v1.Secret": _secret,
    "core.v1.Service": _service_status,
    "core.v1.ServiceSpec": _service,
    "networking.v1.NetworkPolicySpec": _network_policy,
    "rbac.v1.Subject": _subject,
    "resource.v1.Device": _device,
    "resource.v1.DeviceSubRequest": _device_request,
    "resource.v1.ExactDeviceRequest": _device_request,
}
RULES: Final = {f"io.k8s.api.{name}": rule for name, rule in {**POD_RULES, **_OTHERS}.items()} | {
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition": _definition
}
