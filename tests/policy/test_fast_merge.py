"""The fast way of an ApplyConfiguration against the structured merge: where it gives a result it is the same."""

import copy

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from webhook.cel.values import ObjectValue
from webhook.kube.equality import same
from webhook.kube.gvk import gvk_of
from webhook.kube.merge import MergeError, apply_configuration
from webhook.kube.schemas import schema_of
from webhook.policy.patching.apply_configuration import NotApplicable, fast_merged, field_schema
from webhook.policy.patching.native_values import MutationError, check_names, native

NAMES = st.sampled_from(["a", "b", "c"])
ODD = st.sampled_from(["x", "y", "", 1, 2**40, 1.5, True, False, None, [], {}, ["x"], {"x": None}])
SCALARS = st.one_of(st.sampled_from(["x", "y"]), ODD)
PLAIN = st.one_of(st.dictionaries(NAMES, st.sampled_from(["x", "y"]), max_size=2), ODD)


def some(**fields):
    """A map with some of these fields, in any order."""
    return st.permutations(list(fields)).flatmap(
        lambda order: st.fixed_dictionaries({}, optional={name: fields[name] for name in order})
    )


CONTAINERS = st.lists(
    some(name=NAMES, image=SCALARS, tty=SCALARS, resources=some(limits=PLAIN, requests=PLAIN), env=ODD), max_size=3
)
POD = some(containers=CONTAINERS, initContainers=CONTAINERS, nodeSelector=PLAIN, hostNetwork=SCALARS, tolerations=ODD)
METADATA = some(labels=PLAIN, annotations=PLAIN, finalizers=ODD, name=SCALARS)
BODY = some(metadata=METADATA, spec=st.one_of(some(suspend=SCALARS, template=some(spec=POD)), POD, ODD))
KINDS = st.sampled_from([("batch/v1", "Job"), ("v1", "Pod"), ("ray.io/v1", "RayJob"), ("v1", "ConfigMap")])


def values(tree, draw, path="Object", *, named=True):
    """A tree of maps as an expression gives it: objects with the names of their places, now and then plain maps."""
    if isinstance(tree, list):
        return [values(item, draw, path, named=named) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if path != "Object" and draw(st.integers(0, 9)) == 0:
        return copy.deepcopy(tree)
    name = path if named or draw(st.integers(0, 5)) else "Object.other"
    plain = path.endswith(("labels", "annotations", "limits", "requests", "nodeSelector")) and draw(st.booleans())
    inner = {key: values(item, draw, f"{path}.{key}", named=named) for key, item in tree.items()}
    return inner if plain else ObjectValue(name, inner)


@settings(max_examples=400, deadline=None)
@given(KINDS, BODY, BODY, st.booleans(), st.data())
def test_the_fast_way_is_the_structured_merge(kind, body, fragment, named, data):
    """Whatever it gives is what names, schema and merge would have given, and the same object where nothing changes."""
    obj = {"apiVersion": kind[0], "kind": kind[1], **body}
    value = values(fragment, data.draw, named=named)
    schema = schema_of(gvk_of(obj))
    kept = copy.deepcopy(obj)
    try:
        result = fast_merged(field_schema(schema), obj, value)
    except NotApplicable:
        event("structured merge")
        return
    try:
        check_names(value)
        wanted = apply_configuration(obj, native(value), schema)
    except (MutationError, MergeError) as error:
        pytest.fail(f"the merge refuses it: {error}")
    assert same(result, wanted)
    assert (result is obj) is (wanted is obj)
    assert list(result) == list(wanted)
    assert obj == kept


def test_the_ordinary_goes_straight():
    """Labels, resources of containers by name and plain fields are merged the fast way."""
    obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d"}], "volumes": [1]},
    }
    resources = ObjectValue("Object.spec.containers.resources", {"limits": {"nvidia.com/gpu": "1"}})
    container = ObjectValue("Object.spec.containers", {"name": "d", "resources": resources})
    fields = {
        "metadata": ObjectValue("Object.metadata", {"labels": {"c": "d"}}),
        "spec": ObjectValue("Object.spec", {"containers": [container], "hostNetwork": True}),
    }
    result = fast_merged(field_schema(schema_of(gvk_of(obj))), obj, ObjectValue("Object", fields))
    assert result["metadata"] == {"name": "p", "labels": {"a": "b", "c": "d"}}
    assert result["spec"]["containers"][1] == {"name": "d", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    assert result["spec"]["hostNetwork"] is True
    assert result["spec"]["containers"][0] is obj["spec"]["containers"][0]
    assert result["spec"]["volumes"] is obj["spec"]["volumes"]
