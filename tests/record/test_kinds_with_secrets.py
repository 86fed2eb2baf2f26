"""Kinds that hold secrets elsewhere than a Pod does: none reaches a recording, and it decides the same again."""

import json

import pytest

from tests.record.test_record import request
from webhook.admission.memory_facts import MemoryFacts
from webhook.admission.pipeline import mutate, validate
from webhook.kube.json_patch import Operation
from webhook.policy.loading.load_bundle import load_bundle
from webhook.record.mask import MASK, masked, masked_operations
from webhook.record.recorder import record_of
from webhook.record.replay import read_recording, replay

HIDDEN = "hunter2"
RAY_JOB = {
    "apiVersion": "ray.io/v1",
    "kind": "RayJob",
    "metadata": {"name": "r"},
    "spec": {
        "entrypoint": "python x.py",
        "runtimeEnvYAML": f"env_vars: {{WANDB_API_KEY: {HIDDEN}}}",
        "rayClusterSpec": {
            "gcsFaultToleranceOptions": {"redisPassword": {"value": HIDDEN}, "redisAddress": "redis:6379"},
            "headGroupSpec": {"rayStartParams": {"redis-password": HIDDEN, "num-cpus": "1"}},
        },
    },
}
RAY_SERVICE = {
    "apiVersion": "ray.io/v1",
    "kind": "RayService",
    "metadata": {"name": "r"},
    "spec": {"serveConfigV2": f"applications: [{{runtime_env: {{env_vars: {{KEY: {HIDDEN}}}}}}}]"},
}
SPARK = {
    "apiVersion": "sparkoperator.k8s.io/v1beta2",
    "kind": "SparkApplication",
    "metadata": {"name": "s"},
    "spec": {
        "driver": {"envVars": {"AWS_SECRET_ACCESS_KEY": HIDDEN}, "cores": 1},
        "executor": {"envVars": {"TOKEN": HIDDEN}, "env": [{"name": "TOKEN", "value": HIDDEN}]},
        "sparkConf": {
            "spark.executor.memory": "4g",
            "spark.kubernetes.driverEnv.KEY": HIDDEN,
            "spark.executorEnv.KEY": HIDDEN,
            "spark.hadoop.fs.s3a.access.key": HIDDEN,
        },
        "hadoopConf": {"fs.s3a.secret.key": HIDDEN, "fs.s3a.endpoint": "s3:9000"},
    },
}
WRAPPED = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "s"},
    "data": {"k": HIDDEN},
    "stringData": {"password": HIDDEN},
}
WRAPPER = {
    "apiVersion": "workload.codeflare.dev/v1beta2",
    "kind": "AppWrapper",
    "metadata": {"name": "a"},
    "spec": {"components": [{"template": WRAPPED}, {"template": RAY_JOB}]},
}
TOKEN = {
    "apiVersion": "authentication.k8s.io/v1",
    "kind": "TokenReview",
    "metadata": {"name": ""},
    "spec": {"token": HIDDEN, "audiences": ["api"]},
}
KINDS = [RAY_JOB, RAY_SERVICE, SPARK, WRAPPER, TOKEN]


def shape(value):
    """What stands where, without the values."""
    if isinstance(value, dict):
        return {key: shape(child) for key, child in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else type(value)


@pytest.mark.parametrize("obj", KINDS, ids=[obj["kind"] for obj in KINDS])
def test_no_secret_reaches_a_recording(obj):
    """Neither as the object, nor as what was there before, nor in the patch that writes it; the structure stays."""
    assert HIDDEN not in json.dumps(masked(obj))
    assert shape(masked(obj)) == shape(obj)
    for operation in (Operation("replace", "", obj), Operation("replace", "/spec", obj["spec"])):
        if obj is not TOKEN:
            assert HIDDEN not in json.dumps(masked_operations(request(obj), [operation]))


def test_other_fields_are_recorded_as_they_are():
    """Policies read them."""
    spec, conf = masked(SPARK)["spec"], masked(SPARK)["spec"]["sparkConf"]
    assert (spec["driver"]["cores"], conf["spark.executor.memory"]) == (1, "4g")
    assert spec["hadoopConf"] == {"fs.s3a.secret.key": MASK, "fs.s3a.endpoint": "s3:9000"}
    assert masked(RAY_JOB)["spec"]["entrypoint"] == "python x.py"
    labels = {"metadata": {"labels": {"env": "prod"}}}
    assert masked(labels) == labels


@pytest.mark.parametrize(
    ("obj", "path", "value", "recorded"),
    [
        (RAY_JOB, "/spec/runtimeEnvYAML", HIDDEN, MASK),
        (RAY_JOB, "/spec/rayClusterSpec/gcsFaultToleranceOptions/redisPassword/value", HIDDEN, MASK),
        (SPARK, "/spec/driver/envVars", {"A": HIDDEN}, {"A": MASK}),
        (SPARK, "/spec/driver/envVars/A", HIDDEN, MASK),
        (SPARK, "/spec/sparkConf/spark.executorEnv.A", HIDDEN, MASK),
        (SPARK, "/spec/sparkConf/spark.executor.memory", "8g", "8g"),
        (SPARK, "/metadata/labels/env", "prod", "prod"),
        (WRAPPER, "/spec/components/0/template/stringData/password", HIDDEN, MASK),
        (WRAPPER, "/spec/components/0/template/data", {"k": HIDDEN}, {"k": MASK}),
        (RAY_JOB, "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration/x", HIDDEN, MASK),
    ],
)
def test_patches_are_masked_at_their_place(obj, path, value, recorded):
    """A patch may write one entry of what is masked as a whole."""
    (wire,) = masked_operations(request(obj), [Operation("add", path, value)])
    assert wire["value"] == recorded


POLICIES = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: has-token}
spec:
  matchConstraints: {resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: [CREATE]}]}
  validations:
  - expression: "!has(object.spec.executor) || has(object.spec.executor.envVars.TOKEN)"
  - expression: "!has(object.spec.components) || has(object.spec.components[0].template.stringData.password)"
  - expression: "object.kind != 'RayJob'"
    message: no Ray jobs
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: with-key}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: [CREATE]}]}
  matchConditions: [{name: spark, expression: "has(object.spec.driver)"}]
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: "add", path: "/spec/driver/envVars/KEY", value: "hunter2"}]'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: has-token}
spec: {policyName: has-token, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: with-key}
spec: {policyName: with-key}
"""


def test_a_masked_recording_decides_the_same(tmp_path):
    """Presence is what policies ask, and what they write is compared masked."""
    (tmp_path / "policies.yaml").write_text(POLICIES)
    bundle, facts, lines = load_bundle([tmp_path]), MemoryFacts(), []
    for obj in KINDS:
        for phase, run in (("mutate", mutate), ("validate", validate)):
            review = request(obj)
            lines.append(json.dumps(record_of(review, run(review, bundle, facts), 0.001, phase, 1.0)).encode())
    assert HIDDEN.encode() not in b"".join(lines)
    again = replay(read_recording(lines, "f"), bundle, facts, lambda: 0.0, lambda: 0.0)
    assert (again.total, again.changed) == (10, [])
    verdicts = [json.loads(line)["verdict"] for line in lines]
    patches = [verdict["patch"] for verdict in verdicts if "patch" in verdict]
    assert patches == [[{"op": "add", "path": "/spec/driver/envVars/KEY", "value": MASK}]]
    assert [verdict["message"] for verdict in verdicts if not verdict["allowed"]] == ["has-token: no Ray jobs"]
