"""The schema for editors takes every file there is, and marks a misspelt field of every kind."""

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator

from tests.offline.running import invoke
from tests.shared import ROOT
from webhook import documents
from webhook.cli import exits
from webhook.cli.commands.policies.generate import generate_command
from webhook.offline.reference.field_words import WORDS
from webhook.offline.reference.json_schema import of_files, of_kind, of_kinds, schema_of
from webhook.policy.loading.shapes import BOOL, INT, Items, Table, Text, check, record
from webhook.yaml_library import LOADER

FILES = [
    *ROOT.glob("policies/**/*.yaml"),
    *ROOT.glob("docs/examples/**/*.yaml"),
    *ROOT.glob("tests/native/policies/*.yaml"),
    *ROOT.glob("webhook/offline/scaffold/files/policies/**/*.yaml"),
    *ROOT.glob("webhook/offline/scaffold/files/cluster/*.yaml"),
]
EXCEPTION = """
apiVersion: sluice.dev/v1alpha1
kind: PolicyException
metadata: {name: x}
spec: {policyNames: [p], reason: migration, expires: 2026-12-31, namespaces: [team-*]}
"""


@pytest.fixture(scope="module")
def schema():
    Draft7Validator.check_schema(of_files())
    return Draft7Validator(of_files())


def objects(file):
    return [d for d in yaml.load_all(file.read_text(), LOADER) if isinstance(d, dict) and "kind" in d]


@pytest.mark.parametrize("file", [f for f in FILES if "cases" not in f.parts], ids=lambda f: str(f.relative_to(ROOT)))
def test_every_file_is_valid(schema, file):
    """Shipped policies, suites and rules, the examples and the scaffold have nothing that an editor would mark."""
    assert [e.message for obj in objects(file) for e in schema.iter_errors(obj)] == []


def samples():
    """One object of each kind that is in those files, and an exception."""
    found = {obj["kind"]: obj for file in FILES for obj in objects(file)}
    found["PolicyException"] = {**documents.read(EXCEPTION)[0].value}
    return [found[kind] for kind in sorted({kind for _, kind in of_kinds()} & found.keys())]


@pytest.mark.parametrize("obj", samples(), ids=lambda obj: obj["kind"])
def test_a_misspelt_field_is_marked(schema, obj):
    """A field too many is told at every level that has known fields: at the top and in the spec or the cases."""
    assert schema.is_valid(obj)
    assert not schema.is_valid({**obj, "specs": {}})
    inner = "cases" if obj["kind"] == "Suite" else "spec"
    if inner in obj:
        wrong = [{**obj["cases"][0], "expcet": {}}] if inner == "cases" else {**obj["spec"], "mispelt": 1}
        assert not schema.is_valid({**obj, inner: wrong})


def test_all_own_kinds_are_there():
    """Suite, PolicyException and QueuePolicy are among the kinds, and no kind of that group goes unknown."""
    own = {kind for versions, kind in of_kinds() if versions == ("sluice.dev/v1alpha1",)}
    assert own == {"Suite", "PolicyException", "QueuePolicy"}
    wrong = {"apiVersion": "sluice.dev/v1alpha1", "kind": "Siute", "cases": []}
    assert "'Siute' is not one of" in next(Draft7Validator(of_files()).iter_errors(wrong)).message
    assert Draft7Validator(of_files()).is_valid({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}})


SHAPE = record("name", name=Text(), mode=Text(("a", "b")), on=BOOL, n=INT, many=Items(Text(), 1), by=Table(BOOL))


@pytest.mark.parametrize(
    "text",
    ["{name: x}", "{name: x, mode: a, on: true, n: 1, many: [x], by: {k: true}}", "{}", "{name: x, nam: y}",
     "{name: x, mode: c}", "{name: x, on: 1}", "{name: x, n: '1'}", "{name: x, n: true}", "{name: x, many: []}",
     "{name: x, many: x}", "{name: x, by: {k: 1}}", "{name: [x]}"],
)  # fmt: skip
def test_schema_and_check_say_the_same(text):
    """What the check of a shape takes its schema takes, and the other way round."""
    document = documents.read(text)[0]
    assert Draft7Validator(schema_of(SHAPE)).is_valid(document.value) == (not list(check(document, SHAPE)))


def test_every_word_is_of_a_field():
    """An editor's hover text stands in the schema for each field that has one."""
    for kind, words in WORDS.items():
        text = json.dumps(of_kind(kind))
        assert all(json.dumps(word) in text for word in words.values())


def test_the_command_prints_it(tmp_path):
    """`sluice generate schema` prints one JSON document; a kind that is none is told with the nearest."""
    done = invoke(generate_command, "schema")
    assert json.loads(done.stdout) == of_files()
    assert json.loads(invoke(generate_command, "schema", "--kind", "Suite").stdout)["title"] == "Suite"
    wrong = invoke(generate_command, "schema", "--kind", "Suit")
    assert (wrong.exit_code, 'no such kind "Suit"; did you mean "Suite"?' in wrong.stderr) == (exits.BAD_INPUT, True)


def test_docs_tell_of_it():
    """The page of suites shows the line that an editor reads, and the example of it is a valid suite."""
    page = Path(ROOT, "docs/reference/suites.md").read_text()
    assert "# yaml-language-server: $schema=" in page
    example = page.split("```yaml\n")[1].split("```")[0]
    assert Draft7Validator(of_files()).is_valid(yaml.safe_load(example))
