"""The AdmissionReviews that the benchmarks send: a Job's and a PyTorchJob's, as the API server sends them."""

import copy
from pathlib import Path
from typing import Any

import orjson

from tests.shared import ROOT
from webhook.admission.memory_facts import MemoryFacts
from webhook.admission.pipeline import mutate
from webhook.admission.verdict import Verdict
from webhook.admission.wire import parse
from webhook.policy.loading.load_bundle import load_bundle

JSON = dict[str, Any]
USER = {"username": "admin", "uid": "admin", "groups": ["system:masters", "system:authenticated"]}
LABELS = {"kueue.x-k8s.io/queue-name": "team-a"}


def job() -> bytes:
    """A CREATE of a Job, 4.1 KB: the API server's own, where this machine has the reference data, else one like it."""
    path = ROOT.parent / "shared" / "bench" / "review-job.json"
    return path.read_bytes() if path.exists() else orjson.dumps(_job())


def pytorch_job() -> bytes:
    """A CREATE of a PyTorchJob with a master and workers, 12 KB with its managedFields."""
    spec = {
        "runPolicy": {"cleanPodPolicy": "None", "backoffLimit": 3},
        "nprocPerNode": "8",
        "pytorchReplicaSpecs": {
            name: {"replicas": count, "restartPolicy": "OnFailure", "template": _template(name.lower(), 30)}
            for name, count in (("Master", 1), ("Worker", 7))
        },
    }
    return orjson.dumps(_review("kubeflow.org", "PyTorchJob", "pytorchjobs", spec))


def _job() -> JSON:
    spec = {"parallelism": 3, "completions": 3, "backoffLimit": 6, "suspend": False, "template": _template("main", 3)}
    return _review("batch", "Job", "jobs", spec)


def _review(group: str, kind: str, resource: str, spec: JSON) -> JSON:
    obj = {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": "bench", "namespace": "default", "labels": dict(LABELS)},
        "spec": spec,
    }
    fields = {"f:metadata": {"f:labels": _fields(LABELS)}, "f:spec": _fields(spec)}
    entry = {"manager": "kubectl", "operation": "Update", "apiVersion": f"{group}/v1", "fieldsType": "FieldsV1"}
    managed = copy.deepcopy(obj)
    managed["metadata"]["managedFields"] = [{**entry, "time": "2026-11-20T11:13:59Z", "fieldsV1": fields}]
    names = {
        "kind": {"group": group, "version": "v1", "kind": kind},
        "resource": {"group": group, "version": "v1", "resource": resource},
    }
    request = {
        "uid": "09d522d1-3042-4ec6-991c-291615bb70a0",
        **names,
        "requestKind": names["kind"],
        "requestResource": names["resource"],
        "name": "bench",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": USER,
        "object": managed,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def shaped(body: bytes, policies: Path) -> bytes:
    """What the API server sends to `/validate` after `/mutate` with these policies: the object as they made it."""
    review = orjson.loads(body)
    bundle = load_bundle([policies])
    verdict = mutate(parse(review), bundle, MemoryFacts(bundle.objects))
    assert isinstance(verdict, Verdict)
    assert verdict.patch, verdict.message
    review["request"]["object"] = verdict.object
    return orjson.dumps(review)


def _template(name: str, variables: int) -> JSON:
    main = {
        "name": name,
        "image": "registry.example.com/train:1.0",
        "command": ["torchrun", "--nnodes=8", "train.py"],
        "env": [{"name": f"TRAIN_OPTION_{i}", "value": f"value-{i}"} for i in range(variables)],
        "resources": {"limits": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "8"}},
        "ports": [{"name": "master", "containerPort": 23456}],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "shm", "mountPath": "/dev/shm"}],
        "imagePullPolicy": "IfNotPresent",
    }
    log = {
        "name": "log",
        "image": "registry.example.com/log:1.0",
        "env": [{"name": "SINK", "value": "https://logs.example.com"}],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "64Mi"}},
    }
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}},
    ]
    spec = {"containers": [main, log], "volumes": volumes, "restartPolicy": "Never", "schedulerName": "default"}
    return {"metadata": {"labels": {"app": name}}, "spec": spec}


def _fields(value: Any) -> JSON:
    """The `fieldsV1` of a value: who owns which field, as server-side apply writes it; lists of names by their key."""
    if isinstance(value, dict):
        return {f"f:{key}": _fields(inner) for key, inner in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        key = "mountPath" if "mountPath" in value[0] else "name"
        keyed = {f"k:{orjson.dumps({key: item[key]}).decode()}": {".": {}, **_fields(item)} for item in value}
        return {".": {}, **keyed}
    return {}


def many_policies(folder: Path, matching: int, others: int, mark: str = "") -> None:
    """Write policies: `matching` that look at Jobs, `others` at other kinds; a policy and its binding to a file."""
    folder.mkdir(exist_ok=True)
    for i in range(matching):
        (folder / f"jobs-{i:04}.yaml").write_text(_policy(f"jobs-{i:04}", "batch", "jobs", mark))
    for i in range(others):
        name = f"others-{i:04}"
        (folder / f"{name}.yaml").write_text(_policy(name, f"group-{i % 50}.example.org", "things", mark))


def _policy(name: str, group: str, resource: str, mark: str) -> str:
    return f"""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  matchConstraints:
    resourceRules:
    - {{apiGroups: [{group}], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [{resource}]}}
  variables:
  - name: containers
    expression: object.spec.template.spec.containers
  validations:
  - expression: variables.containers.all(c, has(c.image) && !c.image.endsWith(':latest'))
    messageExpression: "'{name}{mark}: ' + variables.containers.filter(c, !has(c.image)).map(c, c.name).join(', ')"
  - expression: "!has(object.metadata.labels) || !('{name}' in object.metadata.labels)"
    message: "{name}{mark} is not a label to use"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec: {{policyName: {name}, validationActions: [Deny]}}
"""
