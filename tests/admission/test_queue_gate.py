"""What the queue gate says of a job: what the core would say of it, and nothing else."""

from typing import Any

import pytest

from tests.queue.load_rules import load_rules
from webhook import documents
from webhook.admission.gate import GateAnswer
from webhook.jobs.read_job import read_job
from webhook.offline.dryrun.file_gate import file_gate
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.rules import Rules

CLUSTER = """
apiVersion: v1
kind: Namespace
metadata: {name: a}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: f}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: SELECTOR
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: f, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: a}
spec: {clusterQueue: cq}
"""
PYTORCH = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: t, namespace: a, labels: {kueue.x-k8s.io/queue-name: lq}}
spec:
  runPolicy: {suspend: true}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: {spec: {containers: [{name: pytorch, image: x, resources: {limits: {nvidia.com/gpu: GPUS}}}]}}
    Worker:
      replicas: 1
      template: {spec: {containers: [{name: pytorch, image: x, resources: {limits: {nvidia.com/gpu: GPUS}}}]}}
"""
RULE = """apiVersion: sluice.dev/v1alpha1
kind: QueuePolicy
metadata: {name: closed}
spec:
  extends: [kueue]
  admit:
    - expression: EXPRESSION
      reason: Closed
      messageExpression: "'namespace ' + workload.namespace + ' is closed tonight'"
"""
KUEUE = rules_named(["kueue"])
CLOSED = load_rules(RULE.replace("EXPRESSION", "workload.namespace != 'a'"))
FAILING = load_rules(RULE.replace("EXPRESSION", "1 / (workload.priority - workload.priority) == 0"))
NEVER = (
    "queue a/lq: this job can never be admitted: requests {} nvidia.com/gpu of flavor f, the queue can use at most 8 "
    "(request less, or use another queue)"
)


def asked(gpus: int, rules: Rules = KUEUE, selector: str = "{}") -> GateAnswer:
    """The answer about a job of two pod sets that request `gpus` each."""
    objects: list[dict[str, Any]] = [
        d.value for d in documents.read(CLUSTER.replace("SELECTOR", selector), "cluster.yaml")
    ]
    (obj,) = (d.value for d in documents.read(PYTORCH.replace("GPUS", str(gpus)), "job.yaml"))
    gate, job = file_gate([], objects, rules, 1.7e9), read_job(obj)
    assert gate is not None
    assert job is not None
    return gate.ask(job, obj, "a", False)


def test_a_local_queue_without_a_cluster_queue_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that a ClusterQueue without a name does not exist."""
    monkeypatch.setitem(globals(), "CLUSTER", CLUSTER.replace("{clusterQueue: cq}", "{}"))
    told = "queue a/lq: the LocalQueue names no ClusterQueue; the job waits for it"
    assert asked(1) == GateAnswer(True, warnings=(told,))


@pytest.mark.parametrize(("gpus", "together"), [(6, 12), (9, 9)], ids=["together", "each"])
@pytest.mark.parametrize("rules", [KUEUE, CLOSED], ids=["kueue", "a rule that denies"])
def test_pod_sets_share_what_a_queue_can_give(gpus: int, together: int, rules: Rules) -> None:
    """A job is refused if no flavor holds its pod sets together, whatever else keeps it waiting."""
    answer = asked(gpus, rules)
    assert (answer.allowed, answer.message) == (False, NEVER.format(together))


@pytest.mark.parametrize(
    ("rules", "selector", "warning"),
    [
        (KUEUE, "{}", None),
        (KUEUE, "{matchLabels: {team: b}}", "workload namespace doesn't match ClusterQueue selector"),
        (CLOSED, "{}", "namespace a is closed tonight"),
        (FAILING, "{}", "rule admit.0.expression: division by zero"),
    ],
    ids=["starts", "another namespace's queue", "denied by a rule", "a rule that fails"],
)
def test_a_job_that_the_core_would_not_consider_is_warned_of(rules: Rules, selector: str, warning: str | None) -> None:
    """The warning is the core's own message."""
    answer = asked(2, rules, selector)
    assert answer.allowed
    if warning is None:
        assert answer.warnings == ()
    else:
        (told,) = answer.warnings
        assert told.startswith("queue a/lq: ")
        assert warning in told
