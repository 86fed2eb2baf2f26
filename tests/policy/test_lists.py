"""Lists of objects: whatever form they come in, all that reads files takes them apart in the same way."""

import json

import pytest

from tests.daemon.test_takeover import create, judge, policy
from webhook.documents import read
from webhook.offline.dryrun.evaluate import inputs
from webhook.offline.dryrun.requests import Sender
from webhook.offline.lint.context import subjects_of
from webhook.offline.plan.objects import unpacked
from webhook.policy.loading.list_items import entries
from webhook.policy.loading.load_bundle import load_bundle
from webhook.policy_reload.policies import load

GROUP = "admissionregistration.k8s.io/v1"
RULES = [document.value for document in read(policy("jobs"))]
NAMELESS = [{key: value for key, value in obj.items() if key not in ("apiVersion", "kind")} for obj in RULES]


def listed(*items, kind="List", version="v1"):
    return {"apiVersion": version, "kind": kind, "items": list(items)}


FORMS = {
    "a list": [listed(*RULES)],
    "lists in a list": [listed(listed(RULES[0]), listed(listed(RULES[1])))],
    "lists of one kind": [listed(obj, kind=f"{obj['kind']}List", version=GROUP) for obj in RULES],
    "as the API server writes them": [
        listed(bare, kind=f"{obj['kind']}List", version=GROUP) for obj, bare in zip(RULES, NAMELESS, strict=True)
    ],
}


@pytest.mark.parametrize("form", FORMS)
def test_policies_of_a_list_are_in_force(tmp_path, form):
    """A policy that is read and not enforced would let everything through."""
    file = tmp_path / "policies.yaml"
    file.write_text("\n---\n".join(json.dumps(value) for value in FORMS[form]))
    (loaded,) = load_bundle([file]).policies
    assert (loaded.name, [binding.name for binding in loaded.bindings]) == ("jobs", ["jobs"])
    assert judge(load([file]), create()) == ("jobs says no",)


@pytest.mark.parametrize("kind", ["List", "JobList"])
def test_objects_of_a_list_are_seen_by_all(kind):
    """The API server writes `kind: JobList` without the kind of its items; kubectl writes `kind: List`."""
    head = {} if kind == "JobList" else {"apiVersion": "batch/v1", "kind": "Job"}
    jobs = listed({**head, "metadata": {"name": "j"}}, kind=kind, version="v1" if kind == "List" else "batch/v1")
    (document,) = read(json.dumps(listed(jobs)))
    found, wrong = inputs([document], Sender())
    wanted = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    assert (found[0].obj, wrong) == (wanted, [])
    assert list(unpacked([document.value])) == [wanted]
    assert [subject.value for subject in subjects_of(document)] == [wanted]


@pytest.mark.parametrize(("items", "count"), [("null", 0), ("[]", 0), ("5", 1), ("[5, null, {}]", 3)])
def test_what_is_no_object_in_a_list_is_told(items, count):
    """At its place; a list without items is empty."""
    (document,) = read(f"apiVersion: v1\nkind: List\nitems: {items}\n")
    assert len(list(entries(document))) == count
    _, wrong = inputs([document], Sender())
    assert [(found.code, found.place.line) for found in wrong] == [("LOAD002", 3)] * count


def test_an_object_whose_kind_ends_like_a_list_is_none():
    """A PlayList has no items."""
    (document,) = read("{apiVersion: music.example/v1, kind: PlayList, metadata: {name: p}, spec: {}}")
    assert [entry.value["kind"] for entry in entries(document)] == ["PlayList"]
