"""Objects that mutations are tried on, and the trees of fields that they may write: real kinds, one without a schema.

A tree names fields with their shapes: `str`, `int` and `bool`, BAG for a map of texts, a dict for an object, a list
with the shape of its elements.
"""

from typing import Any, Final

JSON = dict[str, Any]
BAG: Final = "bag"

_META: Final[JSON] = {
    "name": "train",
    "namespace": "team-a",
    "generation": 3,
    "labels": {"app": "train", "example.com/a": "x", "x~y": "t"},
    "annotations": {"note": "hello"},
    "finalizers": ["b", "a"],
}
_META_TREE: Final[JSON] = {"labels": BAG, "annotations": BAG, "finalizers": ["str"], "generation": "int"}
_CONTAINER: Final[JSON] = {
    "name": "main",
    "image": "a:1",
    "command": ["run"],
    "args": [],
    "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    "ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 81}],
    "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": "2"}, "requests": {"cpu": "500m"}},
    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    "securityContext": {"runAsUser": 5, "capabilities": {"add": ["A"], "drop": ["ALL"]}},
}
_POD: Final[JSON] = {
    "restartPolicy": "Never",
    "containers": [_CONTAINER, {"name": "side", "image": "b:2"}],
    "initContainers": [{"name": "init", "image": "c"}],
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "nodeSelector": {"disk": "ssd"},
    "volumes": [{"name": "data", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "cm", "configMap": {"name": "x"}}],
    "imagePullSecrets": [{"name": "s"}],
    "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["h"]}],
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
}
_CONTAINER_TREE: Final[JSON] = {
    "name": "str",
    "image": "str",
    "command": ["str"],
    "args": ["str"],
    "env": [{"name": "str", "value": "str", "valueFrom": {"fieldRef": {"fieldPath": "str"}}}],
    "ports": [{"containerPort": "int", "protocol": "str", "name": "str"}],
    "resources": {"limits": BAG, "requests": BAG},
    "volumeMounts": [{"name": "str", "mountPath": "str", "readOnly": "bool"}],
    "securityContext": {"runAsUser": "int", "privileged": "bool", "capabilities": {"add": ["str"], "drop": ["str"]}},
    "tty": "bool",
    "livenessProbe": {"periodSeconds": "int", "exec": {"command": ["str"]}, "httpGet": {"port": "int", "path": "str"}},
}
_POD_TREE: Final[JSON] = {
    "restartPolicy": "str",
    "containers": [_CONTAINER_TREE],
    "initContainers": [_CONTAINER_TREE],
    "tolerations": [{"key": "str", "operator": "str", "tolerationSeconds": "int"}],
    "nodeSelector": BAG,
    "volumes": [{"name": "str", "emptyDir": {"sizeLimit": "str", "medium": "str"}, "configMap": {"name": "str"}}],
    "imagePullSecrets": [{"name": "str"}],
    "hostAliases": [{"ip": "str", "hostnames": ["str"]}],
    "topologySpreadConstraints": [{"maxSkew": "int", "topologyKey": "str", "whenUnsatisfiable": "str"}],
    "schedulingGates": [{"name": "str"}],
    "hostNetwork": "bool",
    "terminationGracePeriodSeconds": "int",
    "securityContext": {
        "runAsUser": "int",
        "supplementalGroups": ["int"],
        "sysctls": [{"name": "str", "value": "str"}],
    },
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": "int"}]}},
    "overhead": BAG,
}
_TEMPLATE: Final[JSON] = {"metadata": {"labels": {"app": "train"}}, "spec": _POD}
_TEMPLATE_TREE: Final[JSON] = {"metadata": _META_TREE, "spec": _POD_TREE}

OBJECTS: Final[dict[str, JSON]] = {
    "Job": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _META,
        "spec": {
            "parallelism": 2,
            "suspend": False,
            "template": _TEMPLATE,
            "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "x", "status": "True"}]}]},
        },
    },
    "Pod": {"apiVersion": "v1", "kind": "Pod", "metadata": _META, "spec": _POD},
    "Deployment": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _META,
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "train"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
            "template": _TEMPLATE,
        },
    },
    "Custom": {
        "apiVersion": "example.com/v1",
        "kind": "Train",
        "metadata": _META,
        "spec": {
            "suspend": False,
            "parallelism": 2,
            "ratio": 1.5,
            "groups": [{"name": "a", "replicas": 1}, {"name": "b", "replicas": 2, "tags": ["x"]}],
            "roles": {"Worker": {"replicas": 2, "template": {"spec": {"containers": [_CONTAINER]}}}},
            "empty": {},
            "none": None,
            "list": [1, 2],
        },
    },
}
TREES: Final[dict[str, JSON]] = {
    "Job": {
        "metadata": _META_TREE,
        "spec": {
            "parallelism": "int",
            "suspend": "bool",
            "ttlSecondsAfterFinished": "int",
            "template": _TEMPLATE_TREE,
            "podFailurePolicy": {"rules": [{"action": "str"}]},
            "selector": {"matchLabels": BAG},
        },
    },
    "Pod": {"metadata": _META_TREE, "spec": _POD_TREE},
    "Deployment": {
        "metadata": _META_TREE,
        "spec": {
            "replicas": "int",
            "paused": "bool",
            "selector": {
                "matchLabels": BAG,
                "matchExpressions": [{"key": "str", "operator": "str", "values": ["str"]}],
            },
            "strategy": {"type": "str", "rollingUpdate": {"maxSurge": "str", "maxUnavailable": "int"}},
            "template": _TEMPLATE_TREE,
        },
    },
    "Custom": {
        "metadata": _META_TREE,
        "spec": {
            "suspend": "bool",
            "parallelism": "int",
            "groups": [{"name": "str", "replicas": "int", "tags": ["str"]}],
            "roles": {"Worker": {"replicas": "int", "template": _TEMPLATE_TREE}, "Master": {"replicas": "int"}},
            "empty": {"a": "int"},
            "none": {"a": "int"},
            "list": ["int"],
            "more": BAG,
        },
    },
}
