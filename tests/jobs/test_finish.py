"""How a job ended, by its own status: each kind says it in its own way."""

import pytest

from webhook.jobs.finish import Finish, finish_of

CASES = {
    "a Job that is complete": (
        {"conditions": [{"type": "Complete", "status": "True", "message": "done"}]},
        Finish("Succeeded", "done"),
    ),
    "a PyTorchJob that failed": (
        {"conditions": [{"type": "Running", "status": "True"}, {"type": "Failed", "status": "True", "message": "oom"}]},
        Finish("Failed", "oom"),
    ),
    "a condition that does not hold": ({"conditions": [{"type": "Failed", "status": "False"}]}, None),
    "a RayJob says why": (
        {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "message": "Job finished"},
        Finish("Succeeded", "Job finished"),
    ),
    "a RayJob that its user stopped": (
        {"jobDeploymentStatus": "Complete", "jobStatus": "STOPPED", "message": "stopped by a user"},
        Finish("Failed", "stopped by a user"),
    ),
    "a RayJob whose program failed": (
        {"jobDeploymentStatus": "Complete", "jobStatus": "FAILED"},
        Finish("Failed", "the job is failed"),
    ),
    "a RayJob that says nothing": ({"jobDeploymentStatus": "Failed"}, Finish("Failed", "the job is failed")),
    "a RayJob that runs": ({"jobDeploymentStatus": "Running"}, None),
    "a SparkApplication that was never accepted": (
        {"applicationState": {"state": "SUBMISSION_FAILED", "errorMessage": "no driver"}},
        Finish("Failed", "no driver"),
    ),
    "an AppWrapper that failed": ({"phase": "Failed"}, Finish("Failed", "the job is failed")),
    "an AppWrapper that still takes its resources away": (
        {"phase": "Failed", "conditions": [{"type": "ResourcesDeployed", "status": "True"}]},
        None,
    ),
    "an AppWrapper whose resources stay": (
        {"phase": "Succeeded", "conditions": [{"type": "ResourcesDeployed", "status": "True"}]},
        Finish("Succeeded", "the job is succeeded"),
    ),
    "conditions of another form": ({"conditions": ["Failed", {"type": "Failed"}]}, None),
}


@pytest.mark.parametrize(("status", "finish"), CASES.values(), ids=list(CASES))
def test_a_job_has_ended_where_its_status_says_so(status, finish):
    """By conditions, else by a phase."""
    assert finish_of({"kind": "Any", "status": status}) == finish
