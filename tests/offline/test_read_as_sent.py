"""`dry-run`, `explain`, `test` and `eval` read a file as the API server reads an object, all of them alike."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.offline.running import invoke
from webhook.cli.commands.policies.dry_run import dry_run_command
from webhook.cli.commands.policies.eval import eval_command
from webhook.cli.commands.policies.explain import explain_command
from webhook.cli.commands.policies.test import test as suites_command
from webhook.kube.gvk import GroupVersionKind
from webhook.offline.dryrun.requests import ResourceScopes, Sender, received

POLICY = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: [CREATE]}]
  validations: [{expression: "EXPRESSION"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny]}
"""
SUITE = """apiVersion: sluice.dev/v1alpha1
kind: Suite
policies: [policy.yaml]
cases: [{name: a, object: object.yaml, expect: {allowed: true}}]
"""
ROWS = {
    "a default": (
        "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}",
        "object.spec.type == 'ClusterIP' && object.spec.ports[0].targetPort == 80",
    ),
    "rules that are not there": (
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}}",
        "object.rules == null",
    ),
    "a null": (
        "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: null}, spec: {hostPID: null, containers: []}}",
        "!has(object.spec.hostPID) && !has(object.metadata.labels)",
    ),
    "a null in a label": (
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: null}}}",
        "object.metadata.labels['x'] == ''",
    ),
    "a null of a custom kind": (
        "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: a, annotations: null, labels: {x: null}},"
        " spec: {runPolicy: null, pytorchReplicaSpecs: {Worker: {replicas: null, template: {}}}}}",
        "!has(object.spec.runPolicy) && !has(object.spec.pytorchReplicaSpecs.Worker.replicas)"
        " && !has(object.metadata.annotations) && object.metadata.labels['x'] == ''",
    ),
    "a number that is a quantity": (
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: "
        "[{name: c, image: i, resources: {limits: {cpu: 2}}}]}}",
        "quantity(object.spec.containers[0].resources.requests.cpu).isInteger()",
    ),
    "a number that is a quantity in a job of a custom kind": (
        "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: a}, spec: {pytorchReplicaSpecs: {Worker: "
        "{template: {spec: {containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 2}}}]}}}}}}",
        "object.spec.pytorchReplicaSpecs.Worker.template.spec.containers.all(c,"
        " quantity(c.resources.limits['nvidia.com/gpu']).isInteger())",
    ),
    "a field that no type has": (
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {hostNetwrk: true, containers: [{name: c, image: i}]}}",
        "!('hostNetwrk' in dyn(object.spec))",
    ),
    "the token of an account": (
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}",
        "object.spec.volumes.all(v, v.projected.sources.exists(s, has(s.serviceAccountToken)))"
        " && object.spec.tolerations.size() == 2 && object.spec.priority == 0",
    ),
    "a kind without a namespace": (
        "{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: a}, spec: {}}",
        "!has(object.metadata.namespace) && object.spec.attachRequired",
    ),
}


@pytest.fixture(params=ROWS)
def asked(request, tmp_path, monkeypatch):
    """A folder with an object, a policy that holds for what the API server makes of it, and a suite of the two."""
    monkeypatch.chdir(tmp_path)
    obj, expression = ROWS[request.param]
    Path("object.yaml").write_text(obj)
    Path("policy.yaml").write_text(POLICY.replace("EXPRESSION", expression))
    Path("suite.yaml").write_text(SUITE)
    return expression


def dry_run() -> bool:
    (found,) = json.loads(invoke(dry_run_command, "-f", "object.yaml", "-p", "policy.yaml", "-o", "json").stdout)[
        "objects"
    ]
    return found["allowed"] and found["policies"] == ["p"]


def explain() -> bool:
    (found,) = json.loads(invoke(explain_command, "-f", "object.yaml", "-p", "policy.yaml", "-o", "json").stdout)
    return [c["outcome"] for c in found["trace"][0]["clauses"]] == ["true"]


def suite() -> bool:
    return "1 passed, 0 failed" in invoke(suites_command, ".").stdout


@pytest.mark.parametrize("tool", [dry_run, explain, suite], ids=lambda tool: tool.__name__)
def test_a_policy_sees_what_the_api_server_hands_over(asked: str, tool: Callable[[], bool]) -> None:
    """Defaults, nulls, pruned fields, quantities, and what the plugins add."""
    assert tool()


def test_an_expression_does_too(asked: str) -> None:
    """`eval`, of the same file."""
    done = invoke(eval_command, asked, "--object", "object.yaml", "-o", "json")
    assert json.loads(done.stdout)["value"] == {"t": "bool", "v": True}


CLUSTERED = [
    GroupVersionKind(group, "v1", kind)
    for group, kinds in {
        "": "Namespace Node PersistentVolume",
        "admissionregistration.k8s.io": "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
        "apiextensions.k8s.io": "CustomResourceDefinition",
        "apiregistration.k8s.io": "APIService",
        "certificates.k8s.io": "CertificateSigningRequest",
        "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
        "networking.k8s.io": "IngressClass IPAddress ServiceCIDR",
        "node.k8s.io": "RuntimeClass",
        "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
        "resource.k8s.io": "DeviceClass ResourceSlice",
        "scheduling.k8s.io": "PriorityClass",
        "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
    }.items()
    for kind in kinds.split()
]


@pytest.mark.parametrize("gvk", CLUSTERED, ids=lambda gvk: gvk.kind)
def test_what_is_in_no_namespace_gets_none(gvk):
    """Whatever the file says and wherever it is sent to."""
    obj = {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": {"name": "a", "namespace": "team-a"}}
    assert "namespace" not in received(obj, ResourceScopes(), Sender(namespace="team-b"))["metadata"]
