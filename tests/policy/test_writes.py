"""What a mutation writes, and which policies are invoked again because of it."""

import pytest

from tests.policy.support import bundle, mutating, request
from webhook.admission import mutate
from webhook.admission.memory_facts import MemoryFacts
from webhook.cel import compile, mutation_env
from webhook.policy.dependencies.writes import written_paths

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "ns"}, "spec": {}}


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("Object{}", set()),
        ("Object{spec: Object.spec{a: 1, b: Object.spec.b{c: 2}}}", {("spec", "a"), ("spec", "b", "c")}),
        ("Object{spec: Object.spec{b: Object.spec.b{}}}", {("spec", "b")}),
        ("has(object.x) ? Object{a: 1} : Object{b: object.x}", {("a",), ("b",)}),
        ('Object{metadata: Object.metadata{labels: {"a": "b"}}}', {("metadata", "labels", "a")}),
        (
            'Object{metadata: Object.metadata{annotations: {"a": "b", "c": "d"}}}',
            {("metadata", "annotations", k) for k in "ac"},
        ),
        ('Object{metadata: Object.metadata{labels: {"a": "b", string(object.x): "c"}}}', {("metadata", "labels")}),
        ("Object{metadata: Object.metadata{labels: {}}}", {("metadata", "labels")}),
        ('Object{spec: Object.spec{nodeSelector: {"a": "b"}}}', {("spec", "nodeSelector")}),
        ("Object{spec: Object.spec{l: [Object.spec.l{name: 'a', x: 1}]}}", {("spec", "l")}),
        ("Object{spec: has(object.x) ? Object.spec{a: 1} : Object.spec{}}", {("spec",)}),
        ('[JSONPatch{op: "add", path: "/spec/a~1b/0", value: 1}]', {("spec", "a/b", "0")}),
        ('[JSONPatch{op: "remove", path: "/a"}, JSONPatch{op: "test", path: "/b", value: 1}]', {("a",), ("b",)}),
        ('[JSONPatch{op: "move", from: "/a/b", path: "/c"}]', {("a", "b"), ("c",)}),
        ('[JSONPatch{op: "add", path: "/spec/l/" + jsonpatch.escapeKey("a/b") + "/c", value: 1}]', {("spec", "l")}),
        ('[JSONPatch{op: "add", path: string(object.p), value: 1}]', {()}),
        ('[JSONPatch{op: "add", path: "", value: {}}]', {()}),
        ("[1].map(i, JSONPatch{op: 'add', path: '/spec/a', value: i})", {("spec", "a")}),
    ],
)
def test_paths_that_are_written(text, paths):
    """An object literal writes its fields, a patch what its pointers lead to, as far as the text tells."""
    assert set(written_paths(compile(text, mutation_env()).checked.root)) == paths


def append(name, path):
    """A policy that adds an item to a list each time it is invoked: it is not idempotent, as it should be."""
    return mutating(f'[JSONPatch{{op: "add", path: "{path}/-", value: "{name}"}}]', name=name)


def label(name, key):
    return mutating(f'Object{{metadata: Object.metadata{{labels: {{"{key}": "x"}}}}}}', name=name, apply=True)


@pytest.mark.parametrize(
    ("policies", "items"),
    [
        (append("a", "/spec/l"), ["a"]),
        (append("a", "/spec/l") + label("b", "k"), ["a"]),
        (append("a", "/spec/l") + append("b", "/spec/l"), ["a", "b", "a", "b"]),
        (append("a", "/spec/l") + append("b", "/spec/m"), ["a"]),
    ],
)
def test_invoked_again_where_another_changed_what_it_touches(policies, items):
    """Its own change, or one elsewhere, is no reason to invoke a policy again; another's change of the same part is."""
    pod = {**POD, "spec": {"l": [], "m": []}}
    verdict = mutate(request(pod), bundle(policies), MemoryFacts())
    assert verdict.object["spec"]["l"] == items


def test_condition_that_holds_later():
    """A policy whose condition did not hold in the first round is not invoked in the second one either."""
    early = mutating(
        '[JSONPatch{op: "add", path: "/spec/subdomain", value: "y"}]',
        name="a",
        extra="  matchConditions: [{name: x, expression: has(object.spec.hostname)}]",
    )
    late = mutating('[JSONPatch{op: "add", path: "/spec/hostname", value: "x"}]', name="b")
    assert mutate(request(POD), bundle(early + late), MemoryFacts()).object["spec"] == {"hostname": "x"}


CONDITION = "  matchConditions: [{name: x, expression: \"object.metadata.labels.k == 'x'\"}]"
EXPANDED = "{sluice.dev/expand: pod-templates}"
SELECTOR = "matchConstraints: {objectSelector: {matchLabels: {k: x}}, "


@pytest.mark.parametrize("changed", ["other", "k"])
@pytest.mark.parametrize("by", ["condition", "selector"])
def test_a_policy_that_was_carried_out_is_not_asked_again_whether_it_is_to_be(by, changed):
    """New labels are no reason to invoke a policy again that reads them in its condition or objectSelector only."""
    early = mutating(
        '[JSONPatch{op: "add", path: "/spec/l/-", value: "a"}]', name="a", extra=CONDITION if by == "condition" else ""
    )
    if by == "selector":
        early = early.replace("matchConstraints: {", SELECTOR)
    pod = {**POD, "metadata": {**POD["metadata"], "labels": {"k": "x"}}, "spec": {"l": []}}
    verdict = mutate(request(pod), bundle(early + label("b", changed)), MemoryFacts())
    assert verdict.object["spec"]["l"] == ["a"]


def test_a_template_that_was_passed_over_is_looked_at_again():
    """Carried out on one template, a policy looks again at another one where its condition reads what was changed."""
    early = mutating(
        '[JSONPatch{op: "add", path: "/spec/subdomain", value: "y"}]',
        name="a",
        extra="  matchConditions: [{name: x, expression: has(object.spec.hostname)}]",
        annotations=EXPANDED,
    )
    late = mutating('[JSONPatch{op: "add", path: "/spec/hostname", value: "x"}]', name="b", annotations=EXPANDED)
    roles = {name: {"template": {"spec": spec}} for name, spec in (("Master", {"hostname": "h"}), ("Worker", {}))}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "a", "namespace": "ns"},
        "spec": {"pytorchReplicaSpecs": roles},
    }
    made = mutate(request(job), bundle(early + late), MemoryFacts()).object["spec"]["pytorchReplicaSpecs"]
    assert [made[name]["template"]["spec"].get("subdomain") for name in ("Master", "Worker")] == ["y", "y"]
