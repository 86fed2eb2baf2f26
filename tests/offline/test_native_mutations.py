"""The native forms of mutations change a job's template as the policy does, for kinds of one template."""

import json

import pytest

from tests.offline.test_native_policies import bundle_of, native_of, outcome
from tests.shared import ROOT
from webhook import documents
from webhook.jobs.kinds import KINDS
from webhook.offline.lint.trial.samples import of_kind
from webhook.offline.native_policies.mutations import prefixed, wrapped
from webhook.policy.loading.assemble import assemble

PATH = ("spec", "template")
ONE = [k for k in KINDS if k.group in ("batch", "apps")]
SHIPPED = ["gpu-defaults", "gpu-tolerations"]


@pytest.mark.parametrize("policy", SHIPPED)
@pytest.mark.parametrize("kind", ONE, ids=lambda k: str(k.gvk))
def test_a_native_policy_changes_what_the_policy_changes(kind, policy):
    """For a kind with one template the native form, a plain policy on that kind, makes the very same object."""
    text = (ROOT / "policies" / policy / "policy.yaml").read_text()
    made = native_of(text).objects
    original, native = bundle_of(text), assemble(documents.read(documents.dump(o))[0] for o in made)
    changed = 0
    for sample in of_kind(kind):
        for side in ("limits", "requests"):
            obj = json.loads(json.dumps(sample.obj))
            for container in containers(obj):
                container.get("resources", {}).pop(side, None)
            ours, theirs = outcome(original, obj), outcome(native, obj)
            assert theirs.after == ours.after
            changed += ours.changed
    assert changed


def containers(node):
    """Every container below a node."""
    if isinstance(node, dict):
        yield from node.get("containers", ())
        for value in node.values():
            yield from containers(value)
    elif isinstance(node, list):
        for value in node:
            yield from containers(value)


def test_what_has_no_native_form_is_told():
    """A fragment: for several templates, and for custom kinds, whose lists may be atomic. A patch: for several."""
    reasons = {p: native_of((ROOT / "policies" / p / "policy.yaml").read_text()).left_out for p in SHIPPED}
    of = {policy: {title.partition(" for ")[2]: reason for title, reason in rows} for policy, rows in reasons.items()}
    assert of["gpu-defaults"]["notebooks.kubeflow.org"].startswith("the lists of a custom kind may be atomic")
    assert of["gpu-defaults"]["pytorchjobs.kubeflow.org"].startswith("the kind has several pod templates")
    assert "notebooks.kubeflow.org" not in of["gpu-tolerations"]
    assert "jobs.batch" not in of["gpu-defaults"]


def test_a_patch_of_metadata_is_for_kinds_that_have_it():
    """The API server gives the templates of its own kinds metadata; a Notebook may have none to patch."""
    text = (ROOT / "policies" / "gpu-tolerations" / "policy.yaml").read_text()
    found = native_of(text.replace('"/spec/tolerations"', '"/metadata/labels"'))
    reasons = {title.partition(" for ")[2]: reason for title, reason in found.left_out}
    assert reasons["notebooks.kubeflow.org"].startswith("the templates of a custom kind may have no metadata")
    assert "jobs.batch" not in reasons


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Object{}", "Object{spec: Object.spec{template: (Object.spec.template{})}}"),
        (
            'x ? Object{} : Object{spec: Object . spec{a: ["Object.spec{}"]}}',
            "Object{spec: Object.spec{template: (x ? Object.spec.template{} : Object.spec.template{spec: "
            'Object.spec.template . spec{a: ["Object.spec{}"]}})}}',
        ),
    ],
)
def test_fragments_are_wrapped(text, made):
    """Each type is named by its new place, wherever it stands; strings that look like types stay."""
    assert wrapped(text, PATH) == made


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ('[JSONPatch{op: "remove", path: "/a"}]', '[JSONPatch{op: "remove", path: "/spec/template/a"}]'),
        ("[JSONPatch{op: 'move', from: '/a', path: '/b'}]",
         "[JSONPatch{op: 'move', from: '/spec/template/a', path: '/spec/template/b'}]"),
        ('[JSONPatch{path: "/a/" + x, op: "add", value: {"path": 1}}]',
         '[JSONPatch{path: "/spec/template" + ("/a/" + x), op: "add", value: {"path": 1}}]'),
        ('[JSONPatch{op: "add", path: x ? "/}" : "/b", value: Object.a{}}]',
         '[JSONPatch{op: "add", path: "/spec/template" + (x ? "/}" : "/b"), value: Object.spec.template.a{}}]'),
        ('other{path: "/a"}', 'other{path: "/a"}'),
    ],
)  # fmt: skip
def test_patches_are_prefixed(text, made):
    """Paths and sources are put below the template, whatever expression gives them; other fields named so stay."""
    assert prefixed(text, PATH) == made
