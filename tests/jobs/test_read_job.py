"""Every job kind, read from one object each; malformed objects; numbers as quantities; defaults."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.jobs.kinds import KINDS
from webhook.jobs.normalise import normalise
from webhook.jobs.read_job import is_held, read_job, row_of
from webhook.kube.typed.defaulted import defaulted

T = {"spec": {"containers": [{"name": "c"}]}}
RAY = {
    "headGroupSpec": {"template": T},
    "workerGroupSpecs": [{"groupName": "w", "replicas": 2, "numOfHosts": 3, "template": T}],
}
CASES = [
    ("v1", "Pod", T["spec"], [("main", 1)]),
    ("batch/v1", "Job", {"parallelism": 3, "completions": 2, "template": T}, [("main", 2)]),
    ("batch/v1", "CronJob", {"suspend": True, "jobTemplate": {"spec": {"template": T}}}, [("main", 1)]),
    (
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        {"replicatedJobs": [{"name": "w", "replicas": 2, "template": {"spec": {"parallelism": 3, "template": T}}}]},
        [("w", 6)],
    ),
    (
        "kubeflow.org/v2beta1",
        "MPIJob",
        {"mpiReplicaSpecs": {"Worker": {"replicas": 4, "template": T}, "Launcher": {"template": T}}},
        [("launcher", 1), ("worker", 4)],
    ),
    (
        "kubeflow.org/v1",
        "PyTorchJob",
        {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": T}, "Master": {"template": T}}},
        [("master", 1), ("worker", 2)],
    ),
    (
        "kubeflow.org/v1",
        "TFJob",
        {"tfReplicaSpecs": {"Worker": {"template": T}, "PS": {"replicas": 2, "template": T}, "Odd": {"template": T}}},
        [("ps", 2), ("worker", 1), ("odd", 1)],
    ),
    ("kubeflow.org/v1", "PaddleJob", {"paddleReplicaSpecs": {"Worker": {"template": T}}}, [("worker", 1)]),
    ("kubeflow.org/v1", "XGBoostJob", {"xgbReplicaSpecs": {"Master": {"template": T}}}, [("master", 1)]),
    ("kubeflow.org/v1", "JAXJob", {"jaxReplicaSpecs": {"Worker": {"replicas": 8, "template": T}}}, [("worker", 8)]),
    (
        "trainer.kubeflow.org/v1alpha1",
        "TrainJob",
        {"trainer": {"numNodes": 4, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 1}}}},
        [("node", 4)],
    ),
    ("ray.io/v1", "RayCluster", RAY, [("head", 1), ("w", 6)]),
    (
        "ray.io/v1",
        "RayJob",
        {"rayClusterSpec": RAY, "submitterPodTemplate": T},
        [("head", 1), ("w", 6), ("submitter", 1)],
    ),
    ("ray.io/v1", "RayService", {"rayClusterConfig": RAY}, [("head", 1), ("w", 6)]),
    (
        "sparkoperator.k8s.io/v1beta2",
        "SparkApplication",
        {
            "driver": {"cores": 1, "memory": "512m"},
            "executor": {"instances": 4, "gpu": {"name": "x.io/g", "quantity": 1}},
        },
        [("driver", 1), ("executor", 4)],
    ),
    (
        "workload.codeflare.dev/v1beta2",
        "AppWrapper",
        {
            "components": [
                {"podSets": [{"replicas": 2, "path": "template.spec.template"}], "template": {"spec": {"template": T}}},
                {
                    "template": {
                        "apiVersion": "batch/v1",
                        "kind": "Job",
                        "spec": {"parallelism": 3, "template": T},
                    }
                },
            ]
        },
        [("-0", 2), ("-1", 3)],
    ),
    ("apps/v1", "Deployment", {"replicas": 3, "template": T}, [("main", 3)]),
    ("apps/v1", "StatefulSet", {"template": T}, [("main", 1)]),
    (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        {"replicas": 2, "leaderWorkerTemplate": {"size": 4, "leaderTemplate": T, "workerTemplate": T}},
        [("leader", 2), ("worker", 6)],
    ),
    ("batch.volcano.sh/v1alpha1", "Job", {"tasks": [{"name": "m", "replicas": 2, "template": T}]}, [("m", 2)]),
    ("kubeflow.org/v1", "Notebook", {"template": T}, [("main", 1)]),
]


@pytest.mark.parametrize(("version", "kind", "spec", "sets"), CASES, ids=[f"{v} {k}" for v, k, _, _ in CASES])
def test_pod_sets_of_each_kind(version, kind, spec, sets):
    """Each kind's pods are found where its controller has them, with their names and counts; paths lead there."""
    obj = {"apiVersion": version, "kind": kind, "spec": spec}
    job = read_job(obj)
    assert [(s.name, s.count) for s in job.pod_sets] == sets
    for pod_set in job.pod_sets:
        node = obj
        for step in pod_set.path:
            node = node[step]
        assert pod_set.made or node is pod_set.template


def test_every_row_has_a_case():
    """No kind of the table is left untested."""
    tested = {(v.rpartition("/")[0], k) for v, k, _, _ in CASES}
    assert tested == {(row.group, row.kind) for row in KINDS}


def test_suspend_is_each_kinds_own_field():
    """A CronJob's suspend is not a job's; MPIJob and RayService have theirs elsewhere; a Pod has a gate."""

    def held(version, kind, spec):
        return read_job({"apiVersion": version, "kind": kind, "spec": spec}).suspended

    assert held("batch/v1", "Job", {"suspend": True}) is True
    assert held("batch/v1", "Job", {}) is False
    assert held("batch/v1", "CronJob", {"suspend": True}) is None
    assert held("kubeflow.org/v1", "PyTorchJob", {"runPolicy": {"suspend": True}}) is True
    assert held("ray.io/v1", "RayService", {"suspend": True}) is False
    assert held("ray.io/v1", "RayService", {"rayClusterConfig": {"suspend": True}}) is True
    assert held("v1", "Pod", {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}) is True
    assert held("apps/v1", "Deployment", {}) is None


def test_a_job_that_runs_elsewhere_is_not_held():
    """A RayJob with a clusterSelector runs on a cluster that is there already."""
    job = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "r"}, "spec": {}}
    row = row_of(job)
    assert row is not None
    assert is_held(job, row)
    assert not is_held({**job, "spec": {"clusterSelector": {"ray.io/cluster": "shared"}}}, row)


@pytest.mark.parametrize(
    ("spec", "sets"),
    [
        ({"rayClusterSpec": RAY}, ["head", "w", "submitter"]),
        ({"rayClusterSpec": RAY, "submissionMode": "HTTPMode"}, ["head", "w"]),
        ({"clusterSelector": {"a": "b"}}, []),
        ({"rayClusterSpec": "malformed"}, []),
    ],
    ids=["by default", "by HTTP", "without a cluster", "malformed"],
)
def test_a_rayjob_is_submitted_by_a_pod_of_its_own(spec, sets):
    """Where the job has no template for it, it is the one that KubeRay takes."""
    described = read_job({"apiVersion": "ray.io/v1", "kind": "RayJob", "spec": spec})
    assert [pods.name for pods in described.pod_sets] == sets
    if described.pod_sets and described.pod_sets[-1].absent:
        (container,) = described.pod_sets[-1].template["spec"]["containers"]
        assert container["name"] == "ray-job-submitter"
        assert container["resources"]["requests"] == {"cpu": "500m", "memory": "200Mi"}


@pytest.mark.parametrize(
    ("kind", "spec", "added"),
    [
        ("RayCluster", {**RAY, "enableInTreeAutoscaling": True}, {"autoscaler": "500m"}),
        (
            "RayCluster",
            {
                **RAY,
                "enableInTreeAutoscaling": True,
                "autoscalerOptions": {"resources": {"requests": {"cpu": "2"}}},
            },
            {"autoscaler": "2"},
        ),
        ("RayJob", {"rayClusterSpec": RAY, "submissionMode": "SidecarMode"}, {"ray-job-submitter": "500m"}),
        ("RayService", {"rayClusterConfig": RAY}, {}),
    ],
    ids=["scales", "scales with requests of its own", "submits beside its head", "nothing"],
)
def test_containers_that_kuberay_adds_to_a_head_count(kind, spec, added):
    """The object's own template stays as it is."""
    described = read_job({"apiVersion": "ray.io/v1", "kind": kind, "spec": spec})
    containers = described.pod_sets[0].template["spec"]["containers"]
    found = {c["name"]: c["resources"]["requests"]["cpu"] for c in containers[len(T["spec"]["containers"]) :]}
    assert found == added


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        pytest.param(
            {"requests": {"cpu": "100m", "memory": "1Gi"}}, {"cpu": "200m", "memory": "1Gi"}, id="one is less"
        ),
        pytest.param({"limits": {"cpu": "1"}}, {"memory": "256Mi"}, id="a limit is a request"),
        pytest.param({}, {"cpu": "200m", "memory": "256Mi"}, id="it requests nothing"),
    ],
)
@pytest.mark.parametrize(
    ("metadata", "options"),
    [({"annotations": {"ray.io/ft-enabled": "True"}}, {}), ({}, {"gcsFaultToleranceOptions": {}})],
    ids=["annotation", "options"],
)
def test_a_head_holds_what_clears_its_redis_afterwards(head, expected, metadata, options):
    """KubeRay's pod for that has fixed requests; the first container of the head holds as much at least."""
    pods = {"spec": {"containers": [{"name": "head", "resources": head}, {"name": "side"}]}}
    spec = {"headGroupSpec": {"template": pods}, **options}
    described = read_job({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": spec})
    first, side = described.pod_sets[0].template["spec"]["containers"]
    assert first["resources"]["requests"] == expected
    assert side == {"name": "side"}
    plain = read_job({"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": {"headGroupSpec": {"template": pods}}})
    assert plain.pod_sets[0].template is pods


def test_a_worker_group_is_named_in_lower_case():
    """As in Kueue: a pod set has the form of a label."""
    groups = [{"groupName": "GPU-Workers", "template": T}]
    spec = {"headGroupSpec": {"template": T}, "workerGroupSpecs": groups}
    described = read_job({"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": spec})
    assert [pods.name for pods in described.pod_sets] == ["head", "gpu-workers"]


def test_queue_and_priority():
    """The queue label wins over the annotation; the PriorityClass is the run policy's, else the pods'."""
    obj = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "labels": {"kueue.x-k8s.io/priority-class": "high"},
            "annotations": {"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/job-min-parallelism": "2"},
        },
        "spec": {"parallelism": 4, "template": {"spec": {"priorityClassName": "p"}}},
    }
    job = read_job(obj)
    assert (job.queue, job.priority_class, job.pod_priority_class) == ("q", "high", "p")
    assert job.pod_sets[0].min_count == 2
    obj["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "l"
    assert read_job(obj).queue == "l"


@pytest.mark.parametrize("odd", [["q"], {"q": 1}, 3, True])
def test_a_queue_is_named_by_a_string(odd):
    """A label that is no string names no queue and no class; the next place is looked at."""
    labels = {"kueue.x-k8s.io/queue-name": odd, "kueue.x-k8s.io/priority-class": odd}
    metadata = {"labels": labels, "annotations": {"kueue.x-k8s.io/queue-name": "q"}}
    job = read_job({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata})
    assert (job.queue, job.priority_class) == ("q", None)


def test_other_kinds_are_no_jobs():
    """An object of a kind that is not in the table makes no pods that we know of."""
    assert read_job({"apiVersion": "v1", "kind": "ConfigMap"}) is None
    assert read_job({}) is None


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda t: st.lists(t, max_size=2) | st.dictionaries(st.sampled_from(["spec", "template", "replicas", "x"]), t),
    max_leaves=8,
)


@given(st.sampled_from(CASES), JUNK, JUNK)
def test_malformed_objects_do_not_fail(case, spec, metadata):
    """Whatever stands where a spec should be, reading it as a job does not raise, and leaves it as it came."""
    obj = {"apiVersion": case[0], "kind": case[1], "metadata": metadata, "spec": spec}
    before = copy.deepcopy(obj)
    read_job(obj)
    normalise(obj)
    defaulted(obj)
    assert obj == before


def test_spark_memory_is_the_jvms():
    """512m of the JVM are MiB, not thousandths of a byte."""
    obj = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "spec": CASES[14][2]}
    resources = read_job(obj).pod_sets[0].template["spec"]["containers"][0]["resources"]
    assert resources["requests"] == {"cpu": "1", "memory": "512Mi"}


def test_numbers_become_strings_in_every_template():
    """Numbers written as quantities become canonical strings, everywhere but where nothing is to change."""
    template = {"spec": {"initContainers": [{"name": "i", "resources": {"limits": {"nvidia.com/gpu": 1, "cpu": 0.5}}}]}}
    obj = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "spec": {"pytorchReplicaSpecs": {"W": {"template": template}}},
    }
    kept = copy.deepcopy(obj)
    fixed = normalise(obj)
    inner = fixed["spec"]["pytorchReplicaSpecs"]["W"]["template"]["spec"]["initContainers"][0]
    assert inner["resources"]["limits"] == {"nvidia.com/gpu": "1", "cpu": "500m"}
    assert obj == kept
    assert normalise(fixed) is fixed


def test_limit_range_and_quota_numbers():
    """LimitRange and ResourceQuota values are quantities as well."""
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "spec": {"limits": [{"type": "Container", "min": {"x/g": 0.5}}]},
    }
    assert normalise(limits)["spec"]["limits"][0]["min"] == {"x/g": "500m"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"pods": 4}}}
    assert normalise(quota)["spec"]["hard"] == {"pods": "4"}


def test_defaults_of_built_in_kinds():
    """A Job gets the API server's defaults; requests follow limits on Pods only; custom kinds stay as they are."""
    job = defaulted(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "spec": {
                "template": {
                    "spec": {"containers": [{"name": "c", "image": "i:latest", "resources": {"limits": {"cpu": 0.5}}}]}
                }
            },
        }
    )
    assert (job["spec"]["parallelism"], job["spec"]["completions"], job["spec"]["suspend"]) == (1, 1, False)
    container = job["spec"]["template"]["spec"]["containers"][0]
    assert container["imagePullPolicy"] == "Always"
    assert container["resources"] == {"limits": {"cpu": "500m"}}
    pod = defaulted(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": 1}}}]},
        }
    )
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}
    custom = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": {}}
    assert defaulted(custom) is custom


def test_defaults_of_a_limit_range():
    """A missing default is the max, a missing defaultRequest the default, else the min."""
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "4"}, "min": {"cpu": "1", "memory": "1Gi"}}]},
    }
    item = defaulted(limits)["spec"]["limits"][0]
    assert item["default"] == {"cpu": "4"}
    assert item["defaultRequest"] == {"cpu": "4", "memory": "1Gi"}
