"""JSON Patch: what applies, what does not, and patches built from two trees."""

import copy

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.kube.absent import ABSENT
from webhook.kube.equality import same
from webhook.kube.json_patch import Operation, PatchError, TestFailed, apply, diff, escape, split

_HUGE = 10**30

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
        (
            Operation("add", "/no/where", 1),
            'add operation does not apply: doc is missing path: "/no/where": missing value',
        ),
        (Operation("add", "", 1), 'add operation does not apply: doc is missing path: "": missing value'),
        (Operation("add", "list", 1), 'add operation does not apply: doc is missing path: "list": missing value'),
        (
            Operation("add", "/list/5", 1),
            "error in add for path: '/list/5': Unable to access invalid index: 5: invalid index referenced",
        ),
        (
            Operation("add", "/list/-4", 1),
            "error in add for path: '/list/-4': Unable to access invalid index: -4: invalid index referenced",
        ),
        (
            Operation("add", "/list/x", 1),
            "error in add for path: '/list/x': value was not a proper array index: 'x': "
            'strconv.Atoi: parsing "x": invalid syntax',
        ),
        (
            Operation("add", f"/list/{_HUGE}", 1),
            f"error in add for path: '/list/{_HUGE}': value was not a proper array index: '{_HUGE}': "
            f'strconv.Atoi: parsing "{_HUGE}": value out of range',
        ),
        (
            Operation("replace", "/list/2", 1),
            "replace operation does not apply: doc is missing key: /list/2: missing value",
        ),
        (
            Operation("replace", "/list/-", 1),
            "replace operation does not apply: doc is missing key: /list/-: missing value",
        ),
        (
            Operation("replace", "/no/a", 1),
            "replace operation does not apply: doc is missing path: /no/a: missing value",
        ),
        (
            Operation("remove", "/map/b"),
            "error in remove for path: '/map/b': Unable to remove nonexistent key: b: missing value",
        ),
        (
            Operation("remove", "/map/a/b"),
            'remove operation does not apply: doc is missing path: "/map/a/b": missing value',
        ),
        (
            Operation("remove", "/list/9"),
            "error in remove for path: '/list/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        (
            Operation("remove", "/list/-"),
            "error in remove for path: '/list/-': strconv.Atoi: parsing \"-\": invalid syntax",
        ),
        (
            Operation("move", "/x", from_="/no/where"),
            "move operation does not apply: doc is missing from path: /no/where: missing value",
        ),
        (
            Operation("move", "/x", from_="/map/b"),
            "error in move for path: 'b': Unable to remove nonexistent key: b: missing value",
        ),
        (
            Operation("move", "/no/x", from_="/map/a"),
            "move operation does not apply: doc is missing destination path: /no/x: missing value",
        ),
        (
            Operation("move", "/list/7", from_="/map/a"),
            "error in move for path: '/list/7': Unable to access invalid index: 7: invalid index referenced",
        ),
        (Operation("move", "/x"), "move operation failed to decode from: operation, missing from field: missing value"),
        (
            Operation("copy", "/no/where", from_="/map"),
            "copy operation does not apply: doc is missing destination path: /no/where: missing value",
        ),
        (
            Operation("copy", "/x", from_="/list/3"),
            "error in copy for from: '/list/3': Unable to access invalid index: 3: invalid index referenced",
        ),
        (
            Operation("copy", "/list/7", from_="/map"),
            "error while adding value during copy: Unable to access invalid index: 7: invalid index referenced",
        ),
        (Operation("test", "/no/a", 1), "test operation does not apply: is missing path: /no/a: missing value"),
        (
            Operation("test", "/list/x", 1),
            "error in test for path: '/list/x': strconv.Atoi: parsing \"x\": invalid syntax",
        ),
        (Operation("replace", "", 1), "replace operation value must be object or array: %!w(<nil>)"),
        (Operation("frob", "/map"), "Unexpected kind: frob"),
    ],
)
def test_operation_that_does_not_apply(operation, message):
    """An operation that cannot be done says so in the words of the API server's library."""
    with pytest.raises(PatchError) as raised:
        apply({"list": [1, 2], "map": {"a": 1}}, [operation])
    assert str(raised.value) == message


def test_failed_test_is_told_apart():
    """A test that does not hold is its own error, since the object is then left as it was."""
    with pytest.raises(TestFailed):
        apply({"a": 1}, [Operation("replace", "/a", 2), Operation("test", "/a", 1)])


def test_pointers_escape_and_back():
    """A key with slash and tilde survives the way into a pointer and back."""
    assert escape("a/b") + escape("c~d") == "a~1bc~0d"
    assert split("/a~1b/0/c~0d") == ["a/b", "0", "c~d"]
    assert Operation("remove", "/a").wire() == {"op": "remove", "path": "/a"}
    assert repr(ABSENT) == "ABSENT"
