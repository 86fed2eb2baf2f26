"""Misspelt fields of known kinds: found at their place, and nothing else is."""

import json
from pathlib import Path

import pytest

from tests.shared import shared
from webhook.cel.check.known_fields import FieldShape, check_types
from webhook.kube.gvk import gvk_of
from webhook.kube.schema import UNTYPED
from webhook.kube.schemas import schema_of

CASES = Path(__file__).parent / "cases"
ROWS, WORDS = (
    [json.loads(line) for line in (CASES / name).read_text().splitlines()] for name in ("fields.jsonl", "words.jsonl")
)


def known(obj):
    """What `object` is for a kind, None where nobody described it."""
    schema = schema_of(gvk_of(obj))
    return None if schema is UNTYPED else FieldShape(schema, schema.root)


def scopes(kinds):
    pairs = [kind.rpartition(" ") for kind in kinds.split(",")]
    found = [known({"apiVersion": version, "kind": kind}) for version, _, kind in pairs]
    return [{"object": one, "oldObject": one} for one in found]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["expr"])
def test_fields_that_do_not_exist_are_found_at_their_place(row):
    """The names are those of the row, and the offset is where each stands in the text."""
    found = check_types(row["expr"], scopes(row["kind"])).missing
    assert [m.name for m in found] == row["found"]
    assert all(row["expr"].startswith(m.name, m.offset) and m.known for m in found)


@pytest.mark.parametrize("row", WORDS, ids=lambda row: row["expr"])
def test_words_that_a_field_never_is_are_found_at_their_place(row):
    """The words are those of the row, each found where its quote stands, with the words that there are."""
    found = check_types(row["expr"], scopes(row["kind"])).words
    assert [w.word for w in found] == row["found"]
    assert all(row["expr"].startswith(w.word, w.offset + 1) and w.known for w in found)


def test_the_type_of_a_variable_goes_on():
    """What an expression gives can stand under the name of a variable for the next one."""
    (scope,) = scopes("batch/v1 Job")
    (made,) = check_types("object.spec.template.spec.containers", [scope]).made
    found = check_types("variables.all.exists(c, c.imge == '')", [{**scope, "variables.all": made}]).missing
    assert [m.name for m in found] == ["imge"]


def test_rules_that_pass_in_a_cluster_have_no_findings():
    """The API server answers these expressions on objects of these kinds: one asks for a field no Job can have.

    Fragments that the server then refuses to merge are left out: their field is the finding.
    """
    rows = [json.loads(line) for line in shared("cel/policies-public.jsonl").read_text().splitlines()]
    wrong, words = [], []
    for row in rows:
        obj = row["vars"].get("object")
        refused = "applyError" in row["expect"].get("mutation", ())
        if row["expect"]["ok"] and isinstance(obj, dict) and not refused:
            found = check_types(row["expr"], [{"object": known(obj)}])
            wrong += [(row["expr"], m.name) for m in found.missing]
            words += [(row["expr"], w.word) for w in found.words]
    assert words == []
    assert wrong == [("has(object.status) && object.status.phase == 'Running'", "phase")]
