"""Whether pods of a job are still there, by its own status: while they are, its quota is not given back."""

import pytest

from webhook.cluster.jobs.job_status import runs

CASES = {
    "a Job counts": ("Job", {"active": 1}, True),
    "those that terminate, too": ("Job", {"terminating": 1}, True),
    "a JobSet counts by its Jobs": ("JobSet", {"replicatedJobsStatus": [{"name": "a", "active": 1}]}, True),
    "so does a TrainJob": ("TrainJob", {"jobsStatus": [{"name": "node", "active": 1}]}, True),
    "a TrainJob whose Jobs have ended": ("TrainJob", {"jobsStatus": [{"name": "node", "active": 0}]}, False),
    "an MPIJob counts by role": ("MPIJob", {"replicaStatuses": {"Worker": {"active": 2}}}, True),
    "a RayCluster that is ready": ("RayCluster", {"state": "ready"}, True),
    "a RayCluster that is suspended": ("RayCluster", {"state": "suspended"}, False),
    "a RayJob that starts": ("RayJob", {"jobDeploymentStatus": "Initializing"}, True),
    "a RayJob that is suspended": ("RayJob", {"jobDeploymentStatus": "Suspended"}, False),
    "a RayJob that is new": ("RayJob", {"jobDeploymentStatus": ""}, False),
    "a RayJob that KubeRay refuses": ("RayJob", {"jobDeploymentStatus": "ValidationFailed"}, False),
    "a RayService that serves": ("RayService", {"conditions": [{"type": "Ready", "status": "True"}]}, True),
    "a SparkApplication that runs": ("SparkApplication", {"applicationState": {"state": "RUNNING"}}, True),
    "an AppWrapper holds its quota": (
        "AppWrapper",
        {"conditions": [{"type": "QuotaReserved", "status": "True"}]},
        True,
    ),
    "an AppWrapper that rests": ("AppWrapper", {"phase": "Suspended"}, False),
    "a job that says nothing": ("PyTorchJob", None, False),
}


@pytest.mark.parametrize(("kind", "status", "expected"), CASES.values(), ids=list(CASES))
def test_a_job_runs_where_its_status_says_so(kind, status, expected):
    """By the number of its pods, or by a state."""
    assert runs({"kind": kind, "status": status}) is expected
