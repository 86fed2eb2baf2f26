"""The policies and objects of the comparison, as documents.

Every policy gets a namespace of its own on each side, and its bindings are narrowed to that namespace, so that all
policies can be installed at once.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from webhook.yaml_library import LOADER

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
JSON = dict[str, Any]

GROUP = "admissionregistration.k8s.io/v1"
_POD = "has(object.spec.template) ? object.spec.template.spec : object.spec"
_VARIABLES = [
    {"name": "spec", "expression": _POD},
    {"name": "containers", "expression": "variables.spec.containers + variables.spec.?initContainers.orValue([])"},
]
_RULES = [
    {"apiGroups": ["", "batch", "apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
     "resources": ["pods", "jobs", "deployments"]},
]  # fmt: skip
_CLUSTERED = "StorageClass"
"""The kind of the parameters that are in no namespace."""
_COMMON = frozenset(
    {"Pod", "Job", "CronJob", "Deployment", "StatefulSet", "Service", "Ingress", "PersistentVolumeClaim"}
    | {"PodDisruptionBudget", "ServiceAccount", "Role", "RoleBinding"}
)
_BINDINGS = ("ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding")


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy with its bindings and parameters, as written."""

    name: str
    documents: tuple[JSON, ...]

    @property
    def expanded(self) -> bool:
        """Whether Sluice also applies it to pod templates, which the native engine cannot."""
        return any("sluice.dev/expand" in d["metadata"].get("annotations", {}) for d in self.documents)

    def on(self, side: str) -> list[JSON]:
        """The documents for one side (`native` or `sluice`): bindings narrowed, parameters in its namespace."""
        return [_narrowed(d, self.name, side, self.namespace(side)) for d in copy.deepcopy(self.documents)]

    def namespace(self, side: str) -> str:
        """The namespace of this policy on that side."""
        return f"{side}-{self.name}"


def _narrowed(document: JSON, policy: str, side: str, namespace: str) -> JSON:
    if document["kind"] in _BINDINGS:
        match = document["spec"].setdefault("matchResources", {})
        match["namespaceSelector"] = {"matchLabels": {"tests/policy": policy, "tests/side": side}}
        if "namespace" in (document["spec"].get("paramRef") or {}):
            document["spec"]["paramRef"]["namespace"] = namespace
    elif "paramKind" in document.get("spec", {}):  # one that is not served fails wherever the policy matches
        match = document["spec"]["matchConstraints"]
        match["namespaceSelector"] = {"matchLabels": {"tests/policy": policy, "tests/side": side}}
        if "namespace" in (document["spec"].get("paramRef") or {}):
            document["spec"]["paramRef"]["namespace"] = namespace
    elif document["apiVersion"] != GROUP and document["kind"] != _CLUSTERED:
        document["metadata"]["namespace"] = namespace
    return document


def policies() -> list[Policy]:
    """Every policy of the comparison: the tables' rows, then the files."""
    return [
        *map(_from_row, next(_read(HERE / "rules.yaml"))),
        *map(_mutating, next(_read(HERE / "mutations.yaml"))),
        *(Policy(path.stem, tuple(_read(path))) for path in sorted((HERE / "policies").glob("*.yaml"))),
    ]


def shipped() -> list[Policy]:
    """The policies that Sluice ships, each folder as one."""
    files = sorted((ROOT / "policies").glob("*/policy.yaml"))
    return [Policy(path.parent.name, tuple(_read(path))) for path in files]


def library() -> list[tuple[Policy, list[JSON]]]:
    """The admission policies of the library, each with the objects of its suite that it is about natively.

    Objects of the cluster, and of kinds that only some clusters have, are left out, for the comparison has namespaces
    of its own. So are job templates, for policies that annotations bring to them.
    """
    found = []
    for file in sorted((ROOT / "policies/library").glob("*/policy.yaml")):
        policy = Policy(file.parent.name, tuple(_read(file)))
        cases = next(_read(file.with_name("suite.yaml")))["cases"]
        objs = [case["object"] for case in cases if "object" in case]
        kinds = {"Pod"} if policy.expanded else _COMMON
        chosen = [obj for obj in objs if obj["kind"] in kinds]
        if chosen and policy.documents[0]["apiVersion"] == GROUP:
            found.append((policy, chosen))
    return found


def changing() -> list[Policy]:
    """The policies that are shown updates and deletions."""
    return [Policy(path.stem, tuple(_read(path))) for path in sorted((HERE / "changes").glob("*.yaml"))]


def changes() -> tuple[JSON, list[JSON]]:
    """The object that is there, and the requests that change it."""
    document = next(_read(HERE / "changes.yaml"))
    return document["existing"], document["requests"]


def objects() -> list[JSON]:
    """Every object of the comparison."""
    return [obj for path in sorted((HERE / "objects").glob("*.yaml")) for obj in _read(path)]


def _read(path: Path) -> Iterator[JSON]:
    return (d for d in yaml.load_all(path.read_text(encoding="utf-8"), LOADER) if d)


def _from_row(row: JSON) -> Policy:
    validation = {
        "expression": row["check"],
        **{k: row[k] for k in ("message", "messageExpression", "reason") if k in row},
    }
    validations = [validation, *([row["second"]] if "second" in row else [])]
    spec = {
        "failurePolicy": row.get("failurePolicy", "Fail"),
        "matchConstraints": {"resourceRules": _RULES},
        "variables": _VARIABLES,
        "validations": validations,
    }
    meta = {"name": row["name"]}
    policy = {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicy", "metadata": meta, "spec": spec}
    binding = {
        "apiVersion": GROUP,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": meta,
        "spec": {"policyName": row["name"], "validationActions": ["Deny"]},
    }
    return Policy(row["name"], (policy, binding))


def _mutating(row: JSON) -> Policy:
    spec = {
        "failurePolicy": row.get("failurePolicy", "Fail"),
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": _RULES},
        "mutations": [_mutation(step) for step in row["do"]],
    }
    meta = {"name": row["name"]}
    policy = {"apiVersion": GROUP, "kind": "MutatingAdmissionPolicy", "metadata": meta, "spec": spec}
    binding = {
        "apiVersion": GROUP,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": meta,
        "spec": {"policyName": row["name"]},
    }
    return Policy(row["name"], (policy, binding))


def _mutation(step: JSON) -> JSON:
    if "apply" in step:
        return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": step["apply"]}}
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": step["patch"]}}
