"""`sluice why`: what a Workload says, what must end first, and what keeps a job out of the queues."""

import asyncio
import json

import pytest

from tests.cli.live.cluster import SAID, forbid, publish, say
from tests.offline.running import invoke
from webhook.cli import exits
from webhook.cli.commands.cluster.evict import evict
from webhook.cli.commands.cluster.get import get
from webhook.cli.commands.cluster.why import why
from webhook.cli.commands.queues.plan import plan
from webhook.documents import read


def test_why_says_what_the_workload_says_then_what_must_end_first(store):
    """The conditions as they are stored; position, holder, the clause that decides; the same as JSON."""
    say(store)
    publish(store)
    done = invoke(why, "waits", "-n", "team-a")
    assert (done.exit_code, done.stderr) == (exits.PASSED, "")
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        "Job team-a/waits: pending in LocalQueue lq",
        "  QuotaReserved=False  WaitingForQuota: couldn't assign flavors to pod set main: 2 more needed",
        "  sluice.dev/Waiting=True  WaitingForQuota: requests 4 nvidia.com/gpu of flavor a100, 2 free",
    ]
    assert "  position 1 of 1 in ClusterQueue gpus" in lines
    assert "  must end first: Job team-a/runs holds 6 nvidia.com/gpu" in lines
    assert lines[-2].startswith("  decided by: rule kueue, capacity.available (policies/queue/kueue/policy.yaml:")
    assert lines[-1] == "  estimated start: unknown, Job team-a/runs has no run time"
    told = json.loads(invoke(why, "Job/waits", "-n", "team-a", "-o", "json").stdout)
    assert [row["type"] for row in told["conditions"]] == list(SAID)
    assert (told["decision"]["reason"], told["decision"]["position"]) == ("WaitingForQuota", 1)
    assert told["decision"]["shortages"][0]["free"] == "2"
    assert told["decision"]["holders"] == [{"job": "Job team-a/runs", "amount": "6", "resource": "nvidia.com/gpu"}]


def test_control_characters_of_a_message_do_nothing_to_a_terminal(store):
    """A rule may quote what a user wrote into an annotation; the JSON has it as it is."""
    say(store, {"QuotaReserved": ("False", "Denied", "it clears \x1b[2J the screen")})
    assert r"it clears \x1b[2J the screen" in invoke(why, "waits", "-n", "team-a").stdout
    assert r"it clears \x1b[2J the screen" in invoke(get, "workloads", "-n", "team-a", "-o", "wide").stdout
    told = json.loads(invoke(why, "waits", "-n", "team-a", "-o", "json").stdout)
    assert any(row["message"] == "it clears \x1b[2J the screen" for row in told["conditions"])


def test_why_with_few_rights(store, monkeypatch):
    """What may not be listed is named once; without queues the record alone is shown, and that is no failure."""
    say(store)
    forbid(monkeypatch, store, "Namespace", "Job", "PyTorchJob", "LimitRange")
    done = invoke(why, "waits", "-n", "team-a")
    assert (done.exit_code, "position 1 of 1" in done.stdout) == (exits.PASSED, True)
    assert "you may not list Namespace, LimitRange: decided without them; every namespace counts" in done.stderr
    forbid(monkeypatch, store, "ClusterQueue", "Cohort")
    done = invoke(why, "waits", "-n", "team-a")
    assert (done.exit_code, "requests 4 nvidia.com/gpu" in done.stdout) == (exits.PASSED, True)
    assert "position" not in done.stdout
    assert done.stderr == "note: you may not list ClusterQueue, Cohort: only what the Workload says is shown\n"
    planned = invoke(plan, "--live")
    assert (planned.exit_code, planned.stdout) == (exits.BAD_INPUT, "")
    assert "sluice plan: you may not list ClusterQueue, Cohort, without which nothing can be decided" in planned.stderr


def test_why_of_what_does_not_wait(store):
    """One that runs is told to; one that is not there, or of another kind, ends with 2."""
    done = invoke(why, "runs", "-n", "team-a")
    assert done.stdout.startswith("Job team-a/runs: Admitted\n")
    assert "Admitted=True" in done.stdout
    for asked in (["nothing", "-n", "team-a"], ["waits", "-n", "team-b"], ["PyTorchJob/waits", "-n", "team-a"]):
        done = invoke(why, *asked)
        assert done.exit_code == exits.BAD_INPUT
        assert f'sluice why: no queued job or Workload "{asked[0]}" in namespace {asked[2]}' in done.stderr


UNQUEUED = """
apiVersion: v1
kind: Namespace
metadata: {name: outside}
---
apiVersion: batch/v1
kind: Job
metadata: {name: free, namespace: team-a}
spec: {template: {spec: {containers: [{name: c, image: i}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: over, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: lq}}
spec: {template: {spec: {containers: [{name: c, image: i}]}}}
status: {conditions: [{type: Complete, status: "True"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: early, namespace: outside, labels: {kueue.x-k8s.io/queue-name: lq}}
spec: {suspend: true, template: {spec: {containers: [{name: c, image: i}]}}}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: none, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: lq}}
spec: {suspend: true, replicatedJobs: []}
"""


@pytest.mark.parametrize(
    ("job", "told"),
    [
        ("free", "no queue holds Job team-a/free: it names none (label kueue.x-k8s.io/queue-name)"),
        ("job/free", "no queue holds Job team-a/free: it names none (label kueue.x-k8s.io/queue-name)"),
        ("over", "no queue holds Job team-a/over: it has ended"),
        ("none", "no queue holds JobSet team-a/none: it has no pods"),
        ("Pod/free", 'no queued job or Workload "Pod/free" in namespace team-a'),
        ("early", "Sluice is not called for objects in namespaces without the label sluice.dev/managed=true: outside"),
    ],
)  # fmt: skip
def test_why_tells_what_keeps_a_job_out_of_the_queues(store, job, told):
    """The job names no queue, has ended, is not there; or its namespace has not opted in, and nobody looks at it."""
    for document in read(UNQUEUED):
        asyncio.run(store.create(document.value))
    namespace = "outside" if job == "early" else "team-a"
    assert told in invoke(why, job, "-n", namespace).stderr


GROUP = """
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: lq, kueue.x-k8s.io/managed: "true",
  kueue.x-k8s.io/pod-group-name: GROUP}, annotations: {kueue.x-k8s.io/pod-group-total-count: "2"}}
spec:
  schedulingGates: [{name: kueue.x-k8s.io/admission}]
  containers: [{name: c, image: i, resources: {requests: {nvidia.com/gpu: "4"}}}]
---
"""


OF_GROUP = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: pair, namespace: team-a, creationTimestamp: "2026-01-01T00:00:00Z", ownerReferences: [
  {apiVersion: v1, kind: Pod, name: one, uid: p1}, {apiVersion: v1, kind: Pod, name: two, uid: p2}]}
spec:
  queueName: lq
  podSets: [{name: main, count: 2, template: {spec: {containers: [
    {name: c, image: i, resources: {requests: {nvidia.com/gpu: "4"}}}]}}}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: early, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: lq,
  kueue.x-k8s.io/prebuilt-workload-name: later}}
spec: {suspend: true, template: {spec: {containers: [{name: c, image: i}]}}}
"""


def test_a_pod_of_a_group_goes_by_the_workload_of_the_group(store):
    """It was counted beside it, and told to wait for it; one of a group that is not complete waits for its Workload."""
    pods = [GROUP.replace("NAME", name).replace("GROUP", "pair") for name in ("one", "two")]
    alone = GROUP.replace("NAME", "alone").replace("GROUP", "other")
    for document in read("".join(pods) + alone + OF_GROUP):
        asyncio.run(store.create(document.value))
    for name in ("one", "Pod/two", "pair"):
        done = invoke(why, name, "-n", "team-a")
        assert done.stdout.startswith("Workload team-a/pair: pending in LocalQueue lq\n")
        assert "position 1 of 2 in ClusterQueue gpus" in done.stdout
        assert "must end first: Job team-a/runs holds 6" in done.stdout
    assert (
        'no queue holds Pod team-a/alone: it waits for Workload "other"' in invoke(why, "alone", "-n", "team-a").stderr
    )
    assert (
        'no queue holds Job team-a/early: it waits for Workload "later"' in invoke(why, "early", "-n", "team-a").stderr
    )
    done = invoke(evict, "one", "-n", "team-a", "--dry-run")
    assert done.stdout.startswith("Workload team-a/pair loses its place in the queue")
    planned = json.loads(invoke(plan, "--live", "-o", "json").stdout)
    assert [row["workload"] for row in planned["pending"]] == ["team-a/pair", "team-a/job-waits-1"]


def test_a_name_of_two_jobs_without_workloads(store):
    """Which is meant is asked for before there are Workloads, too."""
    pods = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    labels = {"kueue.x-k8s.io/queue-name": "lq"}
    metadata = {"name": "twin", "namespace": "team-a", "labels": labels, "uid": "u"}
    specs = {
        ("batch/v1", "Job"): {"template": pods},
        ("kubeflow.org/v1", "PyTorchJob"): {"pytorchReplicaSpecs": {"Worker": {"replicas": 1, "template": pods}}},
    }
    for (version, kind), spec in specs.items():
        asyncio.run(store.create({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}))
    done = invoke(why, "twin", "-n", "team-a")
    told = '"twin" is the name of several jobs in namespace team-a: use Job/twin or PyTorchJob/twin'
    assert (done.exit_code, done.stderr) == (exits.BAD_INPUT, f"sluice why: {told}\n")
    assert invoke(why, "Job/twin", "-n", "team-a").exit_code == exits.PASSED
