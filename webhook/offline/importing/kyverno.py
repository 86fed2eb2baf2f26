"""Converts Kyverno's CEL policies (policies.kyverno.io) to policies and bindings of the API server.

Matching, variables, validations and mutations use the API server's own fields. Fields that Kyverno adds are reported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, Final

from webhook.documents import Document
from webhook.jobs.kinds import BY_RESOURCE
from webhook.kube.well_known import NAMESPACE_NAME
from webhook.offline.importing.imported import Converted, Fate, ImportNote, Object, misnamed
from webhook.policy.loading.policy_kinds import ANNOTATIONS, BINDING, EXPAND, GROUP

KYVERNO: Final = "policies.kyverno.io"
OLD: Final = ("kyverno.io", "cleanup.kyverno.io")
VERSIONS: Final = ("v1alpha1", "v1beta1", "v1")
NATIVE: Final = {"ValidatingPolicy": "ValidatingAdmissionPolicy", "MutatingPolicy": "MutatingAdmissionPolicy"}
NAMESPACED: Final = "Namespaced"
TAKEN: Final = (
    "failurePolicy",
    "reinvocationPolicy",
    "matchConstraints",
    "matchConditions",
    "variables",
    "validations",
    "mutations",
    "auditAnnotations",
)
"""Fields that are the API server's own."""
DROPPED: Final = ("validationActions", "autogen", "evaluation", "webhookConfiguration")
"""Fields that are read here, or that only say how Kyverno works."""
CONTROLLERS: Final = frozenset({"cronjobs", "daemonsets", "deployments", "jobs", "replicasets", "statefulsets"})
JOBS: Final = CONTROLLERS & {resource for _, resource in BY_RESOURCE}
"""Of these, the kinds that `sluice.dev/expand` looks into, beside all other job kinds."""
PODS: Final = (["pods"], ["pods", "pods/ephemeralcontainers"])
MOST_OF_A_NAME: Final = 63
_QUALIFIED: Final = re.compile(r"([a-z0-9.-]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
NOT_CEL: Final = {
    "ClusterPolicy": "patterns and JMESPath are not CEL",
    "Policy": "patterns and JMESPath are not CEL",
    "ImageValidatingPolicy": "the API server does not verify images",
    "GeneratingPolicy": "the API server does not generate objects",
    "DeletingPolicy": "the API server does not delete objects by policy",
    "CleanupPolicy": "the API server does not delete objects by policy",
    "ClusterCleanupPolicy": "the API server does not delete objects by policy",
    "PolicyException": "write a PolicyException of sluice.dev",
}


def is_kyverno(document: Document) -> bool:
    """Return whether a document is a policy or exception of Kyverno, and not only a status, as tests have."""
    group = str(document.at(("apiVersion",))).partition("/")[0]
    kind = str(document.at(("kind",))).removeprefix(NAMESPACED)
    whole = isinstance(document.value, dict) and not ("status" in document.value and "spec" not in document.value)
    return whole and group in (KYVERNO, *OLD) and kind in (*NATIVE, *NOT_CEL)


def converted(document: Document) -> tuple[Converted | None, list[ImportNote]]:
    """Return the policy and the binding of one of Kyverno's policies, and what is told of it."""
    kind, name = str(document.value["kind"]), str(document.at(("metadata", "name")))
    what = f"{kind} {name}"
    if reasons := list(_obstacles(document, kind)):
        return None, [ImportNote(document.place(path), Fate.LEFT_OUT, what, why) for path, why in reasons]
    spec = document.value["spec"]
    made = {field: spec[field] for field in TAKEN if field in spec}
    if isinstance(conditions := made.get("matchConditions"), list):
        made["matchConditions"] = _apart([_qualified(condition) for condition in conditions])
    if kind.startswith(NAMESPACED):
        namespace = str(document.at(("metadata", "namespace")))
        made["matchConstraints"] = within(made["matchConstraints"], namespace)
        made["matchConditions"] = _apart([*(made.get("matchConditions") or ()), _inside(namespace)])
    native = NATIVE[kind.removeprefix(NAMESPACED)]
    metadata = {key: document.value["metadata"][key] for key in ("name", "labels", "annotations")
                if key in document.value["metadata"]}  # fmt: skip
    wanted = controllers(spec)
    if wanted & JOBS:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), EXPAND: ANNOTATIONS[EXPAND][0]}
    place = document.place(("spec", "autogen"))
    differs = tuple(ImportNote(place, Fate.DIFFERS, what, why) for why in _other_controllers(wanted))
    policy = {"apiVersion": f"{GROUP}/v1", "kind": native, "metadata": metadata, "spec": made}
    if native == NATIVE["MutatingPolicy"]:
        made.setdefault("reinvocationPolicy", "Never")
    bound: Object = {"policyName": name}
    if native == NATIVE["ValidatingPolicy"]:
        actions = list(spec.get("validationActions") or ["Deny"])
        bound["validationActions"] = [a for a in actions if a != "Warn" or "Deny" not in actions]
    binding = {"apiVersion": f"{GROUP}/v1", "kind": f"{native}{BINDING}", "metadata": {"name": name}, "spec": bound}
    placed = Document(policy, document.file, document.lines, document.nodes, document.keys)
    files: dict[str, tuple[Document, ...]] = {"policy.yaml": (placed, Document(binding, document.file))}
    return Converted(what, name, os.path.normpath(document.file), files, differs), []


def _other_controllers(wanted: frozenset[str]) -> Iterator[str]:
    """Yield what differs of the controllers whose pod templates Kyverno looks into."""
    if (missing := sorted(JOBS - wanted)) and wanted & JOBS:
        yield f"Kyverno excludes {', '.join(missing)}; Sluice evaluates the pod templates of every job kind"
    if others := sorted(wanted - JOBS):
        yield f"the pod templates of {', '.join(others)} are not evaluated; their pods are, when they are created"


def _obstacles(document: Document, kind: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the fields that prevent a conversion of a policy, each with the reason."""
    if why := NOT_CEL.get(kind.removeprefix(NAMESPACED)):
        yield (), why
        return
    for field in ("name", *(("namespace",) if kind.startswith(NAMESPACED) else ())):
        if why := misnamed(document.at(("metadata", field))):
            yield ("metadata", field), why
    version = str(document.value["apiVersion"]).partition("/")[2]
    if version not in VERSIONS:
        yield ("apiVersion",), f"unknown version {version}; known versions: {', '.join(VERSIONS)}"
    spec = document.value.get("spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("matchConstraints"), dict):
        yield (), "spec.matchConstraints is missing"
        return
    for field in spec:
        if field not in (*TAKEN, *DROPPED):
            yield ("spec", field), f"the API server has no {field}"
    evaluation = _map(spec.get("evaluation"))
    if evaluation.get("mode", "Kubernetes") != "Kubernetes":
        yield ("spec", "evaluation", "mode"), "it does not apply to Kubernetes objects"
    if _map(evaluation.get("admission")).get("enabled") is False:
        yield ("spec", "evaluation", "admission"), "it applies to background scans only"
    if _map(evaluation.get("mutateExisting")).get("enabled") is True:
        yield ("spec", "evaluation", "mutateExisting"), "it changes existing objects"


def controllers(spec: Object) -> frozenset[str]:
    """Return the kinds whose pod templates Kyverno looks into: none where a policy is not for Pods and nothing else."""
    named = _map(_map(spec.get("autogen")).get("podControllers")).get("controllers")
    chosen = CONTROLLERS if named is None else CONTROLLERS & set(map(str, named))
    return chosen if _for_pods(spec["matchConstraints"]) else frozenset()


def _for_pods(match: Object) -> bool:
    rules = match.get("resourceRules")
    selectors = (_map(match.get(field)) for field in ("namespaceSelector", "objectSelector"))
    if match.get("excludeResourceRules") or any(any(selector.values()) for selector in selectors):
        return False
    if not isinstance(rules, list) or len(rules) != 1 or not isinstance(rules[0], dict):
        return False
    rule = rules[0]
    core = (rule.get("apiGroups"), rule.get("apiVersions")) == ([""], ["v1"]) and not rule.get("resourceNames")
    resources = rule.get("resources")
    return core and isinstance(resources, list) and sorted(map(str, resources)) in PODS


def within(match: Object, namespace: str) -> Object:
    """Return match constraints for one namespace only."""
    selector = _map(match.get("namespaceSelector"))
    mine = {"key": NAMESPACE_NAME, "operator": "In", "values": [namespace]}
    return {
        **match,
        "namespaceSelector": {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), mine]},
    }


def _inside(namespace: str) -> Object:
    """Return the match condition for requests of a namespace: a selector of namespaces takes cluster-wide objects."""
    return {"name": "in-its-namespace", "expression": f'request.namespace == "{namespace}"'}


def _qualified(condition: Any) -> Any:
    """Return a match condition with a name that the API server takes: Kyverno takes whole sentences."""
    name = _map(condition).get("name")
    if not isinstance(name, str) or _QUALIFIED.fullmatch(name):
        return condition
    plain = re.sub(r"[^A-Za-z0-9]+", "-", name)[:MOST_OF_A_NAME].strip("-")
    return {**condition, "name": plain or "condition"}


def _apart(conditions: list[Any]) -> list[Any]:
    """Give a number to a condition whose name another one has, as two sentences may have that begin alike."""
    found: list[Any] = []
    known: set[object] = set()
    for condition in conditions:
        given = name = str(_map(condition).get("name"))
        number = 1
        while name in known:
            number += 1
            name = f"{given[: MOST_OF_A_NAME - 3]}-{number}"
        known.add(name)
        found.append(condition if name == given else {**condition, "name": name})
    return found


def _map(value: Any) -> Object:
    return value if isinstance(value, dict) else {}
