"""A job as it is started on its flavors, where its kind has more pods than the object has templates."""

from webhook.cluster.jobs.placement import TOGETHER, restored, started
from webhook.jobs.describe import describe

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
    described = describe(RAYJOB)
    assignments = [{"name": name, "flavors": {"cpu": "spot"}} for name in ("head", "submitter")]
    templates = [{"name": pods.name, "template": pods.template} for pods in described.pod_sets]
    workload = {"spec": {"podSets": templates}, "status": {"admission": {"podSetAssignments": assignments}}}
    runs = started(RAYJOB, described, workload, FLAVORS)
    submitter = runs["spec"]["submitterPodTemplate"]["spec"]
    assert submitter["nodeSelector"] == {"zone": "a"}
    assert submitter["containers"][0]["image"] == "ray:2"
    rests = restored(runs, describe(runs), workload)
    assert "nodeSelector" not in rests["spec"]["submitterPodTemplate"]["spec"]
    assert [pods.template["spec"]["containers"] for pods in describe(rests).pod_sets] == [
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
    runs = started(job, describe(job), workload, FLAVORS)
    assert (runs["spec"]["parallelism"], runs["spec"]["completions"]) == (2, 2)
    rests = restored(runs, describe(runs), workload)
    assert (rests["spec"]["parallelism"], rests["spec"]["completions"]) == (4, 4)
