"""Which pairs of mutations are tried: only those of which one can write what the other reads or writes."""

from datetime import UTC, datetime

import pytest

from webhook.documents import read
from webhook.offline.files import read_text
from webhook.offline.lint.apply_rules import lint
from webhook.offline.lint.reading.touched import touched
from webhook.offline.lint.rules import mutations
from webhook.policy.loading.assemble import assemble

NOW = datetime(2026, 9, 1, tzinfo=UTC)
APPLY = "{patchType: ApplyConfiguration, applyConfiguration: {expression: EXPRESSION}}"
PATCH = "{patchType: JSONPatch, jsonPatch: {expression: EXPRESSION}}"


def policy(name: str, form: str, expression: str) -> str:
    quoted = '"' + expression.replace('"', "'") + '"'
    return f"""---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  failurePolicy: Fail
  reinvocationPolicy: IfNeeded
  matchConstraints:
    namespaceSelector: {{matchLabels: {{sluice.dev/managed: "true"}}}}
    resourceRules: [{{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}}]
  mutations: [{form.replace("EXPRESSION", quoted)}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec: {{policyName: {name}}}
"""


@pytest.mark.parametrize(
    ("form", "expression", "writes"),
    [
        (APPLY, "Object{metadata: Object.metadata{labels: {'a': 'b'}}}", {("metadata", "labels", "a")}),
        (APPLY, "Object{spec: Object.spec{suspend: true}}", {("spec", "suspend")}),
        (APPLY, "has(object.spec.x) ? Object{} : Object{spec: Object.spec{x: 1}}", {("spec", "x")}),
        (APPLY, "Object{metadata: Object.metadata{labels: {object.metadata.name: 'b'}}}", {("metadata", "labels")}),
        (PATCH, "[JSONPatch{op: 'add', path: '/spec/tolerations/-', value: {}}]", {("spec", "tolerations")}),
        (
            PATCH,
            "[JSONPatch{op: 'add', path: '/metadata/labels/' + object.kind}]",
            {("metadata", "labels")},
        ),
        (PATCH, "[JSONPatch{op: 'add', path: '/metadata/labels/a~1b', value: 'x'}]", {("metadata", "labels", "a/b")}),
        (PATCH, "[JSONPatch{op: 'add', path: object.kind, value: 'x'}]", {()}),
    ],
)
def test_what_a_mutation_can_write(form, expression, writes):
    """The paths that stand in the expression; less of a path where a part of it is made at run time."""
    (found,) = assemble(read(policy("a", form, expression))).policies
    assert set(touched(found).writes) == writes


def labelling(name: str, key: str, value: str) -> str:
    return policy(name, APPLY, f"Object{{metadata: Object.metadata{{labels: {{'{key}': '{value}'}}}}}}")


def tried(monkeypatch, *policies: str) -> tuple[int, list[str]]:
    """How many pairs were run, and what was said of them."""
    real, runs = mutations._pair, []
    monkeypatch.setattr(mutations, "_pair", lambda *given: runs.append(given) or real(*given))
    found = lint(read_text("".join(policies), "m.yaml"), NOW).findings
    return len(runs), [f"{f.code} {f.severity}" for f in found]


def test_pairs_that_never_meet_are_not_tried(monkeypatch):
    """Forty policies that set a label each are no pair to try; two that set the same one are."""
    apart = [
        policy(f"m{i}", APPLY, f"Object{{metadata: Object.metadata{{labels: {{'l{i}': 'x'}}}}}}") for i in range(40)
    ]
    assert tried(monkeypatch, *apart) == (0, [])
    same = [labelling(f"m{i}", "l", f"x{i}") for i in range(2)]
    assert tried(monkeypatch, *same) == (1, ["MUT003 error"])


def test_one_that_writes_only_after_the_other_is_tried(monkeypatch):
    """A policy that finds nothing to do on the sample is tried beside one that makes it have something to do."""
    first = policy("a", APPLY, "Object{spec: Object.spec{priorityClassName: 'high'}}")
    second = policy(
        "b",
        APPLY,
        "object.spec.?priorityClassName.orValue('') == 'high' "
        "? Object{spec: Object.spec{priorityClassName: 'low'}} : Object{}",
    )
    assert tried(monkeypatch, first, second) == (1, ["MUT003 error"])


def test_a_bound_that_is_reached_is_told(monkeypatch):
    """Where more pairs meet than are tried, a note says how many were left out."""
    monkeypatch.setattr(mutations, "_MOST_PAIRS", 2)
    same = [labelling(f"m{i}", "l", f"x{i}") for i in range(4)]
    found = lint(read_text("".join(same), "m.yaml"), NOW).findings
    assert [f.message[:43] for f in found if f.severity == "note"] == ["4 pairs of mutations were not tested togeth"]
