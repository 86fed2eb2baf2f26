"""`plan --live` reads a real API server."""

import json

import pytest
from click.testing import CliRunner

from webhook.cli.commands.queues.plan import plan

pytestmark = pytest.mark.cluster


def test_a_job_of_the_cluster_is_decided_about_and_nothing_is_written(control_plane, kube, namespace):
    """A suspended Job whose LocalQueue does not exist is told as misplaced; the Job stays as it was."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    made = kube.create(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": "alone",
                "namespace": namespace,
                "labels": {"kueue.x-k8s.io/queue-name": "no-such-queue"},
            },
            "spec": {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
        }
    )
    result = CliRunner().invoke(plan, ["--live", "--kubeconfig", str(control_plane.kubeconfig), "-o", "json"])
    assert result.exit_code == 0, result.output
    told = {p.get("job"): p for p in json.loads(result.stdout)["pending"]}
    assert "no-such-queue" in told[f"Job {namespace}/alone"]["message"]
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs/alone"
    assert kube.get(path)["metadata"]["generation"] == made["metadata"]["generation"]
