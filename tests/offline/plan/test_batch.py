"""`sluice plan --batch` and `--traces`: what a line says counts for its rules and for how its objects are read."""

import json

import pytest
import yaml
from click.testing import CliRunner

from webhook.cli.commands.queues.plan import plan

NOW = "2026-03-01T12:00:00Z"
BOOST = "kueue.x-k8s.io/priority-boost"
QUEUES = list(
    yaml.safe_load_all("""
{apiVersion: v1, kind: Namespace, metadata: {name: lab}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 1}]}]
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q, namespace: lab}, spec: {clusterQueue: q}}
""")
)


def workload(name, hour, boost):
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": "lab",
            "uid": name,
            "creationTimestamp": f"2026-03-01T{hour}:00:00Z",
            "annotations": {BOOST: boost},
        },
        "spec": {"queueName": "q", "priority": 0, "podSets": [pods]},
    }


WORK = [workload("older", 10, "0"), workload("boosted", 11, "5")]
STEP = {"now": NOW, "events": [{"apply": each} for each in WORK]}


@pytest.mark.parametrize(("gates", "first"), [({}, "lab/older"), ({"PriorityBoost": True}, "lab/boosted")])
@pytest.mark.parametrize(
    ("option", "line"),
    [
        ("--batch", {"now": NOW, "objects": [*QUEUES, *WORK]}),
        ("--traces", {"objects": QUEUES, "steps": [STEP]}),
    ],
)
def test_a_gate_of_a_line_changes_how_its_objects_are_read(option, line, gates, first):
    """The boost of a priority counts where the gate is on."""
    done = CliRunner().invoke(plan, [option, "-"], input=json.dumps({"id": "x", "featureGates": gates, **line}))
    answer = json.loads(done.output)
    assert list(answer.get("steps", [answer])[0]["admitted"]) == [first]


def test_amounts_are_quantities():
    """A line's answer writes them as every other answer does, not in the core's integers."""
    work = workload("large", 10, "0")
    work["spec"]["podSets"][0]["count"] = 9
    done = CliRunner().invoke(
        plan, ["--batch", "-"], input=json.dumps({"id": "x", "now": NOW, "objects": [*QUEUES, work]})
    )
    told = json.loads(done.output)["pendingDetail"]["lab/large"]
    assert told["message"] == "requests 9 cpu of flavor f, the queue can use at most 1"
