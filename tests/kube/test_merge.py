"""Structured merge: lists by key, sets, atomic parts, kinds with, from CRD files and without a schema."""

import pytest

from webhook.kube.gvk import GroupVersionKind, gvk_of
from webhook.kube.merge import Foreign, MergeError, apply_configuration
from webhook.kube.schema import UNTYPED, from_crd
from webhook.kube.schemas import is_built_in, schema_of

JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "x", "labels": {"a": "b"}, "finalizers": ["f"]},
    "spec": {
        "template": {
            "spec": {
                "containers": [
                    {"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 80}]},
                    {"name": "d"},
                ],
                "tolerations": [{"key": "k"}],
            }
        }
    },
}


def applied(fragment):
    """The Job with a fragment merged in."""
    return apply_configuration(JOB, fragment, schema_of(gvk_of(JOB)))


def pod(**fields):
    """A fragment of the pod template."""
    return {"spec": {"template": {"spec": fields}}}


def test_items_merge_by_key_and_keep_their_order():
    """A container of the same name merges, a new one comes where the fragment has it, the rest stays."""
    merged = applied(pod(containers=[{"name": "d", "image": "z"}, {"name": "n"}]))
    assert merged["spec"]["template"]["spec"]["containers"] == [
        JOB["spec"]["template"]["spec"]["containers"][0],
        {"name": "d", "image": "z"},
        {"name": "n"},
    ]
    assert len(JOB["spec"]["template"]["spec"]["containers"]) == 2


def test_keys_have_defaults():
    """A port without a protocol is the TCP port of that number."""
    merged = applied(
        pod(containers=[{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP", "name": "http"}]}])
    )
    ports = merged["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert ports == [{"containerPort": 80, "protocol": "TCP", "name": "http"}]


def test_maps_and_sets_grow():
    """Labels merge by key, finalizers are a set."""
    merged = applied({"metadata": {"labels": {"c": "d"}, "finalizers": ["f", "g"]}})
    assert merged["metadata"]["labels"] == {"a": "b", "c": "d"}
    assert merged["metadata"]["finalizers"] == ["f", "g"]


@pytest.mark.parametrize(
    ("fragment", "path"),
    [
        (pod(tolerations=[{"key": "x"}]), ".spec.template.spec.tolerations"),
        (pod(nodeSelector={"a": "b"}), ".spec.template.spec.nodeSelector"),
        ({"spec": {"selector": {"matchLabels": {"a": "b"}}}}, ".spec.selector"),
    ],
)
def test_atomic_parts_may_not_be_mutated(fragment, path):
    """What would be replaced as a whole is refused, with its path."""
    with pytest.raises(MergeError, match="may not mutate atomic arrays, maps or structs: " + path.replace(".", "\\.")):
        applied(fragment)


@pytest.mark.parametrize(
    ("fragment", "message"),
    [
        ({"spec": {"noSuchField": 1}}, ".spec.noSuchField: field not declared in schema"),
        ({"spec": {"suspend": "yes"}}, ".spec.suspend: expected boolean"),
        ({"spec": {"parallelism": Foreign("NULL_VALUE")}}, ".spec.parallelism: expected numeric"),
        ({"metadata": {"finalizers": [{}]}}, "an element that is no scalar"),
        (pod(containers=[{"name": "n"}, {"name": "n"}]), "duplicate entries for key"),
    ],
)
def test_fragments_that_do_not_fit(fragment, message):
    """A fragment of the wrong form is an error that names the field."""
    with pytest.raises(MergeError) as caught:
        applied(fragment)
    assert message in str(caught.value)


def test_unknown_fields_of_the_object_stay():
    """An API server newer than our schemas may have let fields in that we do not know."""
    obj = {**JOB, "spec": {**JOB["spec"], "brandNew": 1}}
    merged = apply_configuration(obj, {"spec": {"suspend": True}}, schema_of(gvk_of(obj)))
    assert merged["spec"]["brandNew"] == 1
    assert merged["spec"]["suspend"] is True


def test_without_a_schema_lists_are_replaced():
    """A kind nobody described: maps merge, lists do not."""
    obj = {"apiVersion": "x.io/v1", "kind": "Foo", "spec": {"l": [1, 2], "m": {"a": 1}}}
    merged = apply_configuration(obj, {"spec": {"l": [3], "m": {"b": 2}}}, UNTYPED)
    assert merged["spec"] == {"l": [3], "m": {"a": 1, "b": 2}}
    assert schema_of(gvk_of(obj)) is UNTYPED


def test_schema_from_a_crd():
    """A CustomResourceDefinition says which lists merge and which fields there are."""
    item = {"type": "object", "properties": {"name": {"type": "string"}, "v": {"type": "integer"}}}
    listed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": item}
    spec = {"type": "object", "properties": {"l": listed, "size": {"x-kubernetes-int-or-string": True}}}
    root = {"type": "object", "properties": {"spec": spec}}
    crd = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": root}}]}}
    schema = from_crd(crd, "v1")
    obj = {"apiVersion": "x.io/v1", "kind": "Foo", "metadata": {"name": "n"}, "spec": {"l": [{"name": "a"}]}}
    merged = apply_configuration(obj, {"spec": {"l": [{"name": "a", "v": 1}, {"name": "b"}], "size": "5%"}}, schema)
    assert merged["spec"] == {"l": [{"name": "a", "v": 1}, {"name": "b"}], "size": "5%"}
    with pytest.raises(MergeError, match="field not declared"):
        apply_configuration(obj, {"spec": {"typo": 1}}, schema)
    assert from_crd(crd, "v2") is UNTYPED


def test_built_in_kinds_have_fields():
    """The compact data leads through references to the type of a field."""
    schema = schema_of(GroupVersionKind("apps", "v1", "Deployment"))
    found = schema.field("spec", "template", "spec", "containers", "*", "resources", "limits", "cpu")
    assert found is not None
    assert found.code == "q"
    assert schema.field("spec", "nope") is None
    assert is_built_in(GroupVersionKind("", "v1", "Pod"))
    assert not is_built_in(GroupVersionKind("ray.io", "v1", "RayCluster"))
