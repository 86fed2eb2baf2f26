"""Sluice's CRDs beside a summary of Kueue's: no field is missing, and none takes what Kueue's refuses.

`kueue-0.20-fields.txt` has a line for each field: kind, version, path, type, and which bounds there are. Of patterns
and rules it only says that there are some.
"""

from pathlib import Path

import pytest

from webhook.api.crds.kinds import KINDS
from webhook.api.crds.schema import structural

LINES = Path(__file__).with_name("kueue-0.20-fields.txt").read_text().splitlines()
FLOORS = {"minimum", "minLength", "minItems", "minProperties"}
CEILINGS = {"maximum", "maxLength", "maxItems", "maxProperties"}
LOOSER = {
    ("Workload", ".status.admissionChecks", "maxItems"): "as many checks as a ClusterQueue may name",
    ("Workload", ".spec.podSets[]", "required"): "count has a default",
    ("Workload", ".status.admission.podSetAssignments[]", "required"): "name has a default",
    ("MultiKueueCluster", ".spec.kubeConfig", "required"): "locationType has a default",
    ("ResourceFlavor", ".spec.nodeTaints", "rules"): "the effects are an enum",
    ("ResourceFlavor", ".spec.tolerations", "rules"): "on each toleration, and as enums",
    ("Workload", ".status.admissionChecks[].podSetUpdates[].tolerations", "rules"): "on each toleration, and as enums",
}
"""What ours does not bound at the same place, and why that is right."""


def fields(schema, path=""):
    """Every place of a schema: (path, schema)."""
    yield path, schema
    for name, inner in (schema.get("properties") or {}).items():
        yield from fields(inner, f"{path}.{name}")
    for word, sign in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(word), dict):
            yield from fields(schema[word], path + sign)


OURS = {
    (kind.kind, version.name): dict(fields(structural(version.type))) for kind in KINDS for version in kind.versions
}


def looser(mine, word, value):
    """Whether a bound of Kueue's is missing here, or is wider."""
    if word in FLOORS:
        return mine.get(word, float("-inf")) < int(value)
    if word in CEILINGS:
        return "enum" not in mine and mine.get(word, float("inf")) > int(value)
    if word == "enum":
        return not set(mine.get(word, ["?"])) <= set(value.split(","))
    if word == "required":
        return not set(value.split(",")) <= set(mine.get(word, ()))
    if word == "list":
        keys = ",".join(mine.get("x-kubernetes-list-map-keys", ()))
        return f"{mine.get('x-kubernetes-list-type')}{':' if keys else ''}{keys}" != value
    if word == "map":
        return mine.get("x-kubernetes-map-type") != value
    return not mine.get({"rules": "x-kubernetes-validations"}.get(word, word))


def rows():
    for line in LINES:
        kind, version, path, sort, *words = line.split(" ")
        yield kind, version, path, sort, [word.partition("=")[::2] for word in words]


@pytest.mark.parametrize("of", sorted(OURS), ids=" ".join)
def test_every_field_of_kueue_is_there_with_its_type(of):
    """A field that is missing would be pruned, and what it asks for would be ignored without a word."""
    wanted = {path: sort for kind, version, path, sort, _ in rows() if (kind, version) == of}
    assert {path: OURS[of].get(path, {}).get("type", "quantity") for path in wanted if path in OURS[of]} == wanted


@pytest.mark.parametrize("of", sorted(OURS), ids=" ".join)
def test_no_bound_is_wider_than_kueues(of):
    """What is stored here can be stored in a Kueue's cluster as well."""
    found = {
        (kind, path, word)
        for kind, version, path, _, bounds in rows()
        for word, value in bounds
        if (kind, version) == of and looser(OURS[of][path], word, value)
    }
    assert found - LOOSER.keys() == set()


def test_no_exception_is_out_of_date():
    """Each excuse is for a bound that is wider."""
    found = {
        (kind, path, word)
        for kind, version, path, _, bounds in rows()
        for word, value in bounds
        if looser(OURS[kind, version].get(path, {}), word, value)
    }
    assert LOOSER.keys() - found == set()
