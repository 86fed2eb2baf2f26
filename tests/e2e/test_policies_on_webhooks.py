"""What the API server's own policies judge in the group of admission: webhooks, and neither policies nor bindings."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane.client import ApiError, Client
from tests.controlplane.cluster import ControlPlane
from webhook.documents import Document, read
from webhook.kube.typed.defaulted import defaulted
from webhook.offline.dryrun.evaluate import dry_run, inputs
from webhook.offline.dryrun.file_facts import FileFacts
from webhook.offline.dryrun.requests import Sender
from webhook.policy.loading.assemble import assemble

pytestmark = pytest.mark.cluster

JSON = dict[str, Any]
POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: judge-webhooks}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [admissionregistration.k8s.io], apiVersions: [v1], resources: ["*"], operations: [CREATE]}
  matchConditions: [{name: ours, expression: object.metadata.name.startsWith("judged-")}]
  validations:
  - expression: "false"
    messageExpression: >-
      object.kind + ' ' + object.webhooks.map(w, w.failurePolicy + ' ' + string(w.timeoutSeconds) + ' '
      + w.matchPolicy + ' ' + w.rules[0].scope + ' ' + string(has(w.namespaceSelector))).join(', ')
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: judge-webhooks}
spec: {policyName: judge-webhooks, validationActions: [Deny]}
"""
OBJECTS = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: judged-a}
webhooks: [&hook {name: a.example.com, sideEffects: None, admissionReviewVersions: [v1],
  clientConfig: {service: {name: a, namespace: default}},
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: judged-b}
webhooks: [{name: b.example.com, sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Ignore,
  timeoutSeconds: 3, clientConfig: {url: "https://hooks.example.com"}, namespaceSelector: {}, objectSelector: null,
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE], scope: Namespaced}]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: judged-c}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  validations: [{expression: "true"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: judged-d}
spec: {policyName: judged-c, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: judged-e}
spec: {policyName: judged-c}
"""


def created(kube: Client, obj: JSON) -> JSON | str:
    """The object as it would be stored, or what a policy says."""
    try:
        return kube.create(obj, dry_run=True)
    except ApiError as error:
        return error.message


@pytest.fixture
def judged(control_plane: ControlPlane) -> Iterator[Client]:
    """An API server in which the policy is in force."""
    kube = control_plane.client
    documents = [d.value for d in read(POLICY)]
    first = read(OBJECTS)[0].value
    for document in documents:
        kube.create(document)
    try:
        control_plane.wait("the policy is in force", lambda: isinstance(created(kube, first), str))
        yield kube
    finally:
        for document in documents:
            kube.delete(kube.path_of(document))


def test_webhooks_are_judged_and_policies_are_not(judged: Client) -> None:
    """Refused by the server where a dry run refuses, in its words; what nobody judges is not tried."""
    bundle = assemble(read(POLICY))
    tried = 0
    for document in read(OBJECTS):
        answer = created(judged, document.value)
        found, wrong = inputs([Document(document.value, "x.yaml")], Sender())
        assert not wrong
        assert bool(found) == isinstance(answer, str)
        for outcome in dry_run(found, bundle, FileFacts((), {}), Sender()).outcomes:
            (said,) = outcome.denials
            assert said.removeprefix("judge-webhooks: ") in str(answer)
            tried += 1
    assert tried == 2


def test_webhooks_are_read_as_the_server_reads_them(kube: Client) -> None:
    """Defaults and nulls: what the server would store is what a dry run shows to policies."""
    for document in read(OBJECTS.replace("judged-", "read-")):
        obj = document.value
        if "webhooks" in obj:
            stored = kube.create(obj, dry_run=True)
            assert defaulted(obj)["webhooks"] == stored["webhooks"]
