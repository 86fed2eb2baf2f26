"""Nulls in pod templates of kinds that are not built in: dropped where Go drops them, and no part of a patch."""

import copy

import pytest

from tests.policy.support import bundle, mutating, request
from webhook.admission import review
from webhook.admission.memory_facts import MemoryFacts
from webhook.jobs.normalise import normalise
from webhook.jobs.nulls import without_nulls
from webhook.kube.typed.defaulted import defaulted


def job(template):
    spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 1, "template": template}}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "j"}, "spec": spec}


def container(**fields):
    return {"name": "c", "image": "i", **fields}


@pytest.mark.parametrize(
    ("template", "without"),
    [
        ({"metadata": None, "spec": {"containers": [container()]}}, {"spec": {"containers": [container()]}}),
        (
            {"metadata": {"annotations": None}, "spec": {"volumes": None, "initContainers": None, "affinity": None}},
            {"metadata": {}, "spec": {}},
        ),
        (
            {"spec": {"containers": [container(resources={"limits": None}, env=[{"name": "a", "value": None}])]}},
            {"spec": {"containers": [container(resources={}, env=[{"name": "a"}])]}},
        ),
        (
            {"spec": {"containers": [container(securityContext={"capabilities": {"add": None}}), None]}},
            {"spec": {"containers": [container(securityContext={"capabilities": {}}), None]}},
        ),
    ],
)
def test_fields_that_are_null_are_not_there(template, without):
    """At any depth; elements of lists keep their places. What is sent is not changed."""
    sent = job(template)
    before = copy.deepcopy(sent)
    assert normalise(sent) == job(without)
    assert sent == before


@pytest.mark.parametrize(
    "template",
    [
        {"metadata": {"annotations": {"a": None}}, "spec": {"nodeSelector": {"pool": None}, "containers": []}},
        {"spec": {"containers": [container(args=[None], command=["echo", '{"a":null}'])]}},
        {"spec": {"containers": [container(command=["\ud800"])]}},
        {"spec": {"containers": [container(command=[2**70])]}},
    ],
)
def test_null_is_a_value_in_lists_and_in_the_users_maps(template):
    """Go reads it there as an empty string. Text that is not UTF-8 and large numbers stay too."""
    assert without_nulls(template) == template


def test_what_has_none_is_the_same_object():
    """Nothing is copied, of built-in kinds nothing even looked at."""
    plain = job({"spec": {"containers": [container()]}})
    assert normalise(plain) is plain
    built_in = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": {"containers": None}}}}
    assert normalise(built_in) is built_in
    malformed = {"apiVersion": ["v1"], "kind": "Pod", "metadata": {"name": "p"}}
    assert normalise(malformed) is malformed


@pytest.mark.parametrize(
    ("resources", "read"),
    [
        ({"limits": {"nvidia.com/gpu": None}}, {"limits": {"nvidia.com/gpu": "0"}}),
        ({"limits": {"cpu": 2}, "requests": {"cpu": None}}, {"limits": {"cpu": "2"}, "requests": {"cpu": "0"}}),
    ],
)
def test_a_quantity_that_is_null_is_0(resources, read):
    """As the API server and the operators read it in a Pod, which are written in Go."""
    sent = job({"spec": {"containers": [container(resources=resources)], "overhead": {"cpu": None}}})
    assert normalise(sent) == job({"spec": {"containers": [container(resources=read)], "overhead": {"cpu": "0"}}})
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container(resources={"limits": {"a/b": None}})]}}
    assert defaulted(pod)["spec"]["containers"][0]["resources"]["limits"] == {"a/b": "0"}


def test_a_patch_replaces_a_null_and_removes_none():
    """The patch is for the object that was sent: it has the nulls still."""
    sent = job({"metadata": {"labels": None}, "spec": {"tolerations": None, "containers": [container(resources=None)]}})
    value = "object.spec.?tolerations.orValue([]) + [{'key': 'a', 'operator': 'Exists'}]"
    policy = mutating(
        f"[JSONPatch{{op: 'add', path: '/spec/tolerations', value: {value}}}]",
        annotations="{sluice.dev/expand: pod-templates}",
    )
    verdict = review(request(sent), bundle(policy), MemoryFacts())
    template = "/spec/pytorchReplicaSpecs/Worker/template"
    toleration = {"key": "a", "operator": "Exists"}
    assert [step.wire() for step in verdict.patch] == [
        {"op": "add", "path": f"{template}/spec/tolerations", "value": [toleration]}
    ]
    spec = {"tolerations": [toleration], "containers": [container(resources=None)]}
    assert verdict.object == job({"metadata": {"labels": None}, "spec": spec})
