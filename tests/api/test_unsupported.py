"""What is not supported is never ignored: what asks for it waits, with a reason that names field and feature."""

import pytest

from tests.api.test_validity import V2, told, workload
from tests.cluster.small_cluster import job, queues
from webhook.api.compatibility.feature import FeatureState
from webhook.api.compatibility.kueue import KUEUE
from webhook.api.compatibility.unsupported import asked
from webhook.api.compatibility.volcano import VOLCANO
from webhook.api.job_to_workload import workload_of
from webhook.jobs.read_job import read_job
from webhook.store.objects import merge

KEY = "kueue.x-k8s.io/"
TOPOLOGY = {"spec": {"nodeLabels": {"pool": "a"}, "topologyName": "racks"}}
CLAIMS = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]


def with_template(patch):
    made = workload()
    made["spec"]["podSets"][0]["template"] = merge(made["spec"]["podSets"][0]["template"], patch)
    return made


WORKLOADS = {
    "topology request": (
        workload(topologyRequest={"required": "rack"}),
        "spec.podSets[0].topologyRequest.required uses",
    ),
    "topology annotation": (
        with_template({"metadata": {"annotations": {KEY + "podset-required-topology": "rack"}}}),
        f'spec.podSets[0].template.metadata.annotations["{KEY}podset-required-topology"] uses topology',
    ),
    "resource claims": (
        with_template({"spec": {"resourceClaims": CLAIMS}}),
        "spec.podSets[0].template.spec.resourceClaims uses dynamic resource allocation",
    ),
    "preemption gate": (
        merge(workload(), {"spec": {"preemptionGates": [{"name": "x"}]}}),
        "spec.preemptionGates uses MultiKueue",
    ),
}


@pytest.mark.parametrize(("wanted", "message"), WORKLOADS.values(), ids=WORKLOADS)
def test_a_workload_that_asks_for_it_waits(wanted, message):
    """Not one is admitted without what it asked for."""
    admitted, waits = told(*queues(), wanted)
    assert admitted == []
    assert waits["team-a/w"][0] == "Misconfigured"
    assert waits["team-a/w"][1].startswith(message)
    assert "which is not supported: " in waits["team-a/w"][1]


@pytest.mark.parametrize(
    "wanted",
    [
        workload(topologyRequest={}),
        workload(topologyRequest={"podIndexLabel": "batch.kubernetes.io/job-completion-index"}),  # Kueue's, of any Job
        with_template({"spec": {"resourceClaims": []}}),
    ],
)
def test_an_empty_request_asks_for_nothing(wanted):
    """An empty list, and an empty map."""
    assert told(*queues(), wanted)[0] == ["team-a/w"]


def test_a_job_takes_what_it_asks_for_to_its_workload():
    """Annotations of Kueue are carried, so that the Workload of a job waits as one from a file does."""
    wanted = merge(job("a"), {"metadata": {"annotations": {KEY + "admission-gated-by": "x"}, "uid": "u"}})
    made = workload_of(wanted, read_job(wanted))
    assert told(*queues(), made)[0] == []


TRAINING = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "a", "namespace": "team-a", "labels": {KEY + "queue-name": "main"}},
    "spec": {"pytorchReplicaSpecs": {"Master": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}}},
}


@pytest.mark.parametrize(
    ("made", "spec", "field"),
    [
        (job("a"), {"managedBy": KEY + "multikueue"}, "spec.managedBy"),
        (TRAINING, {"runPolicy": {"managedBy": KEY + "multikueue"}}, "spec.runPolicy.managedBy"),
    ],
)
def test_what_a_job_asks_for_in_its_spec_reaches_its_workload(made, spec, field):
    """A Workload has no such field; it says what its job has."""
    wanted = merge(made, {"metadata": {"uid": "u"}, "spec": spec})
    admitted, waits = told(*queues(), workload_of(wanted, read_job(wanted)))
    assert admitted == []
    assert [text.partition(":")[0] for _, text in waits.values()] == [
        f"{field} uses MultiKueue, which is not supported"
    ]


def test_a_job_of_the_built_in_controller_is_admitted():
    """`managedBy` says so by its default as well."""
    wanted = merge(job("a"), {"metadata": {"uid": "u"}, "spec": {"managedBy": "kubernetes.io/job-controller"}})
    assert len(told(*queues(), workload_of(wanted, read_job(wanted)))[0]) == 1


def test_a_flavor_with_a_topology_is_passed_over():
    """Nothing is admitted on it without the topology; the next flavor of the queue is taken."""
    objects = queues()
    flavors = objects[2]["spec"]["resourceGroups"][0]["flavors"]
    objects[1]["spec"] = {"nodeLabels": {"pool": "a"}, "topologyName": "racks"}
    admitted, waits = told(*objects, workload())
    assert admitted == []
    assert "flavor f: spec.topologyName uses topology aware scheduling" in waits["team-a/w"][1]
    flavors.append({**flavors[0], "name": "plain"})
    plain = merge(objects[1], {"metadata": {"name": "plain"}, "spec": {"topologyName": None}})
    assert told(*objects, plain, workload())[0] == ["team-a/w"]


@pytest.mark.parametrize(
    ("gate", "objects", "wanted"),
    [
        ("TopologyAwareScheduling", queues(), workload(topologyRequest={"required": "rack"})),
        ("TopologyAwareScheduling", [merge(o, TOPOLOGY) if o["kind"] == "ResourceFlavor" else o for o in queues()],
         workload()),
        ("ConcurrentAdmission", queues(concurrentAdmissionPolicy={"migration": {"mode": "RetainFirstAdmission"}}),
         workload()),
    ],
)  # fmt: skip
def test_what_kueue_ignores_with_its_gate_off_is_ignored(gate, objects, wanted):
    """A gate that is set to false says that nobody relies on the feature."""
    settings = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    assert told(*objects, wanted)[0] == []
    assert told(*objects, wanted, {**settings, "featureGates": {gate: False}})[0] == ["team-a/w"]


def test_a_gate_by_annotation_is_one_as_well():
    """`admission-gated-by` is ignored without AdmissionGatedBy."""
    gated = merge(workload(), {"metadata": {"annotations": {KEY + "admission-gated-by": "x"}}})
    settings = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    assert told(*queues(), gated)[0] == []
    assert told(*queues(), gated, {**settings, "featureGates": {"AdmissionGatedBy": False}})[0] == ["team-a/w"]


@pytest.mark.parametrize("controller", ["kueue.x-k8s.io/multikueue"])
def test_a_check_that_only_kueue_answers_stops_its_queue(controller):
    """Quota is not held for an answer that never comes."""
    check = {"apiVersion": V2, "kind": "AdmissionCheck", "metadata": {"name": "c"}}
    strategy = {"admissionChecks": [{"name": "c"}]}
    objects = [*queues(admissionChecksStrategy=strategy), {**check, "spec": {"controllerName": controller}}]
    admitted, waits = told(*objects, workload())
    assert admitted == []
    assert "AdmissionCheck c: spec.controllerName uses" in waits["team-a/w"][1]


def test_every_sign_of_what_is_not_supported_is_seen():
    """Each row of the table is found in the smallest object that asks for it."""
    for feature in (*KUEUE, *VOLCANO):
        for sign in feature.signs if feature.state == FeatureState.NO else ():
            value = sign.value or "x"
            obj = value
            for step in reversed(sign.path):
                obj = {step: obj}
            assert [(path, found.name) for path, found in asked(sign.of, obj)] == [(sign.path, feature.name)]
