"""Pods of a running job whose quota is free, by the job's status."""

import pytest

from webhook.jobs.job import Job, JobPodSet
from webhook.jobs.kinds import kind_of
from webhook.jobs.read_job import read_job
from webhook.jobs.reclaimable import reclaimable


def _job(parallelism, completions, status, **spec):
    template = {"spec": {"containers": []}}
    fields = {"parallelism": parallelism, "completions": completions, "template": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": fields, "status": status}


INDEXED = {"completionMode": "Indexed"}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(_job(2, 4, {}), {}, id="nothing has ended"),
        pytest.param(_job(2, 4, {"succeeded": 2}), {}, id="what is left fills every slot"),
        pytest.param(_job(2, 4, {"succeeded": 3}), {"main": 1}, id="one is left for two slots"),
        pytest.param(_job(10, 20, {"succeeded": 15}), {"main": 5}, id="more slots than pods left"),
        pytest.param(_job(1, 1, {"succeeded": 1}), {}, id="a single pod"),
        pytest.param(_job(4, 4, {"completedIndexes": "0,2-3"}, **INDEXED), {"main": 3}, id="indexes"),
        pytest.param(_job(3, 3, {"completedIndexes": "1-8"}, **INDEXED), {"main": 2}, id="indexes that are gone"),
        pytest.param(
            _job(4, 4, {"completedIndexes": "0-1", "failedIndexes": "1-2"}, **INDEXED),
            {"main": 3},
            id="failed",
        ),
        pytest.param(_job(4, 4, {"completedIndexes": "x,3-1,-"}, **INDEXED), {}, id="no indexes at all"),
        pytest.param(_job(4, 4, {"succeeded": 3}, **INDEXED), {}, id="an indexed job counts by its indexes"),
        pytest.param(_job(4, 4, {"succeeded": "3"}), {}, id="not a number"),
    ],
)
def test_a_job_gives_back_the_slots_that_nothing_is_left_for(obj, expected):
    """Parallelism, less what is still to complete."""
    described = read_job(obj)
    assert described is not None
    assert reclaimable(obj, described) == expected


def test_a_jobset_gives_back_the_replicas_that_succeeded():
    """Each with the pods of its Job; a role that the status does not name gives nothing back."""
    inner = {"spec": {"parallelism": 2, "completions": 3, "template": {"spec": {}}}}
    roles = [{"name": "a", "replicas": 3, "template": inner}, {"name": "b", "replicas": 1, "template": inner}]
    obj = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "s"},
        "spec": {"replicatedJobs": roles},
        "status": {"replicatedJobsStatus": [{"name": "a", "succeeded": 2}, {"name": "gone", "succeeded": 1}]},
    }
    described = read_job(obj)
    assert described is not None
    assert reclaimable(obj, described) == {"a": 4}


def test_a_train_job_may_have_a_role_without_jobs():
    """Its runtime says 0 replicas: there is nothing to give back, and the other roles are read."""
    template = {"spec": {"containers": []}}
    sets = JobPodSet("node", 4, template, (), jobs=2), JobPodSet("logger", 0, template, (), jobs=0)
    described = Job(kind_of("trainer.kubeflow.org", "TrainJob"), False, sets, "main", None)
    obj = {"status": {"jobsStatus": [{"name": "node", "succeeded": 1}, {"name": "logger", "succeeded": 0}]}}
    assert reclaimable(obj, described) == {"node": 2}


def test_other_kinds_do_not_tell():
    """A Pod is one: it has ended, or it has not. What others know of it stays."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}, "status": {"succeeded": 1}}
    described = read_job(pod)
    assert described is not None
    assert reclaimable(pod, described) is None
