"""Misspelt fields in whole policies: where the kinds come from, and where the caret stands."""

from datetime import UTC, datetime

import pytest

from webhook.offline.files import read_text
from webhook.offline.lint.all_rules import BY_CODE
from webhook.offline.lint.apply_rules import lint
from webhook.offline.lint.rules.unknown_fields import plural

NOW = datetime(2026, 9, 1, tzinfo=UTC)
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.x.io}
spec:
  group: x.io
  names: {kind: Widget, plural: widgets, singular: widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              colour: {type: string}
              port: {x-kubernetes-int-or-string: true}
              labels: {type: object, additionalProperties: {type: string}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
"""
POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p, annotations: {ANNOTATIONS}}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: LimitRange}
  matchConstraints:
    resourceRules:
    - {apiGroups: [GROUPS], apiVersions: ["*"], resources: [RESOURCES], operations: [CREATE]}
  variables:
  - {name: all, expression: "ALL"}
  validations:
  - expression: EXPRESSION
"""


def findings(expression, *, group="batch", resource="jobs", crd="", annotations="", variable="object"):
    """The findings of the rule for a policy of one variable and one validation."""
    filled = {"EXPRESSION": expression, "GROUPS": f'"{group}"', "RESOURCES": resource, "ALL": variable}
    text = crd + POLICY
    for name, value in {**filled, "ANNOTATIONS": annotations}.items():
        text = text.replace(name, value)
    return [f for f in lint(read_text(text, "p.yaml"), NOW).findings if f.code == "CEL018"]


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("object.metadata.lables.size() > 0", ["lables"]),
        ("object.metadata.ownerReferences.all(o, o.contoller)", ["contoller"]),
        ("object.metadata.labels['a'] == object.metadata.annotations.anything", []),
        ("object.metadata.name != '' && has(object.metadata.deletionTimestamp)", []),
    ],
)
def test_metadata_of_custom_kinds_is_that_of_all_objects(expression, names):
    """A custom kind has the metadata of every object, though its CustomResourceDefinition does not describe it."""
    found = findings(expression, group="x.io", resource="widgets", crd=CRD)
    assert [f.source[f.place.column - 1 :].split(".")[0].split(")")[0] for f in found] == names


def test_fragments_of_mutations_set_fields_that_exist():
    """A field that a mutation sets is looked up like one that is read, in custom kinds too."""
    mutation = POLICY.replace("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")
    start = mutation.index("  validations:")
    mutation = (
        mutation[:start]
        + """  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: "Object{spec: Object.spec{color: 'red', labels: {'a': 'b'}}}"
"""
    )
    for name, value in {"GROUPS": "x.io", "RESOURCES": "widgets", "ALL": "object", "ANNOTATIONS": ""}.items():
        mutation = mutation.replace(name, value)
    (found,) = [f for f in lint(read_text(CRD + mutation, "p.yaml"), NOW).findings if f.code == "CEL018"]
    assert found.source[found.place.column - 1 :].startswith("color: 'red'")
    assert found.hint == 'did you mean "colour"?'


def test_the_finding_points_at_the_field_and_names_the_right_one():
    """An error, the caret at the misspelt word, and the field that was meant; a warning where it is only asked for."""
    (found,) = findings('object.spec.template.spec.containrs.all(c, c.image != "")')
    assert found.severity == BY_CODE["CEL018"].severity == "error"
    assert found.source[found.place.column - 1 :].startswith("containrs")
    assert found.hint == 'did you mean "containers"?'
    (asked,) = findings("has(object.spec.containrs)")
    assert asked.severity == "warning"


@pytest.mark.parametrize(
    ("expression", "options", "names"),
    [
        ("oldObject.spec.paralelism > 1", {}, ["paralelism"]),
        ("params.spec.limts.size() > 0", {}, ["limts"]),
        ("params.spec.limits.all(l, l.max.anything != '')", {}, []),
        ("variables.all.spec.supend", {}, ["supend"]),
        ("variables.all.exists(c, c.nme == '')", {"variable": "object.spec.template.spec.containers"}, ["nme"]),
        ("object.spec.containrs.size() > 0", {"annotations": "sluice.dev/expand: pod-templates"}, ["containrs"]),
        ("object.spec.containers.size() > 0", {"annotations": "sluice.dev/expand: pod-templates"}, []),
        ("object.spec.color == ''", {"group": "x.io", "resource": "widgets", "crd": CRD}, ["color"]),
        ("object.spec.port.x == object.spec.free.y", {"group": "x.io", "resource": "widgets", "crd": CRD}, []),
        ("object.spec.labels.z == ''", {"group": "x.io", "resource": "widgets", "crd": CRD}, []),
        ("object.spec.color == ''", {"group": "x.io", "resource": "widgets"}, []),
        ("object.spec.containrs.size() > 0", {"resource": "'*'"}, []),
        ("object.spec.bogus == 1", {"resource": "jobs/scale"}, []),
        ("object.status.bogus == 1", {"resource": "jobs/status"}, ["bogus"]),
    ],
)
def test_the_kinds_come_from_the_policy_and_the_files(expression, options, names):
    """Rules, params, expansion, variables and CRDs decide what fields there are; what nobody described may be all."""
    found = findings(expression, **options)
    assert [f.message.split('"')[1] for f in found] == names
    assert all(f.source[f.place.column - 1 :].startswith(name) for f, name in zip(found, names, strict=True))


def test_resources_of_built_in_kinds():
    """The plural that a kind is served under."""
    kinds = [
        "Pod",
        "Ingress",
        "NetworkPolicy",
        "Endpoints",
        "EndpointSlice",
        "StorageClass",
        "Gateway",
    ]
    assert [plural(kind) for kind in kinds] == [
        "pods",
        "ingresses",
        "networkpolicies",
        "endpoints",
        "endpointslices",
        "storageclasses",
        "gateways",
    ]


def test_a_custom_kind_of_no_server_is_told_and_ends_nothing():
    """`type: [integer]` is JSON Schema, not a CRD's: its objects are not checked, the other findings stay."""
    names = "names: {kind: X, plural: xs}, scope: Namespaced"
    schema = "openAPIV3Schema: {type: object, properties: {spec: {type: [integer]}}}"
    text = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.a.b}\n"
        f"spec: {{group: a.b, {names}, versions: [{{name: v1, served: true, storage: true, schema: {{{schema}}}}}]}}\n"
        "---\napiVersion: a.b/v1\nkind: X\nmetadata: {name: x}\nspec: 1\n"
    )
    found = lint(read_text(text, "m.yaml"), datetime(2026, 9, 1, tzinfo=UTC)).findings
    assert [(f.code, f.place.line) for f in found if f.severity == "error"] == [("SCH002", 4)]


@pytest.mark.parametrize(
    ("version", "kind", "line", "hint"),
    [
        ("batch/v1", "job", 2, 'did you mean "Job"?'),
        ("batch/v1", "Jobs", 2, 'did you mean "Job"?'),
        ("apps/v1", "deployments", 2, 'did you mean "Deployment"?'),
        ("batch/v1beta1", "CronJob", 1, "write apiVersion: batch/v1"),
        ("policy/v1beta1", "PodSecurityPolicy", 1, "the kind was removed"),
    ],
)
def test_a_misspelt_kind_is_told_at_the_kind(version, kind, line, hint):
    """It was never removed; one that was, or has another version, is told at the version."""
    (found,) = lint(read_text(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n", "a.yaml"), NOW).findings
    assert (found.code, found.place.line, found.hint) == ("SCH003", line, hint)
