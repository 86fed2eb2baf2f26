"""Random objects of every built-in kind: fields left out, nulls, empty lists and maps, quantities as numbers.

What an API server would refuse before it asks a webhook (a text for a number, an account that is not there) is rare.
"""

import base64
import random
from typing import Any, Final

from webhook.kube.gvk import GroupVersionKind
from webhook.kube.schema import Ref, Schema, Shape
from webhook.kube.schemas import built_in_scopes, schema_of
from webhook.kube.scope import Scope
from webhook.kube.typed.go_fields import fields_of

JSON = dict[str, Any]
_DEPTH: Final = 9
_WORDS: Final = ("", "a", "b-1", "x/y", "Always", "None")
_POOLS: Final[dict[str, tuple[Any, ...]]] = {
    "type": ("", "RollingUpdate", "OnDelete", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "Container"),
    "kind": ("User", "Group", "ServiceAccount", "a"),
    "image": ("a", "a:1", "a:latest", "r:5000/a", "r/a@sha256:" + "0" * 64, ""),
    "reference": ("a", "a:1", "a:latest"),
    "sessionAffinity": ("", "None", "ClientIP"),
    "restartPolicy": ("", "Always", "Never"),
    "allocationMode": ("", "ExactCount", "All"),
    "mountPath": ("/a", "/var/run/secrets/kubernetes.io/serviceaccount"),
    "key": ("", "a", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"),
    "effect": ("", "NoExecute", "NoSchedule"),
    "serviceAccountName": ("default", ""),
    "serviceAccount": ("default", ""),
    "priorityClassName": ("", "system-node-critical"),
    "whenDeleted": ("", "Delete"),
}
_UNSAFE: Final = frozenset({"priority", "preemptionPolicy", "runtimeClassName", "nodeName"})
"""Fields of a PodSpec with which an admission plugin refuses most Pods."""
_NAMES: Final = ("cpu", "memory", "nvidia.com/gpu", "hugepages-2Mi")
_AMOUNTS: Final = ("1", "0.5", "500m", "1Gi", "1024Mi", 1, 2, 0.5, 1.5, "1e3", "0", 0)
_UNSEEN: Final = "admissionregistration.k8s.io"
"""An API server asks no webhook about the objects of this group."""
KINDS: Final = tuple(
    (GroupVersionKind(group, version, kind), served.scope is Scope.NAMESPACED)
    for (group, kind), served in built_in_scopes().items()
    for version in sorted(served.versions)
    if kind != "ComponentStatus" and group != _UNSEEN
)
"""Every kind whose objects can be made and are shown to a webhook, and whether they are in namespaces."""


class Maker:
    """Makes objects from one source of chance."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def object(self, gvk: GroupVersionKind, namespaced: bool) -> JSON:
        """A random object of a kind."""
        schema = schema_of(gvk)
        made = self._struct(schema, schema.root, 0)
        made = {k: v for k, v in made.items() if k not in ("apiVersion", "kind", "metadata")}
        version = f"{gvk.group}/{gvk.version}" if gvk.group else gvk.version
        return {"apiVersion": version, "kind": gvk.kind, "metadata": self._metadata(namespaced), **made}

    def _metadata(self, namespaced: bool) -> JSON:
        made: JSON = {"name": f"n{self.chance.randrange(10**9)}"}
        if namespaced:
            made["namespace"] = "default"
        for field in ("labels", "annotations", "finalizers"):
            match self.chance.randrange(8):
                case 0:
                    made[field] = None
                case 1:
                    made[field] = [] if field == "finalizers" else {}
                case 2 if field != "finalizers":
                    made[field] = {"a": self.chance.choice(("b", "", None))}
        return made

    def value(self, schema: Schema, ref: Ref, name: str, depth: int) -> Any:
        """A random value of a type; null one time in twelve."""
        if self.chance.random() < 0.08:
            return None
        if fields_of(ref.name) is not None:
            return self._metadata_of_template() if ref.name.endswith("ObjectMeta") else self._struct(schema, ref, depth)
        shape = schema.resolve(ref)
        if shape.list is not None and shape.code == "" and shape.scalar == "":
            most = 0 if depth > _DEPTH else 2
            element = shape.list.element
            return [self.value(schema, element, name, depth + 1) for _ in range(self.chance.randint(0, most))]
        if shape.map is not None and shape.map.others is not None and not shape.scalar:
            return self._map(schema, shape, depth)
        return self._scalar(shape, name)

    def _metadata_of_template(self) -> JSON:
        return {k: v for k, v in self._metadata(False).items() if k != "name" or self.chance.random() < 0.2}

    def _struct(self, schema: Schema, ref: Ref, depth: int) -> JSON:
        shape, made = schema.resolve(ref), {}
        fields = shape.map.fields if shape.map else {}
        likely = 0.75 if depth == 0 else min(0.6, 4 / (len(fields) + 1)) if depth < _DEPTH else 0.0
        for field, inner in fields.items():
            wanted = 0.8 if field in ("containers", "template", "ports") and depth < _DEPTH else likely
            if self.chance.random() < wanted and not (ref.name.endswith("v1.PodSpec") and field in _UNSAFE):
                made[field] = self.value(schema, inner, field, depth + 1)
        if self.chance.random() < 0.03:
            made["notAField"] = 1
        return made

    def _map(self, schema: Schema, shape: Shape, depth: int) -> JSON:
        assert shape.map is not None
        assert shape.map.others is not None
        others = shape.map.others
        quantities = schema.resolve(others).code == "q"
        keys = self.chance.sample(_NAMES if quantities else ("a", "b", "c.d"), self.chance.randint(0, 2))
        if others.name in ("*", "~"):
            return {key: self.chance.choice(_WORDS) for key in keys}
        return {key: self.value(schema, others, key, depth + 1) for key in keys}

    def _scalar(self, shape: Shape, name: str) -> Any:
        if name in _POOLS and shape.scalar == "string":
            return self.chance.choice(_POOLS[name])
        match shape.code:
            case "i":
                return self.chance.choice((0, 1, 2, 80, 100))
            case "n":
                return self.chance.choice((0, 1, 0.5))
            case "b":
                return self.chance.random() < 0.5
            case "y":
                return base64.b64encode(self.chance.choice((b"", b"a", b"ab"))).decode()
            case "t" if name in ("eventTime", "lastObservedTime", "acquireTime", "renewTime"):
                return "2026-01-02T03:04:05.000000Z"
            case "t":
                return "2026-01-02T03:04:05Z"
            case "q":
                return self.chance.choice(_AMOUNTS)
            case "x":
                return self.chance.choice((0, 1, "25%", "http", ""))
            case "s":
                return self.chance.choice(_WORDS)
        return None
