"""What lint says of costs: policies for kinds nobody has a sample of, and validation rules of custom kinds."""

import json
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from webhook.cli.commands.policies.lint import lint_command
from webhook.offline.files import read_text
from webhook.offline.lint.apply_rules import lint
from webhook.offline.lint.rules import costs, custom_kinds

NOW = datetime(2026, 9, 1, tzinfo=UTC)


def policy(*expressions):
    """A policy for ConfigMaps with these validations."""
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": rules},
            "validations": [{"expression": text} for text in expressions],
        },
    }


def crd(schema):
    """A custom kind of one version."""
    names = {"plural": "things", "kind": "Thing"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def findings(document, *rules):
    """The findings of these rules."""
    report = lint(read_text(json.dumps(document), "x.json"), NOW, rules)
    return [f for f in report.findings if f.code in {rule.code for rule in rules}]


def rules(*texts, **schema):
    """A schema with validation rules."""
    return {**schema, "x-kubernetes-validations": [{"rule": text, "message": "no"} for text in texts]}


TEXT = {"type": "string"}
INT = {"type": "integer"}


def test_estimate_finds_a_dear_expression_where_no_object_was_tried():
    """Four loops inside each other over a ConfigMap are dear by their text; one loop is not."""
    dear = "object.data.all(a, object.data.all(b, object.data.all(c, object.data.all(d, a + b == c + d))))"
    (found,) = findings(policy("object.data.all(a, a != 'x')", dear), costs.too_dear)
    assert "may cost" in found.message
    assert "the limit is 1,000,000" in found.message


def test_estimates_add_up_to_the_limit_of_a_policy():
    """Many expressions that are each cheap enough are too dear together, said once, at the spec."""
    text = "object.data.all(a, object.data.all(b, a + b != 'abc' && a.size() > 1 && b.matches('a+b+c+')))"
    assert findings(policy(text), costs.too_dear) == []
    (found,) = findings(policy(*[text] * 100), costs.too_dear)
    assert "in total" in found.message
    assert "10,000,000" in found.message


def test_rule_counts_as_often_as_its_place_can_be_filled():
    """A rule below lists costs as often as the lists may have elements; without a bound as often as a request holds."""
    item = rules("self.matches('a+b')", type="string", maxLength=1000)
    inner = {"type": "array", "maxItems": 50, "items": item}
    bounded = {"type": "object", "properties": {"l": {"type": "array", "maxItems": 100, "items": inner}}}
    assert findings(crd(bounded), custom_kinds.rules_fit) == []
    loose = {"type": "object", "properties": {"l": {"type": "array", "items": {**inner, "maxItems": 50}}}}
    (found,) = findings(crd(loose), custom_kinds.rules_fit)
    assert "times the limit of a rule" in found.message


def test_rules_of_a_version_count_together():
    """Rules that each fit are refused where their sum does not."""
    text = "self.l.all(x, self.l.all(y, x != y))"
    schema = {
        "type": "object",
        "properties": {"l": {"type": "array", "maxItems": 900, "items": {"type": "string", "maxLength": 3}}},
    }
    few, many = rules(*[text] * 3, **schema), rules(*[text] * 40, **schema)
    assert findings(crd(few), custom_kinds.rules_fit) == []
    (found,) = findings(crd(many), custom_kinds.rules_fit)
    assert "the rules of this version" in found.message


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("self.spec.sise > 1", "undefined field 'sise'"),
        ("self.spec.size > 'a'", "found no matching overload for '_>_'"),
        ("self.spec.size", "expected bool, got int"),
        ("self.metadata.labels.size() > 0", "undefined field 'labels'"),
    ],
)
def test_rule_is_checked_against_its_schema(rule, message):
    """What the API server does not compile is found, at the rule."""
    schema = rules(
        rule, type="object", properties={"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}
    )
    (found,) = findings(crd(schema), custom_kinds.rules_compile)
    assert found.message.startswith(message)


def test_names_and_kinds_are_always_there():
    """Rules at the root see the name and the kind of the object, and the old object, whatever the schema says."""
    text = (
        "self.metadata.name.startsWith('a') && self.kind == oldSelf.kind && self.__namespace__ == self.my__dash__field"
    )
    schema = rules(text, type="object", properties={"namespace": TEXT, "my-field": TEXT})
    schema["x-kubernetes-validations"].append({"rule": "!oldSelf.hasValue()", "optionalOldSelf": True})
    assert findings(crd(schema), custom_kinds.rules_compile) == []


def test_message_expression_is_a_text():
    """The expression of a message is compiled and must give a text."""
    schema = rules("true", type="object")
    schema["x-kubernetes-validations"][0]["messageExpression"] = "1 + 1"
    (found,) = findings(crd(schema), custom_kinds.rules_compile)
    assert found.message == "expected string, got int"


def test_costs_are_said_on_request(tmp_path):
    """`--costs` gives a note for each expression and each rule, with least and most; without it there is none."""
    schema = rules(
        "self.l.all(x, x > 1)", type="object", properties={"l": {"type": "array", "maxItems": 5, "items": INT}}
    )
    for name, document in (("p.json", policy("object.data.size() > 1")), ("c.json", crd(schema))):
        (tmp_path / name).write_text(json.dumps(document))
    said = {}
    for options in ((), ("--costs",)):
        result = CliRunner().invoke(lint_command, [str(tmp_path), "-o", "json", *options])
        found = json.loads(result.stdout)["findings"]
        said[options] = [f["message"] for f in found if f["code"] == "CEL021"]
    assert said[()] == []
    assert said[("--costs",)] == [
        "this costs 0..28 units for all values together",
        "this costs 3 units; for usual sizes 3",
    ]


def test_a_policy_that_takes_long_is_not_run_again():
    """Costs do not bound the comparison of lists that hold one list many times over; processor time does."""
    variables = [{"name": "v0", "expression": "[1]"}]
    variables += [{"name": f"v{i}", "expression": f"[variables.v{i - 1}, variables.v{i - 1}]"} for i in range(1, 40)]
    made = policy("variables.v39 == [variables.v38, variables.v38]")
    made["spec"]["variables"] = variables
    made["spec"]["matchConstraints"]["resourceRules"][0]["resources"] = ["*"]
    made["spec"]["matchConstraints"]["resourceRules"][0]["apiGroups"] = ["*"]
    made["spec"]["matchConstraints"]["resourceRules"][0]["apiVersions"] = ["*"]
    (note,) = findings(made, costs.too_dear_to_try)
    assert "needs more than 5 s of processor time" in note.message
    assert findings(made, costs.too_dear) == []
