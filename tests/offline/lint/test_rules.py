"""Each row of the table of rules: its wrong example is found, its right one is not, its page is current."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared import ROOT, shared
from webhook.documents import Document, dump, read
from webhook.offline.files import Files, read_files, read_text
from webhook.offline.lint.all_rules import BY_CODE, RULES
from webhook.offline.lint.apply_rules import lint, mended
from webhook.offline.lint.pages import examples, pages

NOW = datetime(2026, 9, 1, tzinfo=UTC)
CODES = [rule.code for rule in RULES]


def found(text: str) -> list[str]:
    return [finding.code for finding in lint(read_text(text, "x.yaml"), NOW).findings]


@pytest.mark.parametrize("code", CODES)
def test_the_wrong_example_is_found_and_the_right_one_is_not(code):
    """A rule finds its own example of the mistake, at a line of the file, and is silent about the mended one."""
    shown = examples(code)
    report = lint(read_text(shown["wrong"], "x.yaml"), NOW)
    hits = [f for f in report.findings if f.code == code]
    assert hits
    assert all(f.place.line and f.place.column and f.source for f in hits)
    assert code not in found(shown["right"])


@pytest.mark.parametrize("code", CODES)
def test_the_right_example_is_free_of_errors(code):
    """What a page recommends has no other error (names that stand in files not shown aside)."""
    away = {"QUE001", "QUE020", "REF001", "REF007"} - {code}
    report = lint(read_text(examples(code)["right"], "x.yaml"), NOW)
    assert [f.render() for f in report.findings if f.severity == "error" and f.code not in away] == []


RIGHT = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  PARAMS
  matchConstraints:
    resourceRules:
    - {apiGroups: GROUPS, apiVersions: ["*"], resources: RESOURCES, operations: [CREATE, UPDATE]}
  matchConditions: [{name: exclude-leases, expression: 'CONDITION'}]
  variables: [{name: params, expression: "1"}]
  validations: [{expression: "EXPRESSION"}]
"""
NOT_LEASES = '!(request.resource.group == "coordination.k8s.io" && request.resource.resource == "leases")'


@pytest.mark.parametrize(
    ("code", "given"),
    [
        *(
            ("RCH001", {"GROUPS": f'["{group}"]', "RESOURCES": f"[{resource}]"})
            for group, resource in [
                ("", "bindings"),
                ("", "componentstatuses"),
                ("networking.k8s.io", "ipaddresses"),
                ("networking.k8s.io", "servicecidrs"),
                ("storage.k8s.io", "csistoragecapacities"),
                ("storage.k8s.io", "volumeattributesclasses"),
                ("coordination.k8s.io", "leasecandidates"),
            ]
        ),
        ("SAF002", {"CONDITION": NOT_LEASES}),
        ("REF004", {"EXPRESSION": "variables.params == 1"}),
        ("REF004", {"EXPRESSION": "object.metadata.?labels['params'].orValue('') == ''"}),
        (
            "CEL016",
            {
                "PARAMS": "paramKind: {apiVersion: v1, kind: ConfigMap}",
                "GROUPS": "[batch]",
                "RESOURCES": "[jobs]",
                "EXPRESSION": "params.data.most == '1'",
            },
        ),
    ],
)
def test_what_is_right_is_not_told(code, given):
    """Served resources, leases left out by a condition, a variable named `params`, and params that are elsewhere."""
    usual = {"PARAMS": "failurePolicy: Fail", "GROUPS": '["*"]', "RESOURCES": '["*"]', "CONDITION": "true"}
    text = RIGHT
    for word, value in (usual | {"EXPRESSION": "true"} | given).items():
        text = text.replace(word, value)
    assert code not in found(text)


@pytest.mark.parametrize(("name", "told"), [("gpu-integer", False), ("gated-pods", False), ("gpu-intger", True)])
def test_an_exception_may_be_from_a_shipped_policy(name, told):
    """`.sluice.yaml` puts shipped policies in force: none of them is among the files of a repository."""
    spec = f"{{policyNames: [{name}], reason: they move in May, expires: '2099-01-31'}}"
    text = f"apiVersion: sluice.dev/v1alpha1\nkind: PolicyException\nmetadata: {{name: old}}\nspec: {spec}\n"
    assert ("REF007" in found(text)) is told


def test_versions_that_are_null_are_told_as_missing_alone():
    """Not as versions without names that serve nothing."""
    text = (
        RIGHT.replace('apiVersions: ["*"]', "apiVersions: null").replace("  PARAMS\n", "").replace("CONDITION", "true")
    )
    text = text.replace("GROUPS", '[""]').replace("RESOURCES", "[pods]").replace("EXPRESSION", "true")
    found = lint(read_text(text, "x.yaml"), NOW).findings
    assert "RCH002" not in {f.code for f in found}
    assert any("apiVersions" in f.message for f in found)


def test_codes_are_given_once_and_said_in_one_line():
    """A code belongs to one rule, with a title that is one line and a text that says why."""
    codes = [rule.code for rule in BY_CODE.values()]
    assert len(codes) == len(set(codes)) >= len(RULES)
    assert all(rule.why and "\n" not in rule.title for rule in BY_CODE.values())


@pytest.mark.parametrize("name", sorted(pages()))
def test_pages_are_current(name):
    """The pages in docs/findings are what the table gives now (`sluice lint --pages docs/findings` writes them)."""
    assert (ROOT / "docs" / "findings" / name).read_text(encoding="utf-8") == pages()[name]


def test_no_page_is_left_over():
    """Every page in docs/findings belongs to a code."""
    assert {p.name for p in (ROOT / "docs" / "findings").iterdir()} == set(pages())


@pytest.mark.parametrize("code", [r.code for r in RULES if "--fix" in r.why])
def test_a_repair_mends(code):
    """What --fix writes is free of the finding, and keeps every comment of the file."""
    text = "# kept\n" + examples(code)["wrong"] + " # kept too\n"
    report = lint(read_text(text, "x.yaml"), NOW)
    (after,) = mended(report.edits, lambda _: text).values()
    assert code not in found(after)
    assert after.count("# kept") == 2


def test_every_code_that_is_given_has_a_page():
    """A code that stands anywhere in the sources (here and in the loader) has a row, so `--explain` knows it."""
    places = ("policy", "offline")
    given = {
        code
        for place in places
        for path in (ROOT / "webhook" / place).rglob("*.py")
        for code in re.findall(r'"([A-Z]{3,4}\d{3})"', path.read_text(encoding="utf-8"))
    }
    assert given - set(BY_CODE) == set()


def test_the_crash_of_the_native_server_is_named():
    """The policy that makes the real API server drop connections is found at the typed object in the list."""
    report = lint(read_files([shared("bench/native-panics.yaml")]), NOW)
    (finding,) = [f for f in report.findings if f.code == "MUT001"]
    assert finding.source[finding.place.column - 1 :].startswith("Object.spec.template.spec.tolerations{key")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_value_anywhere_is_survived(data):
    """No rule fails on a document in which any value was replaced by any other."""
    (document, *_) = read(examples(data.draw(st.sampled_from(CODES)))["wrong"])
    path = data.draw(st.sampled_from(sorted(document.nodes, key=str)))
    value = replaced(document.value, path, data.draw(VALUES))
    files = Files((Document(value, "x.yaml", document.lines, document.nodes, document.keys),), ("x.yaml",))
    assert lint(files, NOW).findings is not None


def replaced(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(copy[path[0]], path[1:], new)
    return copy


def test_items_of_a_list_are_looked_at():
    """What `kubectl get -o yaml` gives, a List, is looked at item by item, at the items' places."""
    (item,) = read(examples("LIM001")["wrong"])
    text = dump({"apiVersion": "v1", "kind": "List", "items": [item.value]})
    (finding,) = [f for f in lint(read_text(text, "x.yaml"), NOW).findings if f.code == "LIM001"]
    assert finding.source.strip() == "nvidia.com/gpu: 0.5"
