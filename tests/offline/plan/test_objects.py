"""From the files of a cluster to the objects the core is built from."""

import pytest

from tests.shared import ROOT
from webhook.admission.memory_facts import MemoryFacts
from webhook.admission.pipeline import mutate
from webhook.cluster.jobs.managed import is_followed
from webhook.jobs.kinds import KINDS
from webhook.jobs.read_job import MARK, QUEUE, is_held
from webhook.offline.dryrun.requests import ResourceScopes, Sender, received, request_for
from webhook.offline.plan.objects import cluster_of
from webhook.policy.loading.load_bundle import load_bundle


def job(name="train", **more):
    spec = {"template": {"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}}
    metadata = {"name": name, "namespace": "lab", "labels": {"kueue.x-k8s.io/queue-name": "q"}, **more}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"parallelism": 2, **spec}}


def workloads(cluster):
    return [o for o in cluster.objects if o["kind"] == "Workload"]


def test_a_job_becomes_a_workload_with_requests_and_queue():
    """Requests come from limits as the API server would fill them in, and the answer can be told by the job's name."""
    cluster = cluster_of([job()])
    (workload,) = workloads(cluster)
    assert workload["spec"]["queueName"] == "q"
    (pods,) = workload["spec"]["podSets"]
    assert pods["template"]["spec"]["containers"][0]["resources"]["requests"] == {"nvidia.com/gpu": "1"}
    assert list(cluster.jobs.values()) == ["Job lab/train"]


def test_lists_are_unpacked_and_old_versions_made_new():
    """`kubectl get -o yaml` gives a List; v1beta1 queues come out as v1beta2."""
    old = {"kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": {"cohort": "c"}}
    old["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    cluster = cluster_of([{"kind": "List", "apiVersion": "v1", "items": [old]}])
    assert cluster.objects[0]["spec"] == {"cohortName": "c"}


def test_a_job_that_has_a_workload_an_owner_or_an_end_makes_none():
    """No job is counted twice, and what has ended is not counted."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
    made = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "spec": {}}
    made["metadata"] = {"name": "w", "namespace": "lab", "ownerReferences": [owner]}
    ended = {**job("over"), "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    owned = job("part", ownerReferences=[{**owner, "kind": "JobSet", "name": "set"}])
    assert [w["metadata"]["name"] for w in workloads(cluster_of([job(), made, ended, owned]))] == ["w"]


@pytest.mark.parametrize(
    ("label", "kind"),
    [("kueue.x-k8s.io/prebuilt-workload-name", "Job"), ("kueue.x-k8s.io/pod-group-name", "Pod")],
)
def test_a_job_that_names_its_workload_makes_none_beside_it(label, kind):
    """Prebuilt, or of its group of pods. Where it is not there a stored one waits for it; a file may lack it."""
    made = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "spec": {}}
    made["metadata"] = {"name": "w", "namespace": "lab"}
    asks = job(labels={"kueue.x-k8s.io/queue-name": "q", label: "w"})
    if kind == "Pod":
        gated = {**asks["spec"]["template"]["spec"], "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
        asks = {**asks, "apiVersion": "v1", "kind": "Pod", "spec": gated}
    for stored in (False, True):
        assert [w["metadata"]["name"] for w in workloads(cluster_of([asks, made], stored=stored))] == ["w"]
        assert len(workloads(cluster_of([asks], stored=stored))) == (0 if stored else 1)


@pytest.mark.parametrize(
    ("version", "kind"),
    [("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"), ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")],
)
def test_a_kind_whose_pods_are_queued_is_not_queued_itself(version, kind):
    """`serve` never queues it, whatever queue its metadata names; a plan says so and takes no quota for it."""
    template = {"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}
    spec = {"replicas": 2, "template": template, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template}}
    cluster = cluster_of([{**job("web"), "apiVersion": version, "kind": kind, "spec": spec}])
    assert (workloads(cluster), cluster.by_parts) == ([], (f"{kind} lab/web",))


def test_a_job_of_volcano_is_held_by_volcano():
    """It has no suspend field: `serve` cannot hold it, so a plan takes no quota for it."""
    template = {"spec": {"containers": [{"name": "c"}]}}
    volcano = {
        **job(),
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "spec": {"tasks": [{"replicas": 2, "template": template}]},
    }
    assert (workloads(cluster_of([volcano])), cluster_of([volcano]).by_parts) == ([], ("Job lab/train",))


@pytest.mark.parametrize(
    ("metadata", "queued"),
    [
        pytest.param({}, True, id="not created yet: the policy suspend-pods will gate it"),
        pytest.param({"uid": "u"}, False, id="there already, and not gated here"),
        pytest.param({"uid": "u", "labels": {QUEUE: "q", MARK: "true"}}, True, id="there already, and gated here"),
    ],
)
def test_a_pod_that_was_not_gated_here_is_not_queued(metadata, queued):
    """As `serve` sees it: a Pod without our gate cannot be held, only deleted."""
    pod = {**job("p", **metadata), "apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c"}]}}
    assert bool(workloads(cluster_of([pod]))) == queued
    if "uid" in metadata:
        assert is_held(pod, KINDS[0]) == is_followed(pod)


def test_what_such_a_kind_makes_is_queued():
    """A CronJob's Job waits by itself: its owner has no quota."""
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "u", "controller": True}
    cluster = cluster_of([job("nightly-1", ownerReferences=[owner])])
    assert list(cluster.jobs.values()) == ["Job lab/nightly-1"]


def test_jobs_without_a_name_are_told_each():
    """An API server refuses them; a plan says at least that it has seen them."""
    spec = {"template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}}
    bare = {"apiVersion": "batch/v1", "kind": "Job", "spec": spec}
    cluster = cluster_of([bare, {**bare, "metadata": {"namespace": "lab"}}, {**bare, "metadata": None}])
    assert cluster.unqueued == ("Job default/unnamed-x", "Job lab/unnamed-x", "Job default/unnamed-x2")


def test_a_job_without_queue_takes_the_default_one_or_is_told():
    """A LocalQueue named `default` takes jobs that name none; elsewhere they do not wait for quota."""
    plain = job(labels={})
    assert cluster_of([plain]).unqueued == ("Job lab/train",)
    default = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue"}
    default["metadata"] = {"name": "default", "namespace": "lab"}
    (workload,) = workloads(cluster_of([plain, default]))
    assert workload["spec"]["queueName"] == "default"


@pytest.mark.parametrize(
    ("integrations", "queued"), [(None, False), ({"frameworks": ["pod"]}, True)], ids=["no Configuration", "of Pods"]
)
def test_a_pod_without_queue_takes_the_default_one_where_a_configuration_says_so(integrations, queued):
    """As the policy `queue-name` has it: what runs today is not held because its namespace got a queue."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "lab"}, "spec": {"containers": [
        {"name": "c", "image": "i"}]}}  # fmt: skip
    default = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", **NAMES}
    says = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "integrations": integrations}
    cluster = cluster_of([pod, default, *([says] if integrations else [])])
    assert (len(workloads(cluster)), cluster.unqueued) == ((1, ()) if queued else (0, ("Pod lab/a",)))


def test_jobs_of_one_generated_name_are_as_many():
    """The API server gives each a name of its own."""
    one = {
        **job(),
        "metadata": {"generateName": "a-", "namespace": "lab", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
    }
    cluster = cluster_of([one, dict(one), dict(one)])
    assert list(cluster.jobs.values()) == ["Job lab/a-x", "Job lab/a-x2", "Job lab/a-x3"]


NAMES = {"metadata": {"name": "default", "namespace": "lab"}}
DOOR = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", **NAMES}


@pytest.mark.parametrize("doors", [[], [DOOR]], ids=["no queue default", "a queue default"])
@pytest.mark.parametrize("space", [{}, {"annotations": "shared"}, {"labels": "batch"}, {"annotations": ""}], ids=str)
@pytest.mark.parametrize("named", [{}, {"annotations": "mine"}, {"labels": "own", "annotations": "mine"}], ids=str)
def test_a_job_has_the_queue_that_the_shipped_policy_gives_it(named, space, doors):
    """Whatever the job, its namespace and its queues say: `plan` queues it where `serve` labels it."""
    plain = job(**{"labels": {}, **{field: {"kueue.x-k8s.io/queue-name": queue} for field, queue in named.items()}})
    said = {field: {"sluice.dev/default-queue": queue} for field, queue in space.items()}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab", **said}}
    objects = [plain, namespace, *doors]
    sender, resources = Sender(namespace="lab"), ResourceScopes()
    request = request_for(received(plain, resources, sender), resources, sender)
    verdict = mutate(request, load_bundle([ROOT / "policies" / "queue-name"]), MemoryFacts(objects))
    given = (verdict.object or plain)["metadata"].get("labels", {}).get("kueue.x-k8s.io/queue-name")
    planned = [w["spec"]["queueName"] for w in workloads(cluster_of(objects))]
    assert planned == ([given] if given else [])


def test_limit_ranges_and_priority_classes_of_the_files_count():
    """Defaults of the namespace's LimitRange and the value of the class stand in the Workload."""
    ranges = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "lab"}}
    ranges["spec"] = {"limits": [{"type": "Container", "defaultRequest": {"cpu": "2"}}]}
    high = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}}
    high["value"] = 100
    labels = {"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/priority-class": "high"}
    (workload,) = workloads(cluster_of([job(labels=labels), ranges, high]))
    assert workload["spec"]["priority"] == 100
    container = workload["spec"]["podSets"][0]["template"]["spec"]["containers"][0]
    assert container["resources"]["requests"]["cpu"] == "2"


def test_a_configuration_says_which_labels_the_workloads_have():
    """As in the cluster: rules look at these."""
    one = job(labels={"kueue.x-k8s.io/queue-name": "q", "team": "a", "app": "x"})
    integrations = {"labelKeysToCopy": ["team"]}
    said = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "integrations": integrations}
    found = [workloads(cluster_of(objects))[0]["metadata"]["labels"] for objects in ([one], [one, said])]
    assert ["app" in labels for labels in found] == [True, False]
    assert [labels["team"] for labels in found] == ["a", "a"]
