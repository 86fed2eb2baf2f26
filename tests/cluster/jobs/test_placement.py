"""A job as it is started on its flavors, where its kind has more pods than the object has templates."""

import pytest

from webhook.cluster.jobs.start_stop import TOGETHER, is_changed, restored, started
from webhook.jobs.read_job import read_job
from webhook.store.objects import copy_json, merge

POD = {"spec": {"containers": [{"name": "c", "image": "ray:2"}]}}
RAYJOB = {
    "apiVersion": "ray.io/v1",
    "kind": "RayJob",
    "metadata": {"name": "r", "namespace": "ml"},
    "spec": {"suspend": True, "rayClusterSpec": {"headGroupSpec": {"template": POD}}},
}
FLAVORS = {"spot": {"metadata": {"name": "spot"}, "spec": {"nodeLabels": {"zone": "a"}}}}


def test_the_pod_that_submits_a_rayjob_is_placed_as_well():
    """The template that KubeRay would take is written, with the labels of the flavor; they go with the admission."""
    described = read_job(RAYJOB)
    assignments = [{"name": name, "flavors": {"cpu": "spot"}} for name in ("head", "submitter")]
    templates = [{"name": pods.name, "template": pods.template} for pods in described.pod_sets]
    workload = {"spec": {"podSets": templates}, "status": {"admission": {"podSetAssignments": assignments}}}
    runs = started(RAYJOB, described, workload, FLAVORS)
    submitter = runs["spec"]["submitterPodTemplate"]["spec"]
    assert submitter["nodeSelector"] == {"zone": "a"}
    assert submitter["containers"][0]["image"] == "ray:2"
    rests = restored(runs, read_job(runs), workload)
    assert "nodeSelector" not in rests["spec"]["submitterPodTemplate"]["spec"]
    assert [pods.template["spec"]["containers"] for pods in read_job(rests).pod_sets] == [
        pods.template["spec"]["containers"] for pods in described.pod_sets
    ]


def test_an_indexed_job_has_as_many_completions_as_pods():
    """Where it says so, as it is admitted with fewer pods, and again as it is stopped."""
    annotations = {"kueue.x-k8s.io/job-min-parallelism": "2", TOGETHER: "true"}
    spec = {"suspend": True, "parallelism": 4, "completions": 4, "completionMode": "Indexed", "template": POD}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "annotations": annotations},
        "spec": spec,
    }
    asked = {"podSets": [{"name": "main", "count": 4, "template": POD}]}
    granted = {"admission": {"podSetAssignments": [{"name": "main", "count": 2, "flavors": {"cpu": "spot"}}]}}
    workload = {"spec": asked, "status": granted}
    runs = started(job, read_job(job), workload, FLAVORS)
    assert (runs["spec"]["parallelism"], runs["spec"]["completions"]) == (2, 2)
    rests = restored(runs, read_job(runs), workload)
    assert (rests["spec"]["parallelism"], rests["spec"]["completions"]) == (4, 4)


def spark(**spec):
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": "s", "namespace": "ml"},
        "spec": {"suspend": True, "driver": {"cores": 1}, "executor": {"instances": 2}, **spec},
    }


def marks(pod_set):
    """What says in a template whose its pods are."""
    return {"labels": {"kueue.x-k8s.io/podset": pod_set}, "annotations": {"kueue.x-k8s.io/workload": "w"}}


def admitted_in(described, **flavors):
    templates = [{"name": pods.name, "count": pods.count, "template": pods.template} for pods in described.pod_sets]
    assignments = [{"name": name, "flavors": {"cpu": flavor}} for name, flavor in flavors.items()]
    admission = {"podSetAssignments": assignments}
    return {"metadata": {"name": "w"}, "spec": {"podSets": templates}, "status": {"admission": admission}}


def test_a_spark_application_is_placed_in_the_fields_of_its_roles():
    """They are no templates: node selector and tolerations stand in driver and executor; both are given back."""
    job = spark(executor={"instances": 2, "tolerations": [{"key": "own"}]})
    workload = admitted_in(read_job(job), driver="spot", executor="dear")
    flavors = {**FLAVORS, "dear": {"spec": {"nodeLabels": {"zone": "b"}, "tolerations": [{"key": "dear"}]}}}
    runs = started(job, read_job(job), workload, flavors)
    assert runs["spec"]["driver"] == {"cores": 1, "nodeSelector": {"zone": "a"}, **marks("driver")}
    assert runs["spec"]["executor"]["nodeSelector"] == {"zone": "b"}
    assert runs["spec"]["executor"]["tolerations"] == [{"key": "own"}, {"key": "dear"}]
    rests = restored(runs, read_job(runs), workload)
    assert {**rests["spec"], "suspend": True} == job["spec"]


def test_the_nodes_of_all_pods_of_a_spark_application_are_those_of_each():
    """The operator refuses a node selector of the application beside one of a role."""
    job = spark(nodeSelector={"disk": "ssd"})
    described = read_job(job)
    assert [pods.template["spec"]["nodeSelector"] for pods in described.pod_sets] == [{"disk": "ssd"}] * 2
    runs = started(job, described, admitted_in(described, driver="spot", executor="spot"), FLAVORS)
    assert "nodeSelector" not in runs["spec"]
    assert [runs["spec"][role]["nodeSelector"] for role in ("driver", "executor")] == [{"zone": "a", "disk": "ssd"}] * 2


def test_a_spark_application_that_an_older_sluice_started_keeps_its_nodes():
    """Its Workload knows nothing of them, and nothing of an admission was written."""
    job = spark(driver={"cores": 1, "nodeSelector": {"disk": "ssd"}})
    old = {"spec": {"podSets": [{"name": "driver", "count": 1, "template": {"spec": {"containers": []}}}]}}
    assert restored(job, read_job(job), old) == job


def template(cpu):
    return {"spec": {"containers": [{"name": "node", "resources": {"requests": {"cpu": cpu}}}]}}


def replicated(name, parallelism=1, **fields):
    role = fields.pop("role", None)
    labels = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": role}}} if role else {}
    inner = {"parallelism": parallelism, "template": template("1")}
    return {"name": name, "template": {"spec": inner, **labels}, **fields}


def runtime(*jobs, **spec):
    return {"kind": "ClusterTrainingRuntime", "spec": {"template": {"spec": {"replicatedJobs": list(jobs)}}, **spec}}


def train_job(**spec):
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "t", "namespace": "ml"},
        "spec": {"suspend": True, "runtimeRef": {"name": "torch"}, **spec},
    }


MPI = {"numNodes": 2, "mpi": {"runLauncherAsNode": True}}
FOUR = {"numNodes": 4, "resourcesPerNode": {"requests": {"cpu": "8"}}}


@pytest.mark.parametrize(
    ("trainer", "of", "expected"),
    [
        pytest.param({}, runtime(replicated("a", 4, replicas=2)), [("a", 8, "1")], id="as the runtime says"),
        pytest.param(FOUR, runtime(replicated("node", role="trainer")), [("node", 4, "1")], id="nodes of the job"),
        pytest.param(
            FOUR,
            runtime(replicated("data", role="dataset-initializer"), replicated("node", role="trainer"), mlPolicy={}),
            [("data", 1, "1"), ("node", 4, "8")],
            id="resources of the job",
        ),
        pytest.param(
            {}, runtime(replicated("n", role="trainer"), mlPolicy={"numNodes": 3}), [("n", 3, "1")], id="of the policy"
        ),
        pytest.param(
            FOUR,
            runtime(replicated("launcher", role="trainer"), replicated("node"), mlPolicy=MPI),
            [("launcher", 2, "8"), ("node", 3, "8")],
            id="a launcher is a node",
        ),
    ],
)
def test_the_pods_of_a_train_job_stand_in_its_runtime(trainer, of, expected):
    """As Trainer makes a JobSet of both."""
    described = read_job(train_job(trainer=trainer), of)
    found = [
        (pods.name, pods.count, pods.template["spec"]["containers"][0]["resources"]["requests"]["cpu"])
        for pods in described.pod_sets
    ]
    assert found == expected


def test_a_train_job_is_placed_by_a_patch_of_its_runtime():
    """Under Kueue's name, beside those of others, and taken away again."""
    theirs = {"manager": "me", "trainingRuntimeSpec": {"template": {"metadata": {"labels": {"a": "b"}}}}}
    job = train_job(runtimePatches=[theirs])
    described = read_job(job, runtime(replicated("node"), replicated("data")))
    workload = admitted_in(described, node="spot", data="plain")
    flavors = {**FLAVORS, "plain": {"spec": {}}}
    runs = started(job, described, workload, flavors)
    assert runs["spec"]["suspend"] is False
    mine = runs["spec"]["runtimePatches"][1]
    assert (runs["spec"]["runtimePatches"][0], mine["manager"]) == (theirs, "kueue.x-k8s.io/manager")
    node, data = mine["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    pods = {"spec": {"nodeSelector": {"zone": "a"}}, "metadata": marks("node")}
    assert node == {"name": "node", "template": {"spec": {"template": pods}}}
    assert data == {"name": "data", "template": {"spec": {"template": {"metadata": marks("data")}}}}
    assert started(runs, described, workload, flavors)["spec"]["runtimePatches"][1]["manager"] == mine["manager"]
    rests = restored(runs, described, workload)
    assert rests["spec"]["runtimePatches"] == [theirs]


def test_an_app_wrapper_is_placed_beside_its_components():
    """Its webhook refuses another template; what stands in podSetInfos is put over the pods that it makes."""
    wrapped = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": POD}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    job = {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"name": "aw", "namespace": "ml"},
        "spec": {"suspend": True, "components": [{"template": service}, {"template": wrapped}]},
    }
    described = read_job(job)
    workload = admitted_in(described, **{"aw-0": "spot"})
    runs = started(job, described, workload, FLAVORS)
    assert runs["spec"]["components"] == [
        {"template": service},
        {"template": wrapped, "podSetInfos": [{"nodeSelector": {"zone": "a"}, **marks("aw-0")}]},
    ]
    assert restored(runs, read_job(runs), workload)["spec"]["components"] == job["spec"]["components"]


PLAIN = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"suspend": True, "template": POD}}


@pytest.mark.parametrize(
    ("queues", "labelled", "labels"),
    [
        (("local", "cluster"), True, {"local-queue-name": "local", "cluster-queue-name": "cluster"}),
        (("local", "with.dots"), True, {"local-queue-name": "local"}),
        (("l" * 64, "cluster"), True, {"cluster-queue-name": "cluster"}),
        (("local", "cluster"), False, {}),
    ],
    ids=["both", "no label", "too long", "gate off"],
)
@pytest.mark.parametrize("made", [PLAIN, RAYJOB], ids=["Job", "RayJob"])
def test_pods_say_whose_they_are(made, queues, labelled, labels):
    """By labels and an annotation in every template; what stood there before stays, and alone is left after a stop."""
    own = {"metadata": {"labels": {"app": "a"}, "annotations": {"note": "n"}}, **POD}
    job = copy_json(made)
    place = job["spec"] if made is PLAIN else job["spec"]["rayClusterSpec"]["headGroupSpec"]
    place["template"] = copy_json(own)
    described = read_job(job)
    admission = {"clusterQueue": queues[1], "podSetAssignments": [{"name": p.name} for p in described.pod_sets]}
    sets = [{"name": p.name, "template": copy_json(p.template)} for p in described.pod_sets]
    workload = {
        "metadata": {"name": "job-j"},
        "spec": {"queueName": queues[0], "podSets": sets},
        "status": {"admission": admission},
    }
    runs = read_job(started(job, described, workload, {}, labelled=labelled))
    for before, pods in zip(described.pod_sets, runs.pod_sets, strict=True):
        kept = before.template.get("metadata") or {}
        queue = {f"kueue.x-k8s.io/{name}": value for name, value in labels.items()}
        metadata = pods.template["metadata"]
        assert metadata["labels"] == {**(kept.get("labels") or {}), "kueue.x-k8s.io/podset": pods.name, **queue}
        assert metadata["annotations"] == {**(kept.get("annotations") or {}), "kueue.x-k8s.io/workload": "job-j"}
    stopped = restored(started(job, described, workload, {}, labelled=labelled), runs, workload)
    again = [pods.template.get("metadata") or {} for pods in read_job(stopped).pod_sets]
    assert again == [pods.template.get("metadata") or {} for pods in described.pod_sets]


OF_JOB = {"controller-uid": "u", "batch.kubernetes.io/job-name": "j"}


@pytest.mark.parametrize(
    "known",
    [{"team": "x"}, {"team": "x", "controller-uid": "another's"}, {"team": "x", **OF_JOB}],
    ids=["made by Kueue", "made for another Job", "made by Sluice"],
)
def test_a_job_keeps_the_labels_of_its_selector(known):
    """The API server refuses a template without them; whatever its Workload says, they are no trace of an admission."""
    template = merge(POD, {"metadata": {"labels": {"team": "x", **OF_JOB}}})
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template}}
    workload = admitted_in(read_job(job), main="spot")
    workload["spec"]["podSets"][0]["template"] = merge(POD, {"metadata": {"labels": known}})
    assert not is_changed(read_job(job), workload)
    runs = started(job, read_job(job), workload, FLAVORS)
    assert is_changed(read_job(runs), workload)
    rests = restored(runs, read_job(runs), workload)
    assert rests["spec"]["template"]["metadata"]["labels"] == {"team": "x", **OF_JOB}
    assert "nodeSelector" not in rests["spec"]["template"]["spec"]
