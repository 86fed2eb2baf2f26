"""A container without a name: no API server looks into the raw template of an AppWrapper before a policy does."""

from pathlib import Path

import pytest
import yaml

from tests.policy.support import request
from tests.shared import ROOT
from webhook.admission import review
from webhook.admission.memory_facts import MemoryFacts
from webhook.policy.loading.load_bundle import load_bundle

WRONG_IN_ALL = """
image: a
env: [{name: PASSWORD, value: secret}]
ports: [{containerPort: 80, hostPort: 80}]
livenessProbe: {httpGet: {host: example.com, port: 80}}
securityContext:
  privileged: true
  procMount: Unmasked
  runAsUser: 0
  capabilities: {add: [SYS_ADMIN]}
  seccompProfile: {type: Unconfined}
  appArmorProfile: {type: Unconfined}
resources:
  requests: {memory: 2Gi, nvidia.com/gpu: "0.5"}
  limits: {memory: 1Gi, nvidia.com/gpu: "0.25", nvidia.com/mig-1g.5gb: "1", nvidia.com/mig-2g.10gb: "1"}
"""
LIMITS = """
apiVersion: v1
kind: LimitRange
metadata: {name: limits, namespace: ml}
spec:
  limits:
  - type: Container
    default: {ephemeral-storage: 1Gi}
    min: {cpu: 1}
    max: {memory: 1Mi}
    maxLimitRequestRatio: {memory: 1}
"""


def wrapped(pod_spec):
    template = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": pod_spec}}}
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"name": "raw", "namespace": "ml", "labels": {"kueue.x-k8s.io/queue-name": "main"}},
        "spec": {"suspend": True, "components": [{"template": template}]},
    }


@pytest.mark.parametrize("field", ["containers", "initContainers"])
@pytest.mark.parametrize("folder", ["policies", "policies/library"])
def test_every_policy_can_speak_of_it(folder, field):
    bundle = load_bundle([Path(ROOT, folder)])
    objects = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}, yaml.safe_load(LIMITS)]
    facts = MemoryFacts([*objects, *bundle.objects])
    verdict = review(request(wrapped({field: [yaml.safe_load(WRONG_IN_ALL)]})), bundle, facts)
    assert [text for text in (*verdict.denials, *verdict.warnings) if "resulted in error" in text] == []
    assert any("container (no name)" in text for text in verdict.denials)
