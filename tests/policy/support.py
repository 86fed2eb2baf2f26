"""Policies from text, requests from objects: what the tests of the engine build with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import yaml

from webhook import documents
from webhook.cel import CALL_LIMIT
from webhook.jobs.kinds import kind_of
from webhook.kube.gvk import GroupVersionResource, gvk_of
from webhook.policy.bundle import Bundle
from webhook.policy.loading.assemble import assemble
from webhook.policy.request import Request

PODS = "[{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: ['*']}]"


def bundle(text: str, file: str = "policy.yaml") -> Bundle:
    """Load policies from text."""
    return assemble(documents.read(text, file))


def with_budget(policies: Bundle, units: int) -> Bundle:
    """Give the policies with another budget for all expressions of each."""
    return Bundle.of([replace(policy, cost_limits=(units, CALL_LIMIT)) for policy in policies.policies])


def request(obj: Any, old: Any = None, operation: str = "CREATE", **fields: Any) -> Request:
    """A request about an object, given as a dict or as YAML text."""
    obj, old = (yaml.safe_load(o) if isinstance(o, str) else o for o in (obj, old))
    shown = obj if obj is not None else old
    gvk = gvk_of(shown)
    row = kind_of(gvk.group, gvk.kind)
    resource = row.resource if row else gvk.kind.lower() + "s"
    meta = shown.get("metadata", {})
    namespace = fields.pop("namespace", meta.get("namespace", "default"))
    user = fields.pop("user_info", {"username": "alice", "groups": ["ml"]})
    wire = {
        "uid": "u1",
        "kind": {"group": gvk.group, "version": gvk.version, "kind": gvk.kind},
        "resource": {"group": gvk.group, "version": gvk.version, "resource": resource},
        "namespace": namespace,
        "operation": operation,
        "userInfo": user,
    }
    return Request(
        uid="u1",
        kind=gvk,
        resource=GroupVersionResource(gvk.group, gvk.version, resource),
        operation=operation,
        object=obj,
        old_object=old,
        name=meta.get("name", ""),
        namespace=namespace,
        user_info=user,
        attributes=wire,
        **fields,
    )


def admitted(owner: dict[str, Any]) -> dict[str, Any]:
    """The Workload of a job, admitted."""
    meta = owner["metadata"]
    named = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}
    references = [{**named, "controller": True}]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": meta["namespace"], "ownerReferences": references},
        "status": {"conditions": [{"type": "Admitted", "status": "True"}]},
    }


def validating(expression: str, rules: str = PODS, extra: str = "", actions: str = "[Deny]", name: str = "p") -> str:
    """A validating policy with one rule, and its binding, as YAML text."""
    return f"""
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  matchConstraints: {{resourceRules: {rules}}}
  validations:
  - expression: >-
      {expression}
{extra}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {name}-b}}
spec: {{policyName: {name}, validationActions: {actions}}}
---
"""


def mutating(
    patch: str, rules: str = PODS, extra: str = "", name: str = "m", annotations: str = "{}", apply: bool = False
) -> str:
    """A mutating policy with one mutation, and its binding, as YAML text."""
    field = "applyConfiguration" if apply else "jsonPatch"
    kind = "ApplyConfiguration" if apply else "JSONPatch"
    return f"""
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {{name: {name}, annotations: {annotations}}}
spec:
  reinvocationPolicy: IfNeeded
  matchConstraints: {{resourceRules: {rules}}}
  mutations:
  - patchType: {kind}
    {field}:
      expression: >-
        {patch}
{extra}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {{name: {name}-b}}
spec: {{policyName: {name}}}
---
"""
