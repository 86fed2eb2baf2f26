"""An object after a mutation is what the API server would read of it, however little of it is looked at."""

import copy
import random
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.kube.typed.random_objects import KINDS, Maker
from webhook.cel.values import ObjectValue
from webhook.kube.equality import same
from webhook.kube.gvk import gvk_of
from webhook.kube.json_patch import Operation, apply
from webhook.kube.schemas import schema_of
from webhook.kube.typed.conversion import FieldTypeError, UnknownFields, converted
from webhook.kube.typed.defaulted import defaulted
from webhook.policy.patching.apply_configuration import NotApplicable, fast_merged, field_schema

JSON = dict[str, Any]
POD = defaulted(
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
)


def _parts(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    """Every place below a value, with what stands there."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [part for key, inner in items for part in (((*path, key), inner), *_parts(inner, (*path, key)))]


def _put(obj: JSON, path: tuple[str | int, ...], value: Any) -> JSON | None:
    """A copy of the way to a place, with a value there; None where there is no such way."""
    made: Any = dict(obj)
    at = made
    for step, following in zip(path, (*path[1:], None), strict=True):
        if isinstance(at, list) and not (isinstance(step, int) and step < len(at)):
            return None
        if following is None:
            at[step] = value
            break
        inner = at[step] if isinstance(at, list) else at.get(step)
        if not isinstance(inner, dict | list):
            return None
        at[step] = at = copy.copy(inner)
    return made


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(KINDS), st.integers(0, 10**6))
def test_what_is_left_alone_would_not_have_changed(kind: Any, seed: int) -> None:
    """Putting any part of one object into another of its kind gives what reading the whole would give."""
    chance = random.Random(seed)
    maker = Maker(chance)
    before = defaulted(defaulted(maker.object(*kind)))
    parts = [part for part in _parts(maker.object(*kind)) if part[0][0] not in ("apiVersion", "kind", "metadata")]
    if not parts:
        return
    path, value = chance.choice(parts)
    after = _put(before, path, value)
    if after is None:
        return
    kept = copy.deepcopy(before)
    result = converted(before, after, strict=False)
    event("left alone" if result is after else "read")
    assert same(result, defaulted(after)), path
    assert same(before, kept)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(KINDS), st.integers(0, 10**6))
def test_the_fast_way_gives_what_needs_no_conversion(kind: Any, seed: int) -> None:
    """Where the fast merge gives a result for a whole object, reading that changes nothing."""
    chance = random.Random(seed)
    maker = Maker(chance)
    before = defaulted(defaulted(maker.object(*kind)))
    parts = [p for p in _parts(maker.object(*kind)) if all(isinstance(s, str) for s in p[0]) and p[0][0] != "kind"]
    schema = field_schema(schema_of(gvk_of(before)), converted=True)
    if not parts or schema is None:
        return
    path, value = chance.choice(parts)
    for at in range(len(path), 0, -1):
        value = ObjectValue(".".join(("Object", *map(str, path[: at - 1]))), {path[at - 1]: value})
    try:
        result = fast_merged(schema, before, value)
    except NotApplicable:
        return
    event("fast")
    assert same(result, defaulted(result))


ROWS: list[tuple[str, Any, str, Any]] = [
    ("/metadata/annotations", {}, "metadata.annotations", "absent"),
    ("/metadata/labels/x", None, "metadata.labels.x", ""),
    ("/spec/activeDeadlineSeconds", None, "spec.activeDeadlineSeconds", "absent"),
    ("/spec/hostNetwork", False, "spec.hostNetwork", "absent"),
    ("/spec/shareProcessNamespace", False, "spec.shareProcessNamespace", False),
    ("/spec/containers/-", {"name": "d", "image": "i"}, "spec.containers.1.imagePullPolicy", "Always"),
    ("/spec/overhead", {"cpu": "0.5"}, "spec.overhead.cpu", "500m"),
    ("/spec/serviceAccount", "x", "spec.serviceAccountName", "x"),
    ("/spec/schedulingGates", [{"name": "g"}], "spec.schedulingGates", [{"name": "g"}]),
]


@pytest.mark.parametrize(("path", "value", "place", "expected"), ROWS)
def test_what_a_mutation_wrote_is_read(path: str, value: Any, place: str, expected: Any) -> None:
    """One write each; `absent` where the server leaves it out."""
    found: Any = converted(POD, apply(POD, [Operation("add", path, value)]), strict=True)
    for step in place.split("."):
        found = found[int(step)] if isinstance(found, list) else found.get(step, "absent")
    assert found == expected


def test_what_came_with_the_request_stays() -> None:
    """A field that a newer server knows, and whatever else no mutation wrote, are not touched."""
    newer = {**POD, "spec": {**POD["spec"], "newField": {"a": None}, "nodeSelector": {}}}
    after = {**newer, "metadata": {**newer["metadata"], "annotations": {}}}
    result = converted(newer, after, strict=True)
    assert result["spec"] is newer["spec"]
    assert "annotations" not in result["metadata"]


def test_a_custom_kind_has_no_type() -> None:
    """What a CRD describes is kept as it is written."""
    before = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
    after = {**before, "spec": {"labels": {}, "none": None}}
    assert converted(before, after, strict=True) is after


MISTAKES: list[tuple[str, Any, str, str]] = [
    ("/metadata/labels", {"a": 1}, "number into Go struct field ObjectMeta.metadata.labels of type string", "string"),
    ("/metadata/labels", "a", "string into Go struct field ObjectMeta.metadata.labels of type map[string]string", ""),
    ("/spec/activeDeadlineSeconds", "a", "string into Go struct field PodSpec.spec.activeDeadlineSeconds of type int64",
     "cannot convert string to int64"),
    ("/spec/activeDeadlineSeconds", 1.5,
     "number 1.5 into Go struct field PodSpec.spec.activeDeadlineSeconds of type int64",
     "cannot convert float64 to int64"),
    ("/spec/hostNetwork", "true", "string into Go struct field PodSpec.spec.hostNetwork of type bool", "to bool"),
    ("/spec/containers", {}, "object into Go struct field PodSpec.spec.containers of type []v1.Container", ""),
    ("/spec/securityContext", [], "array into Go struct field PodSpec.spec.securityContext of type v1.PodSecur", ""),
    ("/spec/overhead", {"cpu": "many"}, "quantities must match the regular expression", "quantities must match"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "decoding", "converting"), MISTAKES)
def test_a_value_that_does_not_fit_is_refused(path: str, value: Any, decoding: str, converting: str) -> None:
    """In the words of Go's JSON for a patch, in those of the converter for an apply configuration."""
    after = apply(POD, [Operation("add", path, value)])
    with pytest.raises(FieldTypeError) as strictly:
        converted(POD, after, strict=True)
    assert decoding in str(strictly.value)
    with pytest.raises(FieldTypeError) as freely:
        converted(POD, after, strict=False)
    assert str(freely.value).startswith("unable to convert unstructured object to /v1, Kind=Pod: ")
    assert converting in str(freely.value)


def test_unknown_fields_are_named_in_order() -> None:
    """Decoding is strict, converting drops them."""
    steps = [Operation("add", "/spec/zebra", 1), Operation("add", "/ant", 1)]
    after = apply(POD, [*steps, Operation("add", "/spec/containers/0/bee", 1)])
    with pytest.raises(UnknownFields) as raised:
        converted(POD, after, strict=True)
    fields = ("ant", "spec.containers[0].bee", "spec.zebra")
    assert str(raised.value) == ", ".join(f'unknown field "{field}"' for field in fields)
    assert same(converted(POD, after, strict=False), POD)
