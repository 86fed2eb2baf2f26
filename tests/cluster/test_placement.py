"""A job as it is started on its flavors, where its kind has more pods than the object has templates."""

from webhook.cluster.jobs.placement import restored, started
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
