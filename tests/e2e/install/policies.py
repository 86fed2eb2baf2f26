"""Policies of the tests: what they deny, and whether it is denied."""

from tests.controlplane.client import ApiError
from tests.e2e.release import Release


def denying(resource: str) -> str:
    """A policy file by which objects named `denied` are denied."""
    return f"""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: no-{resource}}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [{resource}]}}]
  validations: [{{expression: object.metadata.name != "denied", message: no such {resource}}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: no-{resource}}}
spec: {{policyName: no-{resource}, validationActions: [Deny]}}
"""


def denied(release: Release, kind: str, namespace: str = "in-git") -> bool:
    """Whether an object named `denied` is."""
    obj = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "denied", "namespace": namespace}}
    if kind == "Service":
        obj["spec"] = {"ports": [{"port": 80}]}
    try:
        release.client.create(obj, dry_run=True)
    except ApiError as error:
        return "denied the request" in error.message
    return False
