"""On a real API server: the native forms of policies keep what they wrote into an object whose file is sent again."""

import copy

import pytest
import yaml

from tests.controlplane.cluster import ControlPlane
from tests.offline.running import invoke
from tests.shared import ROOT
from webhook.cli.commands.policies.generate import generate_command

pytestmark = pytest.mark.cluster

STATEFUL_SET = yaml.safe_load("""
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: again, namespace: sent-again}
spec:
  replicas: 0
  serviceName: again
  selector: {matchLabels: {app: again}}
  template:
    metadata: {labels: {app: again}, annotations: {kueue.x-k8s.io/pod-suspending-parent: statefulset}}
    spec:
      tolerations:
      - {key: dedicated, operator: Exists}
      - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
      initContainers: [{name: load, image: i, resources: {requests: {cpu: "1"}}}]
      containers:
      - {name: main, image: i, resources: {limits: {nvidia.com/gpu: "1"}, requests: {nvidia.com/gpu: "1", cpu: "2"}}}
      - {name: side, image: i}
""")
CRON_JOB = yaml.safe_load("""
apiVersion: batch/v1
kind: CronJob
metadata: {name: again, namespace: sent-again}
spec:
  schedule: "0 2 * * *"
  suspend: true
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}
""")
USER = "sluice.dev/user"
SPACE = "sent-again"


@pytest.fixture(scope="module")
def native(control_plane: ControlPlane):
    """The native forms of the policies, in force in a namespace of their own: other tests share the API server."""
    folders = [str(ROOT / "policies" / name) for name in ("suspend-serving", "job-user")]
    names = ("serving-keeps-requests-statefulsets", "job-user-of-cronjobs")
    made = yaml.safe_load_all(invoke(generate_command, "native", *folders).stdout)
    mine = [d for d in made if d["metadata"]["name"].startswith(names)]
    assert len(mine) == 4
    control_plane.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    for document in mine:
        if document["kind"].endswith("Binding"):
            here = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [SPACE]}
            selector = document["spec"].setdefault("matchResources", {}).setdefault("namespaceSelector", {})
            selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), here]
        control_plane.client.create(document)
    probe = {**CRON_JOB, "metadata": {"name": "probe", "namespace": SPACE}}
    control_plane.wait("they are in force", lambda: user_of(control_plane.client.create(probe, dry_run=True)))
    yield
    for document in mine:
        control_plane.client.delete(control_plane.client.path_of(document))


def user_of(cron_job):
    return cron_job["spec"]["jobTemplate"].get("metadata", {}).get("annotations", {}).get(USER)


def test_a_stateful_set_keeps_its_requests_and_tolerations(control_plane: ControlPlane, native: None) -> None:
    """Its template is the same as before, so that no pod is replaced."""
    client = control_plane.client
    stored = client.create(STATEFUL_SET)
    again = copy.deepcopy(STATEFUL_SET)
    spec = again["spec"]["template"]["spec"]
    del spec["tolerations"][1], spec["initContainers"][0]["resources"]
    spec["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    try:
        replaced = client.call("PUT", client.path_of(again), again)
        assert replaced["spec"]["template"] == stored["spec"]["template"]
        assert replaced["metadata"]["generation"] == 1
    finally:
        client.delete(client.path_of(again))


def test_a_cron_job_keeps_its_user(control_plane: ControlPlane, native: None) -> None:
    """The user who sends it again leaves the annotation out."""
    client = control_plane.client
    user = user_of(client.create(CRON_JOB))
    again = {**CRON_JOB, "spec": {**CRON_JOB["spec"], "schedule": "0 3 * * *"}}
    try:
        assert user_of(client.call("PUT", client.path_of(again), again)) == user
    finally:
        client.delete(client.path_of(again))
