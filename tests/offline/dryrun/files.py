"""Policies and objects that the tests of dry-run, explain and replay share."""

GPU = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: whole-gpus
  annotations: {sluice.dev/expand: pod-templates}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {team: "yes"}}
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE, UPDATE]}
  matchConditions:
  - {name: not-exempt, expression: '!("exempt" in object.metadata.?labels.orValue({}))'}
  variables:
  - {name: all, expression: "object.spec.containers + object.spec.?initContainers.orValue([])"}
  validations:
  - expression: >-
      variables.all.all(c, !("nvidia.com/gpu" in c.?resources.?limits.orValue({}))
        || quantity(c.resources.limits["nvidia.com/gpu"]).isInteger())
    message: give GPUs in whole units
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: whole-gpus}
spec: {policyName: whole-gpus, validationActions: [Deny]}
"""

SUSPEND = """apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: suspend}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {team: "yes"}}
    resourceRules:
    - {apiGroups: [batch], apiVersions: [v1], resources: [jobs], operations: [CREATE]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: "Object{spec: Object.spec{suspend: true}}"
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: suspend}
spec: {policyName: suspend}
"""

NAMESPACE = """apiVersion: v1
kind: Namespace
metadata: {name: team-a, labels: {team: "yes", sluice.dev/managed: "true"}}
"""


QUEUES = """apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: a100}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: research}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: a100
      resources: [{name: nvidia.com/gpu, nominalQuota: 4}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: gpu, namespace: team-a}
spec: {clusterQueue: research}
"""


def job(name: str, gpus: object = 1) -> str:
    """A Job of one container with a limit of GPUs."""
    return f"""apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: team-a, labels: {{kueue.x-k8s.io/queue-name: gpu}}}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: registry.example/train:1
        resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""


def together(*documents: str) -> str:
    """Several documents in one file."""
    return "---\n".join(documents)
