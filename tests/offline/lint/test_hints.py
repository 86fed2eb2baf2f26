"""A mistake in an expression comes with the way out."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.offline.dryrun.files import GPU
from webhook import documents
from webhook.offline.files import read_files, read_text
from webhook.offline.lint.apply_rules import lint
from webhook.offline.lint.trial.engine import loaded

CASES = Path(__file__).parent / "cases"


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("variables.all.all(", "variables.al.all(", 'did you mean "all"?'),
        (".isInteger()", ".isInteger", "isInteger is a function: write isInteger()"),
        ("variables.all.all(", "all.all(", "use variables.all to read a variable"),
        ("object.spec.containers +", "objct.spec.containers +", 'did you mean "object"?'),
        ("quantity(c.", "quantty(c.", 'did you mean "quantity"?'),
        ("variables.all.all(", "variables.all.exists(1 > 0) || variables.all.all(", "exists takes a name and a"),
        (".isInteger()", ".isInt()", 'did you mean "isInteger"?'),
        ("variables.all.all(", "'a'.matches('(b') && variables.all.all(", "error parsing regexp: missing closing )"),
        ("variables.all.all(", "'a' > 1 && variables.all.all(", "string and int cannot be combined"),
        ("variables.all.all(", "true if true else variables.all.all(", "use CONDITION ? A : B"),
        ("variables.all.all(", "'a && variables.all.all(", "a string is not closed"),
        ("variables.all.all(", "object.metadata.generation =< 5 && variables.all.all(", "write <="),
        ("variables.all.all(", "object.metadata.generation => 5 && variables.all.all(", "write >="),
        ("variables.all.all(", "request.userInfo.name == 'x' && variables.all.all(", 'write "username"'),
        (
            "variables.all.all(",
            "image('a') != null && variables.all.all(",
            "this is a function of Kyverno; the API server",
        ),
        ("variables.all.all(", "request.operaton == 'x' && variables.all.all(", 'did you mean "operation"?'),
    ],
)
def test_a_wrong_name_is_told_with_the_right_one(old, new, hint):
    """The compiler's message is kept, and the name that was meant is put beside it."""
    _, wrong = loaded(documents.read(GPU.replace(old, new), "gpu.yaml"))
    [(code, said)] = [(f.code, f.hint) for f in wrong if f.hint]
    assert (code, said[: len(hint)]) == ("CEL001", hint)
    assert all(f.place.line and f.message for f in wrong)


MUTATION = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: m}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {sluice.dev/managed: "true"}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  mutations:
  - patchType: %s
    %s: {expression: '%s'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: m}
spec: {policyName: m}
"""


@pytest.mark.parametrize(
    ("kind", "expression", "hint"),
    [
        ("ApplyConfiguration", '{"spec": {"a": "b"}}', "write Object{spec: Object.spec{replicas: 1}}"),
        ("ApplyConfiguration", '[JSONPatch{op: "test", path: "/a"}]', "set patchType: JSONPatch, with the expression"),
        ("ApplyConfiguration", "Object{spec: Object.specs{a: 1}}", "name each Object{...} by the path"),
        ("JSONPatch", "Object{}", "set patchType: ApplyConfiguration, with the expression"),
        ("JSONPatch", '[JSONPatch{op: "set", path: "/spec/a", value: "x"}]', "op is one of add, remove"),
        ("JSONPatch", '[JSONPatch{op: "add", path: "/spec/a", value: quantity("1Gb")}]', "a quantity ends in m, k, M"),
    ],
)
def test_a_mutation_of_another_form_is_told_with_the_right_one(kind, expression, hint):
    """What another type of patch would take, a path or a unit that is none: the first finding says the way out."""
    text = MUTATION % (kind, kind[0].lower() + kind[1:] if kind != "JSONPatch" else "jsonPatch", expression)
    found = lint(read_text(text, "m.yaml"), datetime(2026, 9, 1, tzinfo=UTC)).findings
    assert found[0].hint.startswith(hint), [f.render() for f in found]


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("cel/type-quoted-number.yaml", "CEL016", "write numbers without quotes, strings with quotes"),
        ("cel/user-name.yaml", "CEL001", 'write "username"'),
        ("cel/less-or-equal.yaml", "CEL001", "write <="),
        ("queues/gpus.yaml", "QUE005", 'did you mean "nvidia.com/gpu"?'),
        ("queues/version.yaml", "SCH003", "write apiVersion: kueue.x-k8s.io/v1beta2"),
        (
            "init_containers/deployment.yaml",
            "BYP002",
            "(object.spec.template.spec.containers + object.spec.template.spec.?init",
        ),
        ("fields/kind-map.yaml", "SCH002", "kind is a map, expected a string"),
        ("cel/kyverno-context.yaml", "CEL001", "this is a function of Kyverno; the API server does not have it"),
    ],
)
def test_a_hint_leads_to_what_is_right(name, code, told):
    """What is told of a mistake is the way out of that mistake, whatever else the file holds."""
    found = [f for f in lint(read_files([CASES / name]), datetime(2026, 9, 1, tzinfo=UTC)).findings if f.code == code]
    assert found
    assert all(told in f"{f.message} {f.hint}" for f in found)
    assert not any(word in f"{f.message} {f.hint}" for f in found for word in ("{'", "has()"))


@pytest.mark.parametrize(
    "name", ["cel/type-quoted-number.yaml", "fields/vap.yaml", "bindings/none-crlf.yaml", "fields/flow.yaml"]
)
def test_what_fails_for_certain_is_an_error(name):
    """A text compared with a number, a misspelt field, a policy without a binding: CI does not stay green."""
    found = lint(read_files([CASES / name]), datetime(2026, 9, 1, tzinfo=UTC)).findings
    assert {str(f.severity) for f in found} == {"error"}


def test_fields_of_suites_are_checked():
    """A misspelt field of a suite is told with the right one, without running the suite."""
    suite = "apiVersion: sluice.dev/v1alpha1\nkind: Suite\ncases:\n- name: a\n  expct: {allowed: true}\n"
    _, wrong = loaded(documents.read(suite, "suite.yaml"))
    assert [(f.code, f.place.line, f.hint) for f in wrong] == [("POL001", 5, 'did you mean "expect"?')]


@pytest.mark.parametrize(("value", "way"), [("1.10", 'write "1.10"'), ("12e4", 'write "12e4"'), ("017", 'write "017"')])
def test_a_number_is_quoted_as_it_was_written(value, way):
    """A version, the hash of a commit, a mode: what Kubernetes reads it as is not what was meant."""
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a, labels: {{x: {value}}}}}\n"
    found = lint(read_text(text, "m.yaml"), datetime(2026, 9, 1, tzinfo=UTC)).findings
    assert [f.hint for f in found if f.code == "SCH002"] == [way]
