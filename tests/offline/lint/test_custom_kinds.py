"""Lint refuses the validation rules of custom kinds that the API server refuses, and no others: asked of the server."""

import json
import os
import shutil
from datetime import UTC, datetime

import pytest

from tests.cel.custom_kinds import Maker
from tests.controlplane.oracle import ask_all
from webhook.cel.check import custom_kinds
from webhook.documents import read
from webhook.offline.lint.context import context_of
from webhook.offline.lint.rules import custom_kinds as custom

COUNT = int(os.environ.get("SLUICE_CUSTOM_KINDS", "150"))
SCHEMA = "openAPIV3Schema"
RULES = "x-kubernetes-validations"
pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="the oracle is a Go program, and there is no go")


def custom_kind(make):
    """A CustomResourceDefinition with rules at random places, some of them wrong."""
    schema = {"type": "object", "properties": {name: make.whole(3) for name in ("spec", "status")}}
    text = json.dumps(schema).replace(', "default": "a"', "")
    schema = json.loads(text.replace(', "x-kubernetes-embedded-resource": true', ""))
    sprinkle(make, schema, root=True)
    version = {"name": "v1", "served": True, "storage": True, "schema": {SCHEMA: schema}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def sprinkle(make, schema, *, root=False):
    """Put rules into a third of the schemas at and below one."""
    steps = (schema.get("items"), schema.get("additionalProperties"))
    for inner in (*schema.get("properties", {}).values(), *filter(None, steps)):
        sprinkle(make, inner)
    declared = custom_kinds.declare(schema, root=root)
    if declared is None or not make.often(0.3):
        return
    count = make.random.choice((1, 2, 5))
    texts = [make.rule([("self", declared)], make.random.choice((1, 2, 3))) for _ in range(count)]
    wrong = [text.replace("self.", "self.no.", 1) if make.often(0.1) else text for text in texts]
    schema[RULES] = [{"rule": "1" if make.often(0.05) else text, "message": "no"} for text in wrong]


def written(path):
    """A path below the schema as the API server writes it."""
    steps = list(path[path.index(SCHEMA) + 1 :])
    out = ""
    while steps:
        step = steps.pop(0)
        out += f".{step}[{steps.pop(0)}]" if step in ("properties", RULES) else f".{step}"
    return out


def ours(document):
    """What lint says: rules that do not compile, rules that are too dear, and whether all are together."""
    (version,) = custom.versions(context_of(read(json.dumps(document), "x.json"), datetime(2026, 9, 1, tzinfo=UTC)))
    dear = {written(path) for path, cost in version.costs.items() if cost > custom.RULE_LIMIT}
    return {written(f.path) for f in version.wrong}, dear, sum(version.costs.values()) > custom.VERSION_LIMIT


def theirs(answer):
    """The same of the API server's words."""
    found = [(said.partition(SCHEMA)[2].partition(": ")[0], said) for said in answer.get("value") or ()]
    uncompiled = {path for path, said in found if "compilation failed" in said or "must evaluate to a bool" in said}
    dear = {path for path, said in found if "estimated rule cost exceeds" in said}
    total = any("estimated rule cost total" in said for _, said in found)
    rest = [said for path, said in found if path not in uncompiled | dear and "cost total" not in said]
    assert rest == []
    return uncompiled, dear, total


def test_refusals_are_the_api_servers():
    """For definitions made at random the same rules are refused, each for the same reason."""
    make = Maker(30)
    documents = [custom_kind(make) for _ in range(COUNT)]
    answers = ask_all([{"id": "x", "ask": "crd", "schema": document} for document in documents])
    refused = 0
    for document, answer in zip(documents, answers, strict=True):
        mine = ours(document)
        assert mine == theirs(answer)
        refused += bool(mine[0]) + bool(mine[1])
    assert refused > COUNT / 4
