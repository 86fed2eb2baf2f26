"""The schema of QueuePolicy, held against the table of rule points and the files that are shipped."""

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from webhook.api.crds.definitions import top_level
from webhook.api.crds.kinds import FILE_KINDS
from webhook.api.crds.schema import editor_schema
from webhook.documents import read
from webhook.policy.queue_rules.files import shipped
from webhook.policy.queue_rules.points import POINTS
from webhook.policy.queue_rules.settings import SECTIONS

(KIND,) = FILE_KINDS
SCHEMA = editor_schema(KIND.group, "v1alpha1", KIND.kind, top_level(KIND.versions[0].type))
FOLDER = Path(__file__).parents[2] / "policies/queue"
FILES = [FOLDER / name / "policy.yaml" for name in shipped() if (FOLDER / name).is_dir()]


@pytest.mark.parametrize("point", POINTS, ids=lambda p: ".".join(p.path))
def test_every_rule_point_stands_in_the_schema(point):
    """What the loader takes, an editor offers: a text, or a list of texts where the point is a list of keys."""
    node = SCHEMA["properties"]["spec"]
    for step in point.path:
        node = node["properties"][step]
    assert node["type"] == ("array" if point.keys else "string")


def test_the_schema_has_no_field_that_the_loader_does_not_know():
    """Fields of the schema are rule points, settings, `admit`, `evict` and `extends`."""
    known = {p.path[0] for p in POINTS} | set(SECTIONS) | {"admit", "evict", "extends", "laws", "parameters"}
    assert set(SCHEMA["properties"]["spec"]["properties"]) == known


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.parent.name)
def test_every_shipped_file_is_valid(file):
    """The rules that come with Sluice are held against the schema that editors use."""
    (document,) = read(file.read_text(), str(file))
    assert [e.message for e in Draft202012Validator(SCHEMA).iter_errors(document.value)] == []
