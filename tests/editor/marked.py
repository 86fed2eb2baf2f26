"""Texts with a mark where the cursor is."""

from pathlib import Path

from webhook.editor.workspace import Workspace

MARK = "‸"
POLICY = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: images
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - apiGroups: [""]
      apiVersions: [v1]
      resources: [pods]
      operations: [CREATE]
  variables:
  - name: names
    expression: object.spec.containers.map(c, c.name)
  - name: first
    expression: object.spec.containers[0]
  validations:
  - expression: EXPRESSION
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: images
spec:
  policyName: images
  validationActions: [Deny]
  paramRef: {name: allowed, namespace: default, parameterNotFoundAction: Deny}
"""
MUTATION = """apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: m}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [batch], apiVersions: [v1], resources: [jobs], operations: [CREATE]}
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >-
        EXPRESSION
"""
RULES = """apiVersion: sluice.dev/v1alpha1
kind: QueuePolicy
metadata: {name: small-first}
spec:
  extends: [kueue]
  parameters: {limit: 4}
  order:
  - EXPRESSION
"""


def placed(text):
    """Give the text without its mark, and the mark's line and column."""
    at = text.index(MARK)
    return text.replace(MARK, ""), text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def opened(text, path=Path("/repository/policy.yaml")):
    """Give a repository in which a text is open, with the file and the place of its mark."""
    plain, line, column = placed(text)
    workspace = Workspace()
    workspace.write(path, plain)
    return workspace, path, line, column
