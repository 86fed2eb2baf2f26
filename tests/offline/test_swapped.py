"""Any value in place of any other, in the files that are shipped: what comes out is a result or a finding."""

from datetime import UTC, datetime
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared import ROOT
from webhook.api.snapshot.reader import snapshot
from webhook.diagnostics import SourceError
from webhook.documents import Document, read
from webhook.offline.dryrun.evaluate import dry_run, inputs
from webhook.offline.dryrun.file_facts import FileFacts
from webhook.offline.dryrun.queues import with_queues
from webhook.offline.dryrun.requests import Sender
from webhook.offline.files import Files, objects_of
from webhook.offline.lint.apply_rules import lint
from webhook.offline.plan.make_plan import make_plan
from webhook.offline.plan.objects import cluster_of
from webhook.offline.plan.rule_sets import rules_of
from webhook.offline.unreadable_objects import readable
from webhook.policy.bundle import EMPTY
from webhook.policy.loading.assemble import assemble
from webhook.policy.queue_rules.files import rules_among

NOW = datetime(2026, 9, 1, tzinfo=UTC)
VALUES = (None, [], {}, "", -1, 1e300, "x" * 10_000, True, [None], {"a": None}, 0.5, ["a"], 10**30)


@cache
def shipped() -> tuple[Document, ...]:
    """Every document of the policies, the articles' manifests and the sample queues."""
    files = [*sorted((ROOT / "policies").rglob("*.yaml")), *sorted((ROOT / "tests" / "seeds").glob("*.yaml"))]
    found = []
    for file in files:
        if "cases" not in file.parts:
            found += read(file.read_text(encoding="utf-8"), file.name)
    return tuple(found)


def swapped(document: Document, path, new) -> Document:
    """The document with another value at a path."""
    return Document(put(document.value, path, new), document.file, document.lines, document.nodes, document.keys)


def put(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(copy[path[0]], path[1:], new)
    return copy


def linted(document):
    lint(Files((document,), (document.file,)), NOW)


def loaded(document):
    assemble([document])


def tried(document):
    bundle = loaded_or_empty(document)
    sender = Sender()
    with readable(lambda: [document]):
        found, _ = inputs([document, *pods()], sender)
        objects = (*(i.obj for i in found), *objects_of([document]), *bundle.objects)
        trial = dry_run(found, bundle, FileFacts(objects, {}, authorized=True), sender, clock=lambda: 0.0)
        with_queues(trial, objects, rules_among(bundle.queue_policies), 0.0)


def loaded_or_empty(document):
    try:
        return assemble([document])
    except SourceError:
        return EMPTY


@cache
def pods() -> tuple[Document, ...]:
    """Two pods that policies may be for."""
    return tuple(read("".join(f"---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {n}}}}}\n" for n in "ab"), "pods"))


@cache
def kueue():
    return rules_of(("kueue",), None)


def planned(document):
    with readable(lambda: [document]):
        make_plan(snapshot(cluster_of([document.value]).objects), kueue(), 0, 2)


SEEDED = {
    ("ResourceFlavor", ("spec", "nodeLabels"), -1),
    ("ClusterQueue", ("spec", "resourceGroups"), -1),
    ("ClusterQueue", ("spec", "resourceGroups", 0, "flavors", 0, "name"), "a list"),
    ("LocalQueue", ("metadata", "namespace"), "a map"),
    ("Queue", ("spec", "weight"), "a list"),
    ("PyTorchJob", ("spec", "pytorchReplicaSpecs", "Master", "template", "spec", "containers"), -1),
}


@pytest.mark.parametrize("run", [linted, loaded, tried, planned], ids=lambda run: run.__name__)
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_any_value_anywhere_is_a_finding_at_worst(run, data):
    """Linting, loading, trying and planning a shipped file in which one value was swapped ends, or raises findings."""
    document = data.draw(st.sampled_from(shipped()))
    path = data.draw(st.sampled_from(sorted(document.nodes, key=str)))
    settled(run, swapped(document, path, data.draw(st.sampled_from(VALUES))))


def settled(run, document) -> list:
    """Run something and give its findings, each of which has a code, a file and a sentence."""
    try:
        run(document)
    except SourceError as error:
        found = list(error.diagnostics)
    else:
        return []
    assert found
    assert all(f.code and f.place.file and f.message for f in found)
    return found


@pytest.mark.parametrize(("kind", "path", "new"), sorted(SEEDED, key=str))
def test_what_broke_once(kind, path, new):
    """Swaps that once ended a plan in a traceback are told at the line of the field."""
    value = {"a list": ["a"], "a map": {"a": None}}.get(new, new) if isinstance(new, str) else new
    documents = [d for d in shipped() if d.value["kind"] == kind and path in d.nodes]
    found = settled(planned, swapped(documents[0], path, value))
    assert found
    assert all(f.place.line for f in found)
