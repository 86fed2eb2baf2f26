"""The admission plugins that are on by default: what they set in a new object before any webhook or policy sees it.

In the order of the API server. Plugins that read other objects are in `from_objects.py`; RuntimeClass is not
implemented. Rules: k8s.io/kubernetes plugin/pkg/admission, each plugin's Admit.
"""

from __future__ import annotations

import copy
from typing import Any, Final

from webhook.kube.typed.from_objects import Listed, ingress_class, limit_ranges, nothing, priority_class, storage_class
from webhook.kube.typed.structs import structs

Object = dict[str, Any]
_MIRROR: Final = "kubernetes.io/config.mirror"
_ACCESS_VOLUME: Final = "kube-api-access-"
_ACCESS_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME_SUFFIX: Final = "x"
"""A fixed substitute for the five random characters that end the name of a token volume."""
_SECONDS: Final = 300
_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_PRIORITIES: Final = {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}
_SOURCES: Final = (
    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
    {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
    {
        "downwardAPI": {
            "items": [{"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}, "path": "namespace"}]
        }
    },
)
_FINALIZERS: Final = {
    ("v1", "PersistentVolume"): "kubernetes.io/pv-protection",
    ("v1", "PersistentVolumeClaim"): "kubernetes.io/pvc-protection",
    ("storage.k8s.io/v1", "VolumeAttributesClass"): "kubernetes.io/vac-protection",
}


def admitted(obj: Object, listed: Listed = nothing) -> Object:
    """Return a new object, `defaulted` before, with what the plugins set in it. `obj` is not changed.

    `listed` returns the cluster's other objects, as far as they are known. An object whose metadata the API server
    could not read comes to no plugin.
    """
    if not _is_readable(obj.get("metadata")):
        return obj
    kind = (str(obj.get("apiVersion")), str(obj.get("kind")))
    if kind == ("v1", "Pod") and isinstance(obj.get("spec"), dict):
        obj = copy.deepcopy(obj)
        limit_ranges(obj, listed)
        _account(obj)
        _priority(obj["spec"], listed)
        _tolerations(obj["spec"])
    elif kind == ("v1", "Node") and isinstance(obj.get("spec"), dict):
        obj = copy.deepcopy(obj)
        _not_ready(obj["spec"])
    elif kind == ("networking.k8s.io/v1", "Ingress"):
        obj = ingress_class(obj, listed)
    elif kind == ("v1", "PersistentVolumeClaim"):
        obj = _protected(storage_class(obj, listed), _FINALIZERS[kind])
    elif finalizer := _FINALIZERS.get(kind):
        obj = _protected(obj, finalizer)
    return obj


def _is_readable(metadata: Any) -> bool:
    """Return whether what plugins read of an object's metadata has its type, or is not there (ObjectMeta)."""
    if metadata is None:
        return True
    if not isinstance(metadata, dict):
        return False
    annotations, finalizers = metadata.get("annotations") or {}, metadata.get("finalizers") or []
    return isinstance(annotations, dict) and isinstance(finalizers, list)


def _protected(obj: Object, finalizer: str) -> Object:
    """StorageObjectInUseProtection: a finalizer keeps volumes and claims in use from being deleted."""
    metadata = obj.get("metadata")
    kept = list(metadata.get("finalizers") or ()) if isinstance(metadata, dict) else [finalizer]
    return obj if finalizer in kept else {**obj, "metadata": {**obj["metadata"], "finalizers": [*kept, finalizer]}}


def _account(pod: Object) -> None:
    """ServiceAccount: the namespace's default account, and its token in every container."""
    spec, annotations = pod["spec"], (pod.get("metadata") or {}).get("annotations")
    if isinstance(annotations, dict) and _MIRROR in annotations:
        return
    spec["serviceAccountName"] = spec["serviceAccount"] = spec.get("serviceAccountName") or "default"
    if spec.get("automountServiceAccountToken", True) is not True:
        return
    volumes = list(structs(spec, "volumes"))
    there = next((v["name"] for v in volumes if str(v.get("name")).startswith(_ACCESS_VOLUME)), None)
    name = there or f"{_ACCESS_VOLUME}{VOLUME_SUFFIX}"
    needed = False
    for container in (*structs(spec, "initContainers"), *structs(spec, "containers")):
        if all(mount.get("mountPath") != _ACCESS_PATH for mount in structs(container, "volumeMounts")):
            mount = {"mountPath": _ACCESS_PATH, "name": name, "readOnly": True}
            container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
            needed = True
    if needed and there is None:
        projected = {"defaultMode": 0o644, "sources": copy.deepcopy(list(_SOURCES))}
        spec["volumes"] = [*(spec.get("volumes") or ()), {"name": name, "projected": projected}]


def _tolerations(spec: Object) -> None:
    """DefaultTolerationSeconds: five minutes on a node that is lost, unless the Pod says otherwise."""
    given = list(structs(spec, "tolerations"))
    added = [
        {"effect": "NoExecute", "key": taint, "operator": "Exists", "tolerationSeconds": _SECONDS}
        for taint in _TAINTS
        if not any(t.get("key", "") in ("", taint) and t.get("effect", "") in ("", "NoExecute") for t in given)
    ]
    if added:
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *added]


def _priority(spec: Object, listed: Listed) -> None:
    """Priority: that of the Pod's class, if it is one of the two each cluster has or is known; or 0 for no class."""
    known = priority_class(spec, listed) or {}
    name = spec.get("priorityClassName") or ""
    if known or not name or name in _PRIORITIES:
        spec.setdefault("priority", known.get("value", _PRIORITIES.get(name, 0)))
        spec.setdefault("preemptionPolicy", known.get("preemptionPolicy") or "PreemptLowerPriority")


def _not_ready(spec: Object) -> None:
    """TaintNodesByCondition: a new node takes no Pods until it is ready."""
    taint = {"effect": "NoSchedule", "key": _TAINTS[0]}
    if not any(all(t.get(k) == v for k, v in taint.items()) for t in structs(spec, "taints")):
        spec["taints"] = [*(spec.get("taints") or ()), taint]
