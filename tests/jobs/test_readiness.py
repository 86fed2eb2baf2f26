"""When all pods of a job are ready, kind by kind."""

import pytest

from webhook.jobs.read_job import read_job
from webhook.jobs.readiness import pods_ready

POD = {"spec": {"containers": [{"name": "main"}]}}
REPLICATED = {"replicatedJobs": [{"name": "a", "replicas": 2, "template": {"spec": {"template": POD}}}]}
RUNNING = {"conditions": [{"type": "Running", "status": "True"}]}


def job(version, kind, spec, status):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "j", "namespace": "n"}, "spec": spec,
            "status": status}  # fmt: skip


BATCH = ("batch/v1", "Job", {"parallelism": 3, "completions": 5, "template": POD})
JOB_SET = ("jobset.x-k8s.io/v1alpha2", "JobSet", REPLICATED)
PYTORCH = ("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": POD}}})
RAY = ("ray.io/v1", "RayCluster", {"headGroupSpec": {"template": POD}})
RAY_JOB = ("ray.io/v1", "RayJob", {"rayClusterSpec": {"headGroupSpec": {"template": POD}}})
PLAIN = ("v1", "Pod", POD["spec"])
SPARK = ("sparkoperator.k8s.io/v1beta2", "SparkApplication", {"driver": {}, "executor": {"instances": 2}})


@pytest.mark.parametrize(
    ("of", "status", "ready"),
    [
        (BATCH, {}, False),
        (BATCH, {"ready": 2}, False),
        (BATCH, {"ready": 3}, True),
        (BATCH, {"ready": 1, "succeeded": 1}, False),
        (BATCH, {"ready": 1, "succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["x"]}}, True),
        (JOB_SET, {"replicatedJobsStatus": [{"name": "a", "ready": 1}]}, False),
        (JOB_SET, {"replicatedJobsStatus": [{"name": "a", "ready": 1, "succeeded": 1}]}, True),
        (PYTORCH, {}, False),
        (PYTORCH, RUNNING, True),
        (RAY, {"state": "suspended"}, False),
        (RAY, {"state": "ready"}, True),
        (RAY_JOB, {"rayClusterStatus": {"state": "ready"}}, True),
        (PLAIN, {"conditions": [{"type": "Ready", "status": "False"}]}, False),
        (PLAIN, {"conditions": [{"type": "Ready", "status": "True"}]}, True),
        (SPARK, {"applicationState": {"state": "RUNNING"}, "executorState": {"a": "RUNNING"}}, False),
        (SPARK, {"applicationState": {"state": "RUNNING"}, "executorState": {"a": "RUNNING", "b": "COMPLETED"}}, True),
    ],
)
def test_pods_are_ready(of, status, ready):
    """All that run at a time are ready, or have succeeded; nothing said is not ready."""
    made = job(*of, status)
    described = read_job(made)
    assert described is not None
    assert pods_ready(made, described) is ready
