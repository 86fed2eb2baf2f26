"""JSON Patch: what applies, what does not, and patches built from two trees."""

import copy

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.kube.equality import same
from webhook.kube.patch import ABSENT, Operation, PatchError, TestFailed, apply, diff, pointer, split

SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab/~", max_size=3)
TREES = st.recursive(
    SCALARS, lambda t: st.lists(t, max_size=4) | st.dictionaries(st.text("ab/~", max_size=2), t, max_size=4)
)
OBJECTS = st.dictionaries(st.text("ab/~", max_size=2), TREES, max_size=4)


@given(OBJECTS, OBJECTS)
def test_patch_applied_gives_the_other_tree(before, after):
    """A patch made by diff turns one tree into the other, by our apply and by the jsonpatch library alike."""
    kept = copy.deepcopy(before)
    steps = diff(before, after)
    assert same(apply(before, steps), after)
    assert before == kept
    wire = [step.wire() for step in steps]
    assert same(jsonpatch.apply_patch(before, wire), after)


def test_diff_of_shared_parts_is_small():
    """Only what was written is in the patch, and what was not touched is not looked into."""
    shared = {"deep": [object()]}
    before = {"keep": shared, "list": [1, 2, 3], "gone": 1}
    after = {"keep": shared, "list": [1, 2, 3, 4], "new/key": {"x": 1}}
    assert [step.wire() for step in diff(before, after)] == [
        {"op": "remove", "path": "/gone"},
        {"op": "add", "path": "/list/3", "value": 4},
        {"op": "add", "path": "/new~1key", "value": {"x": 1}},
    ]


def test_insertion_in_the_middle_is_one_operation():
    """An item put into a list is added at its place, not written over all that follow."""
    before = {"l": [{"n": "a"}, {"n": "c"}]}
    after = {"l": [{"n": "a"}, {"n": "b"}, {"n": "c"}]}
    assert [step.wire() for step in diff(before, after)] == [{"op": "add", "path": "/l/1", "value": {"n": "b"}}]


def test_true_is_not_one():
    """A bool that becomes a number is a change, a whole double that becomes an int is none."""
    assert diff({"a": True}, {"a": 1}) == (Operation("replace", "/a", 1),)
    assert diff({"a": 1.0}, {"a": 1}) == ()


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        (Operation("add", "/list/-", 3), {"list": [1, 2, 3], "map": {"a": 1}}),
        (Operation("add", "/list/0", 0), {"list": [0, 1, 2], "map": {"a": 1}}),
        (Operation("add", "/list/-1", 9), {"list": [1, 2, 9], "map": {"a": 1}}),
        (Operation("add", "/map/b"), {"list": [1, 2], "map": {"a": 1, "b": None}}),
        (Operation("replace", "/map/new", 2), {"list": [1, 2], "map": {"a": 1, "new": 2}}),
        (Operation("replace", "/list/-1", 9), {"list": [1, 9], "map": {"a": 1}}),
        (Operation("remove", "/list/0"), {"list": [2], "map": {"a": 1}}),
        (Operation("move", "/moved", from_="/map/a"), {"list": [1, 2], "map": {}, "moved": 1}),
        (Operation("copy", "/list/0", from_="/map"), {"list": [{"a": 1}, 1, 2], "map": {"a": 1}}),
        (Operation("test", "/map", {"a": 1}), {"list": [1, 2], "map": {"a": 1}}),
        (Operation("test", "", {"map": {"a": 1}, "list": [1, 2]}), {"list": [1, 2], "map": {"a": 1}}),
        (Operation("replace", "", {"whole": 1}), {"whole": 1}),
    ],
)
def test_operation(operation, result):
    """Each operation does what the API server's library does, the original untouched."""
    document = {"list": [1, 2], "map": {"a": 1}}
    assert apply(document, [operation]) == result
    assert document == {"list": [1, 2], "map": {"a": 1}}


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (Operation("add", "/no/where", 1), 'doc is missing path: "/no/where"'),
        (Operation("add", "", 1), "doc is missing path"),
        (Operation("add", "list", 1), "doc is missing path"),
        (Operation("add", "/list/5", 1), "Unable to access invalid index: 5"),
        (Operation("add", "/list/x", 1), "not an array index"),
        (Operation("replace", "/list/2", 1), "Unable to access invalid index: 2"),
        (Operation("remove", "/map/b"), "Unable to remove nonexistent key: b"),
        (Operation("remove", "/map/a/b"), "doc is missing path"),
        (Operation("move", "/x", from_="/no/where"), "doc is missing from path: /no/where"),
        (Operation("copy", "/no/where", from_="/map"), "doc is missing destination path: /no/where"),
        (Operation("replace", "", 1), "must be object or array"),
        (Operation("frob", "/map"), "Unexpected kind: frob"),
    ],
)
def test_operation_that_does_not_apply(operation, message):
    """An operation that cannot be done says which path is wrong."""
    with pytest.raises(PatchError, match=message.replace("(", r"\(")):
        apply({"list": [1, 2], "map": {"a": 1}}, [operation])


def test_failed_test_is_told_apart():
    """A test that does not hold is its own error, since the object is then left as it was."""
    with pytest.raises(TestFailed):
        apply({"a": 1}, [Operation("replace", "/a", 2), Operation("test", "/a", 1)])


def test_pointers_escape_and_back():
    """A key with slash and tilde survives the way into a pointer and back."""
    assert pointer(("a/b", 0, "c~d")) == "/a~1b/0/c~0d"
    assert split("/a~1b/0/c~0d") == ["a/b", "0", "c~d"]
    assert Operation("remove", "/a").wire() == {"op": "remove", "path": "/a"}
    assert repr(ABSENT) == "ABSENT"
