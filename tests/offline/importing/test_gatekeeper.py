"""`sluice import gatekeeper`: a template in CEL is a policy, its constraints are parameters with bindings."""

from pathlib import Path

import pytest

from tests.offline.running import Done, invoke
from webhook import documents
from webhook.cli import exits
from webhook.cli.commands.policies.import_policies import import_command
from webhook.cli.commands.policies.lint import lint_command
from webhook.cli.commands.policies.test import test as suites_command

TEMPLATE = """apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: maxreplicas}
spec:
  crd:
    spec:
      names: {kind: MaxReplicas}
      validation:
        openAPIV3Schema: {type: object, properties: {most: {type: integer}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    code:
    - engine: K8sNativeValidation
      source:
        variables:
        - {name: asked, expression: "variables.anyObject.spec.?replicas.orValue(1)"}
        validations:
        - expression: variables.asked <= variables.params.most
          messageExpression: '"at most " + string(variables.params.most)'
"""
CONSTRAINT = """apiVersion: constraints.gatekeeper.sh/v1beta1
kind: MaxReplicas
metadata: {name: three}
spec:
  match:
    kinds: [{apiGroups: [apps], kinds: [Deployment, StatefulSet]}]
  parameters: {most: 3}
"""
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: COUNT
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec: {containers: [{name: c, image: i}]}
"""
SUITE = """apiVersion: test.gatekeeper.sh/v1alpha1
kind: Suite
metadata: {name: s}
tests:
- name: replicas
  template: template.yaml
  constraint: constraint.yaml
  cases:
  - {name: few, object: few.yaml, assertions: [{violations: no}]}
  - {name: many, object: many.yaml, assertions: [{violations: yes, message: at most 3}]}
  - {name: another kind, object: other.yaml}
  - {name: update, object: update.yaml, assertions: [{violations: 1}]}
"""
NETWORK, NETWORKS = "k8s.cni.cncf.io", "network-attachment-definitions"
CRD = f"""apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {NETWORKS}.{NETWORK}}}
spec:
  group: {NETWORK}
  scope: Namespaced
  names: {{kind: NetworkAttachmentDefinition, plural: {NETWORKS}}}
  versions: [{{name: v1, served: true, storage: true}}]
"""
REGO = "    - engine: Rego\n      source: {rego: 'package maxreplicas'}\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A template with a constraint and a suite."""
    monkeypatch.chdir(tmp_path)
    Path("library").mkdir()
    nested = "".join(f"    {line}\n" for line in DEPLOYMENT.replace("COUNT", "4").splitlines())
    files = {
        "template.yaml": TEMPLATE,
        "constraint.yaml": CONSTRAINT,
        "suite.yaml": SUITE,
        "few.yaml": DEPLOYMENT.replace("COUNT", "3"),
        "many.yaml": DEPLOYMENT.replace("COUNT", "4"),
        "other.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}",
        "update.yaml": "kind: AdmissionReview\napiVersion: admission.k8s.io/v1beta1\nrequest:\n  operation: UPDATE\n"
        f"  object:\n{nested}  oldObject:\n{nested}",
    }
    for name, text in files.items():
        Path("library", name).write_text(text)
    return tmp_path


def run(*arguments: str) -> Done:
    return invoke(import_command, "gatekeeper", "library", *arguments)


def test_templates_constraints_and_suites_go_over(here):
    """A policy with a CRD, a constraint with its binding, and a suite, which lint and test take as they are."""
    done = run()
    assert (done.exit_code, done.stdout) == (
        exits.PASSED,
        "imported 1 of 1 policies into policies, with 4 tests\nsluice lint: no findings\n",
    ), done
    names = {path.name for path in Path("policies/maxreplicas").iterdir()}
    assert names == {"policy.yaml", "three.yaml", "three.suite.yaml"}
    assert invoke(lint_command, "policies").exit_code == exits.PASSED
    tested = invoke(suites_command, "policies")
    assert (tested.exit_code, "4 passed, 0 failed" in tested.stdout) == (exits.PASSED, True), tested.stdout


@pytest.mark.parametrize(
    ("match", "told"),
    [
        ("namespaces: [a], excludedNamespaces: [b], scope: Namespaced, name: web", ""),
        ("labelSelector: {matchLabels: {a: b}}, namespaceSelector: {matchLabels: {c: d}}, namespaces: [default]", ""),
        (
            "namespaces: ['kube-*']",
            "constraint.yaml:5:87: not imported: MaxReplicas three: namespace patterns are not supported",
        ),
        ("excludedNamespaces: ['*-system']", "namespace patterns are not supported (*-system)"),
        ("name: 'web-*'", "name patterns are not supported; write a match condition"),
        ("source: Generated", "only Gatekeeper generates objects from others"),
        ("source: All", ""),
        ("fields: [x]", "unknown field fields"),
    ],
)
def test_what_a_constraint_matches_is_in_its_binding(here, match, told):
    """Kinds become resources, names of namespaces the label of their name; a pattern has no counterpart."""
    kinds = "kinds: [{apiGroups: [apps], kinds: [Deployment, StatefulSet]}]"
    text = CONSTRAINT.replace(f"match:\n    {kinds}", f"match: {{{kinds}, {match}}}")
    Path("library/constraint.yaml").write_text(text)
    done = run()
    if told:
        assert (done.exit_code, told in done.stdout) == (exits.FAILED, True), done.stdout
        assert "none of its constraints can be imported" in done.stdout
        return
    (binding, constraint) = documents.read(Path("policies/maxreplicas/three.yaml").read_text())
    assert binding.at(("spec", "paramRef", "name")) == constraint.at(("metadata", "name")) == "three"
    (rule,) = binding.at(("spec", "matchResources", "resourceRules"))
    assert rule["resources"] == ["deployments", "statefulsets"]
    selector = binding.at(("spec", "matchResources", "namespaceSelector", "matchExpressions")) or []
    assert [(e["operator"], e["values"]) for e in selector] == {
        "namespaces: [a], excludedNamespaces: [b], scope: Namespaced, name: web": [("In", ["a"]), ("NotIn", ["b"])],
        "source: All": [],
    }.get(match, [("In", ["default"])])


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("", ["Deny"]),
        ("enforcementAction: warn", ["Warn"]),
        ("enforcementAction: dryrun", ["Audit"]),
        (
            "enforcementAction: scoped\n  scopedEnforcementActions:\n"
            "  - {action: warn, enforcementPoints: [{name: vap.k8s.io}]}\n"
            "  - {action: deny, enforcementPoints: [{name: audit.gatekeeper.sh}]}",
            ["Warn"],
        ),
        ("enforcementAction: shout", []),
    ],
)
def test_actions(here, action, expected):
    """`deny`, `warn` and `dryrun` have a validation action, and the tests go over with it; others are told."""
    Path("library/constraint.yaml").write_text(CONSTRAINT + (f"  {action}\n" if action else ""))
    done = run()
    if not expected:
        assert (done.exit_code, "it has none of the actions deny, warn, dryrun at admission" in done.stdout) == (
            1,
            True,
        )
        return
    assert done.exit_code == exits.PASSED, done.stdout
    (binding, _) = documents.read(Path("policies/maxreplicas/three.yaml").read_text())
    assert binding.at(("spec", "validationActions")) == expected
    assert invoke(suites_command, "policies").exit_code == exits.PASSED


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "K8sNativeValidation",
            "Rego",
            "template.yaml:11:3: not imported: {T}: it has Rego only",
        ),
        ("source:\n", "source:\n        strange: 1\n", "unknown fields: strange"),
        (
            "<= variables.params.most",
            "<= variables.param.most",
            "18:51: not imported: ConstraintTemplate maxreplicas: undefined field",
        ),
        (
            "        validations:",
            "        matchCondition: [{name: a, expression: object.spec ==}]\n        validations:",
            "template.yaml:17:62: not imported: ConstraintTemplate maxreplicas: Syntax error",
        ),
        (
            "    code:",
            "    operations: DELETE\n    code:",
            "template.yaml:12:17: not imported: {T}: operations must be a list",
        ),
        ("    code:", "    operations: []\n    code:", "{T}: operations must be a list"),
        ("    code:", "    operations: [CREATE, delete]\n    code:", '{T}: operation "delete" is not one of CREATE,'),
        (
            "    code:",
            "    operations: [1]\n    code:",
            '{T}: operation "1" is not one of CREATE, UPDATE, DELETE, CONN',
        ),
        ("    code:", "    audits: [x]\n    code:", "template.yaml:12:5: not imported: {T}: unknown field audits"),
        ("kind: MaxReplicas", "kind: Another", "no constraint uses it; add its constraints to the files"),
        ("name: maxreplicas", "name: ../x", "is not a valid object name"),
    ],
)
def test_templates_that_cannot_go_over_are_told(here, old, new, told):
    """At the place of what is in the way, with the reason."""
    assert old in TEMPLATE
    Path("library/template.yaml").write_text(TEMPLATE.replace(old, new, 1))
    done = run()
    told = told.replace("{T}", "ConstraintTemplate maxreplicas")
    assert (done.exit_code, told in done.stdout) == (exits.FAILED, True), done.stdout
    assert "imported 0 of 1 policies" in done.stdout
    assert not Path("policies").exists()


@pytest.mark.parametrize(
    ("field", "operations"),
    [
        ("", ["CREATE", "UPDATE"]),
        ("    operations: null\n", ["CREATE", "UPDATE"]),
        ("    operations: [DELETE]\n", ["DELETE"]),
        ("    operations: [CREATE, UPDATE, DELETE]\n", ["CREATE", "UPDATE", "DELETE"]),
        ("    operations: [CREATE, '*']\n", ["*"]),
    ],
)
def test_operations_of_a_template_are_those_of_its_policy(here, field, operations):
    """A template that protects from deletion was a policy for CREATE and UPDATE."""
    Path("library/template.yaml").write_text(TEMPLATE.replace("    code:\n", f"{field}    code:\n"))
    run()
    (policy, _) = documents.read(Path("policies/maxreplicas/policy.yaml").read_text())
    (binding, _) = documents.read(Path("policies/maxreplicas/three.yaml").read_text())
    for path in (("matchConstraints",), ("matchResources",)):
        spec = policy if path == ("matchConstraints",) else binding
        (rule,) = spec.at(("spec", *path, "resourceRules"))
        assert rule["operations"] == operations


@pytest.mark.parametrize(
    ("kinds", "resources", "guessed"),
    [
        (f"{{apiGroups: [{NETWORK}], kinds: [NetworkAttachmentDefinition]}}", [NETWORKS], ""),
        ("{apiGroups: ['*'], kinds: [NetworkAttachmentDefinition, Pod]}", [NETWORKS, "pods"], ""),
        (f"{{apiGroups: [apps, {NETWORK}], kinds: [NetworkAttachmentDefinition]}}", [NETWORKS], ""),
        ("{apiGroups: [apps, ''], kinds: [Deployment, Endpoints, Pod]}", ["deployments", "endpoints", "pods"], ""),
        ("{apiGroups: [kubeflow.org, ray.io], kinds: [PyTorchJob, RayJob]}", ["pytorchjobs", "rayjobs"], ""),
        ("{apiGroups: [other.io], kinds: [NetworkAttachmentDefinition]}", ["networkattachmentdefinitions"], "6:45"),
        ("{apiGroups: ['*'], kinds: [Pod, Constraints]}", ["pods", "constraintses"], "6:45"),
    ],
)
def test_kinds_become_the_resources_of_their_definitions(here, kinds, resources, guessed):
    """A CRD among the files names the resource, without a word of Gatekeeper in it; a name that is guessed is told."""
    Path("library/crd.yaml").write_text(CRD)
    text = CONSTRAINT.replace("{apiGroups: [apps], kinds: [Deployment, StatefulSet]}", kinds)
    Path("library/constraint.yaml").write_text(text)
    Path("library/suite.yaml").unlink()
    done = run()
    why = f"{resources[-1]} is a guess: no CRD among the files defines"
    told = f"library/constraint.yaml:{guessed}: imported, differs: MaxReplicas three: {why}"
    assert (done.exit_code, told in done.stdout) == (exits.FAILED if guessed else exits.PASSED, bool(guessed)), done
    (policy, _) = documents.read(Path("policies/maxreplicas/policy.yaml").read_text())
    (binding, _) = documents.read(Path("policies/maxreplicas/three.yaml").read_text())
    for rules in (policy.at(("spec", "matchConstraints")), binding.at(("spec", "matchResources"))):
        assert [rule["resources"] for rule in rules["resourceRules"]] == [resources]


@pytest.mark.parametrize(
    ("group", "kind", "guess", "why"),
    [
        ("autoscaling", "Scale", "scales", "check the resource: Kubernetes has no Scale in autoscaling"),
        ("''", "PodExecOptions", "podexecoptionses", "check the resource: Kubernetes has no PodExecOptions in core"),
        ("policy", "Eviction", "evictions", "check the resource: Kubernetes has no Eviction in policy"),
        ("gateway.networking.k8s.io", "Gateway", "gateways", "no CRD among the files defines Gateway"),
    ],
)
def test_a_guess_is_told_with_what_to_do(here, group, kind, guess, why):
    """No CRD defines what is a subresource of Kubernetes; a group of Kubernetes' name may be one of CRDs."""
    kinds = f"{{apiGroups: [{group}], kinds: [{kind}]}}"
    text = CONSTRAINT.replace("{apiGroups: [apps], kinds: [Deployment, StatefulSet]}", kinds)
    Path("library/constraint.yaml").write_text(text)
    Path("library/suite.yaml").unlink()
    assert f"{guess} is a guess: {why}\n" in run().stdout


def test_a_definition_that_cannot_be_read_is_none_of_the_policies(here):
    """A chart's template of a CRD beside them is no YAML; a file of Gatekeeper's that is none is told."""
    Path("library/crd.yaml").write_text(f"{{{{- if .Values.crds }}}}\n{CRD}{{{{- end }}}}\n")
    done = run()
    assert (done.exit_code, done.stderr) == (exits.PASSED, ""), done
    Path("library/crd.yaml").write_text(f"{{{{- if .Values.crds }}}}\n{CONSTRAINT}{{{{- end }}}}\n")
    assert run("--force").exit_code == exits.BAD_INPUT


def test_a_test_of_a_custom_kind_has_its_definition(here):
    """Without it the request of the test would be for another resource than the policy."""
    Path("library/crd.yaml").write_text(CRD)
    kinds = f"{{apiGroups: [{NETWORK}], kinds: [NetworkAttachmentDefinition]}}"
    text = CONSTRAINT.replace("{apiGroups: [apps], kinds: [Deployment, StatefulSet]}", kinds)
    Path("library/constraint.yaml").write_text(text)
    net = (
        f"{{apiVersion: {NETWORK}/v1, kind: NetworkAttachmentDefinition, metadata: {{name: n}}, spec: {{replicas: 4}}}}"
    )
    Path("library/many.yaml").write_text(net)
    case = "  - {name: many, object: many.yaml, assertions: [{violations: yes, message: at most 3}]}\n"
    Path("library/suite.yaml").write_text(SUITE[: SUITE.index("  - {name: few")] + case)
    done = run()
    assert (done.exit_code, "with 1 test\n" in done.stdout) == (exits.PASSED, True), done.stdout
    assert "1 passed, 0 failed" in invoke(suites_command, "policies").stdout


@pytest.mark.parametrize(
    ("api_version", "kind", "why"),
    [
        ("constraints.gatekeeper.sh/v1beta1", "Another", "its ConstraintTemplate is not among the files"),
        ("config.gatekeeper.sh/v1alpha1", "Config", "there are no settings for all policies; write selectors"),
        ("mutations.gatekeeper.sh/v1", "Assign", "rewrite it as a MutatingAdmissionPolicy"),
        ("expansion.gatekeeper.sh/v1beta1", "ExpansionTemplate", "set the annotation sluice.dev/expand"),
        ("externaldata.gatekeeper.sh/v1beta1", "Provider", "the API server has no external data"),
        ("syncset.gatekeeper.sh/v1alpha1", "SyncSet", "a policy of the API server reads no other objects"),
        ("templates.gatekeeper.sh/v1", "Another", "only ConstraintTemplate is imported"),
        ("new.gatekeeper.sh/v1", "Another", "it has no counterpart"),
        ("status.gatekeeper.sh/v1beta1", "ConstraintPodStatus", ""),
        ("test.gatekeeper.sh/v1alpha1", "Suite", ""),
    ],
)
def test_what_has_no_counterpart_is_told(here, api_version, kind, why):
    """Whole objects were left behind without a word; what Gatekeeper itself writes is none of the input."""
    obj = f"{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: x}}}}\n"
    Path("library/other.yaml").write_text(obj)
    done = run()
    told = f"library/other.yaml:1:1: not imported: {kind} x: {why}"
    assert (done.exit_code, told in done.stdout) == (exits.FAILED if why else exits.PASSED, bool(why)), done
    Path("only").mkdir()
    Path("only/other.yaml").write_text(obj)
    alone = invoke(import_command, "gatekeeper", "only")
    assert (alone.exit_code, f"{kind} x: {why}" in alone.stdout) == (
        (exits.FAILED, True) if why else (exits.NOTHING_TO_RUN, False)
    ), alone


def test_mutators_are_counted(here):
    """They are policies too, as those of Kyverno that stay behind."""
    mutator = "{apiVersion: mutations.gatekeeper.sh/v1, kind: Assign, metadata: {name: x}}\n"
    Path("library/other.yaml").write_text(mutator)
    assert "imported 1 of 2 policies" in run().stdout


def test_match_conditions_go_over(here):
    """A template's own condition is the policy's: what it leaves out is not matched."""
    condition = "        matchCondition: [{name: small, expression: object.spec.?replicas.orValue(1) < 4}]\n"
    Path("library/template.yaml").write_text(
        TEMPLATE.replace("        validations:", f"{condition}        validations:")
    )
    done = run()
    assert (done.exit_code, "with 4 tests, 2 of them skipped" in done.stdout) == (exits.FAILED, True), done.stdout


def test_rego_beside_cel_is_left(here):
    """A template in both languages goes over by its CEL."""
    Path("library/template.yaml").write_text(TEMPLATE + REGO)
    assert run().exit_code == exits.PASSED


def test_constraints_of_one_name_are_kept_apart(here):
    """Two samples of one name become two objects; that is said, and each has its own suite."""
    Path("library/second.yaml").write_text(CONSTRAINT.replace("most: 3", "most: 9"))
    second = SUITE[SUITE.index("- name: replicas") :].replace("constraint.yaml", "second.yaml")
    second = second.replace("violations: yes, message: at most 3", "violations: no").replace(
        "violations: 1", "violations: 0"
    )
    Path("library/suite.yaml").write_text(SUITE + second.replace("name: replicas", "name: nine"))
    done = run()
    assert (
        "library/second.yaml:3:18: imported, differs: MaxReplicas three: another file has this name; renamed to three-2"
        in (done.stdout)
    )
    assert "8 passed, 0 failed" in invoke(suites_command, "policies").stdout


def test_a_constraint_is_not_written_over_its_policy(here):
    """A constraint may have the name of our own file."""
    Path("library/constraint.yaml").write_text(CONSTRAINT.replace("name: three", "name: policy"))
    done = run()
    assert "MaxReplicas policy: another file has this name; renamed to policy-2" in done.stdout
    assert {file.name for file in Path("policies").rglob("*.yaml")} >= {"policy.yaml", "policy-2.yaml"}


def test_a_test_that_is_otherwise_here_is_skipped(here):
    """It is told at its place, and the suite passes."""
    Path("library/suite.yaml").write_text(
        SUITE.replace("few.yaml, assertions: [{violations: no}]", "few.yaml, assertions: [{}]")
    )
    done = run()
    assert (
        "library/suite.yaml:9:5: skipped in the suite: replicas: few: the result differs: expected denied"
        in done.stdout
    )
    assert "3 passed, 0 failed, 1 skipped" in invoke(suites_command, "policies").stdout


@pytest.mark.parametrize("field", ["tests", "metadata", "skip"])
@pytest.mark.parametrize(
    "value", ["1", "[1]", "[{cases: 1, constraint: constraint.yaml}]", "[{constraint: gone.yaml}]", "x"]
)
def test_a_suite_of_a_wrong_shape_is_told(here, field, value):
    """The policy goes over whatever the suite is."""
    Path("library/suite.yaml").write_text(f"apiVersion: test.gatekeeper.sh/v1alpha1\nkind: Suite\n{field}: {value}\n")
    done = run()
    assert (done.exit_code in (exits.PASSED, exits.FAILED), "imported 1 of 1" in done.stdout) == (True, True), done


@pytest.mark.parametrize("name", ["template.yaml", "constraint.yaml"])
@pytest.mark.parametrize(
    "value", ["1", "[1]", "{}", "null", "{match: 1}", "{match: {kinds: x}}", "{targets: [{code: [1]}]}"]
)
def test_fields_of_a_wrong_type_are_told(here, name, value):
    """A spec of a wrong shape is told; nothing fails inside."""
    text = Path("library", name).read_text()
    Path("library", name).write_text(text[: text.index("spec:")] + f"spec: {value}\n")
    done = run()
    assert done.exit_code in (exits.PASSED, exits.FAILED), done


def test_defaults_of_parameters_are_filled_in(here):
    """Gatekeeper's constraints get them from the API server as they are stored."""
    schema = "{type: object, properties: {most: {type: integer, default: 3}, kinds: {type: array, items: SCHEMA}}}"
    schema = schema.replace("SCHEMA", "{type: object, properties: {kind: {type: string, default: any}}}")
    Path("library/template.yaml").write_text(
        TEMPLATE.replace("{type: object, properties: {most: {type: integer}}}", schema)
    )
    Path("library/constraint.yaml").write_text(CONSTRAINT.replace("{most: 3}", "{kinds: [{}, {kind: a}]}"))
    assert run().exit_code == exits.PASSED
    (_, constraint) = documents.read(Path("policies/maxreplicas/three.yaml").read_text())
    wanted = {"most": 3, "kinds": [{"kind": "any"}, {"kind": "a"}]}
    assert constraint.at(("spec", "parameters")) == wanted
    assert invoke(suites_command, "policies").exit_code == exits.PASSED


def test_a_schema_without_types_gets_them(here):
    """Early versions of templates need none; a CRD is refused without."""
    schema = "{properties: {most: {type: integer}, names: {items: {}}, limits: {additionalProperties: {type: string}}}}"
    text = TEMPLATE.replace("gatekeeper.sh/v1", "gatekeeper.sh/v1beta1")
    Path("library/template.yaml").write_text(
        text.replace("{type: object, properties: {most: {type: integer}}}", schema)
    )
    assert run().exit_code == exits.PASSED
    (_, crd) = documents.read(Path("policies/maxreplicas/policy.yaml").read_text())
    whole = crd.at(("spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec", "properties"))
    found = whole["parameters"]
    assert (found["type"], found["properties"]["names"]["type"]) == ("object", "array")
    assert found["properties"]["names"]["items"] == {"x-kubernetes-preserve-unknown-fields": True}
    assert found["properties"]["limits"]["type"] == "object"


@pytest.mark.parametrize(
    ("assertions", "told"),
    [
        ("[{violations: 1}]", ""),
        ("[{violations: yes, message: at most 3}, {violations: 1}]", ""),
        ("[{violations: no, message: gone}, {violations: yes, message: at most 3}]", "only the message 'at most 3' is"),
        ("[{violations: 2}]", "one violation is expected, not 2"),
        ("[{violations: 2, message: at most}]", "one violation is expected, not 2"),
        ("[{violations: yes}, {message: at most}, {message: most 3}]", "only the message 'at most' is expected"),
    ],
)
def test_what_assertions_say_beyond_a_case_is_told(here, assertions, told):
    """A case expects one denial with one message: a count, and further messages, were dropped without a word."""
    text = SUITE.replace("[{violations: yes, message: at most 3}]", assertions)
    Path("library/suite.yaml").write_text(text)
    done = run()
    line = f"library/suite.yaml:10:5: imported, differs: replicas: many: {told}"
    assert (done.exit_code, line in done.stdout) == (exits.FAILED if told else exits.PASSED, bool(told)), done
