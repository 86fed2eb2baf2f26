"""A job object becomes a Workload object."""

from dataclasses import replace

from webhook.api.job_to_workload import Priority, priority_of, workload_name, workload_of
from webhook.jobs.job import Job, JobKind, JobPodSet

KIND = JobKind("batch", ("v1",), "Job", "jobs", ("spec", "suspend"), ())
TEMPLATE = {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]}}


def job(**more):
    fields = {"suspended": True, "queue": "team-a", "priority_class": None, "pod_priority_class": None, **more}
    return Job(kind=KIND, pod_sets=(JobPodSet("main", 3, TEMPLATE, ("spec", "template"), 2),), **fields)


def obj(**metadata):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": "lab", **metadata}}


def test_the_workload_carries_pod_sets_queue_owner_and_creation_time():
    """Every field that the queue reads comes from the job, and the owner reference leads back to it."""
    made = workload_of(obj(uid="u1", creationTimestamp="2026-01-01T00:00:00Z"), job(), Priority(5))
    assert made["metadata"]["ownerReferences"][0] == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "train",
        "uid": "u1",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert made["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert made["spec"]["queueName"] == "team-a"
    assert made["spec"]["priority"] == 5
    (pods,) = made["spec"]["podSets"]
    assert (pods["name"], pods["count"], pods["minCount"]) == ("main", 3, 2)
    assert pods["template"]["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}


def test_a_job_from_a_file_without_uid_has_no_owner():
    """A file has no UID: no owner reference and no label that would be refused."""
    made = workload_of(obj(), job())
    assert set(made["metadata"]) == {"name", "namespace"}


def test_names_differ_by_uid_and_stay_within_the_limit():
    """Two jobs of one name never share a Workload, and a long name is cut, not refused."""
    names = {workload_name("Job", "batch", "x" * 300, uid) for uid in ("a", "b", "c")}
    assert len(names) == 3
    assert {len(n) for n in names} == {253}
    assert workload_name("Job", "batch", "t", "a").startswith("job-t-")


def test_priority_comes_from_the_workload_class_then_the_pod_class_then_the_default():
    """The order of the three sources, and 0 where a class is missing."""
    classes = [
        {"kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 9},
        {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7},
        {"kind": "PriorityClass", "metadata": {"name": "base"}, "value": 3, "globalDefault": True},
    ]
    assert priority_of(job(priority_class="high", pod_priority_class="high"), classes).value == 9
    assert priority_of(job(pod_priority_class="high"), classes).ref == ("scheduling.k8s.io", "PriorityClass", "high")
    assert priority_of(job(), classes).value == 3
    assert priority_of(job(priority_class="gone"), classes) == Priority(0, None)


def test_a_time_limit_is_read_from_its_label_when_it_is_a_positive_number():
    """A label that is no positive 32 bit number is left out rather than refused later by the API server."""
    given = {"60": 60, "00000000060": 60, "0": None, "00": None, "x": None, "9" * 10: None, "9" * 63: None}
    made = {t: workload_of(obj(labels={"kueue.x-k8s.io/max-exec-time-seconds": t}), job()) for t in given}
    assert {t: m["spec"].get("maximumExecutionTimeSeconds") for t, m in made.items()} == given


def test_labels_and_own_annotations_are_carried_for_the_rules():
    """Rules see a job's labels and what it says to Sluice; other annotations stay with the job."""
    annotations = {"sluice.dev/user": "ada", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    made = workload_of(obj(uid="u", labels={"team": "a"}, annotations=annotations), job())
    assert made["metadata"]["labels"] == {"team": "a", "kueue.x-k8s.io/job-uid": "u"}
    assert made["metadata"]["annotations"] == {"sluice.dev/user": "ada"}


def test_of_the_labels_those_that_the_settings_name_are_carried():
    """Sluice's own and Kueue's always are: a queue reads them."""
    labels = {"team": "a", "app": "x", "kueue.x-k8s.io/queue-name": "q"}
    made = workload_of(obj(uid="u", labels=labels), job(), label_keys=("team", "none"))
    assert made["metadata"]["labels"] == {"team": "a", "kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/job-uid": "u"}


def test_a_template_is_written_as_clients_in_go_write_it_back():
    """They leave no struct out, and no empty list or map in: else their update would be another template."""
    bare = {"spec": {"containers": [{"name": "c"}], "tolerations": [], "nodeSelector": {}, "securityContext": {}}}
    described = replace(job(), pod_sets=(JobPodSet("main", 1, bare, ("spec", "template")),))
    (pods,) = workload_of(obj(), described)["spec"]["podSets"]
    assert pods["template"] == {
        "metadata": {},
        "spec": {"containers": [{"name": "c", "resources": {}}], "securityContext": {}},
    }
