"""Loading: every mistake of every file at its place, what is read and what is left out, digests."""

import pytest

from tests.policy.support import bundle, mutating, validating
from webhook.diagnostics import SourceError
from webhook.policy import EMPTY, load_bundle


def findings(text):
    with pytest.raises(SourceError) as caught:
        bundle(text)
    return caught.value.diagnostics


def test_cel_mistake_has_its_place_and_caret():
    """A mistake inside a folded block is shown at its line and column of the file, with a caret under it."""
    (finding,) = findings(validating("object.spec.containers\n      .all(c, c.image.startWith('x'))"))
    assert (finding.code, finding.place.file, finding.place.line, finding.place.column) == (
        "CEL001",
        "policy.yaml",
        10,
        32,
    )
    assert finding.render().splitlines()[1:] == [
        "          .all(c, c.image.startWith('x'))",
        "                                   ^",
    ]


def test_all_mistakes_are_told_at_once():
    """Misspelt fields, unknown words and CEL mistakes of several documents come in one report, in order."""
    text = (
        validating("false").replace("matchConstraints", "matchConstraint")
        + validating("1 +", name="q")
        + validating("true", name="r").replace("[Deny]", "[Dony]")
        + mutating("[]", annotations="{sluice.dev/expnd: pod-templates}", name="s")
    )
    found = findings(text)
    assert [f.code for f in found][:3] == ["POL002", "POL001", "CEL001"]
    messages = "\n".join(f.render() for f in found)
    for part in ('did you mean "matchConstraints"?', 'did you mean "Deny"?', 'did you mean "sluice.dev/expand"?'):
        assert part in messages


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("a: 1", "LOAD002", "apiVersion and kind are required"),
        (validating("true").replace("kind: V", "knid: V", 1), "LOAD002", 'did you mean "kind"?'),
        (validating("true").replace("k8s.io/v1\n", "k8s.io/v3\n"), "LOAD003", 'version "v3"'),
        (
            validating("true") + validating("true"),
            "LOAD004",
            "is defined twice; the first definition is at policy.yaml:4:18",
        ),
        ("apiVersion: sluice.dev/v1alpha1\nkind: QueuePolice\nmetadata: {name: x}", "LOAD003", "unknown kind"),
        (validating("1"), "CEL001", "must evaluate to bool, not int"),
        (validating("true", extra="    messageExpression: '1'"), "CEL001", "must evaluate to string, not int"),
        (validating("params == null"), "CEL001", "undeclared reference to 'params'"),
        (validating("true", extra="    messageExpression: 'string(authorizer)'"), "CEL001", "authorizer"),
        (
            validating("variables.x", extra="  variables: [{name: y, expression: 'true'}]"),
            "CEL001",
            "undefined field 'x'",
        ),
        (validating("true").replace("[Deny]", "[Deny, Warn]"), "POL005", "rejects it"),
        (validating("true").replace("[Deny]", "[Deny], paramRef: {}"), "POL005", "exactly one of name and selector"),
        (
            validating("true").replace(
                "p, valid", "p, matchResources: {objectSelector: {matchExpressions: [{key: a, operator: in}]}}, valid"
            ),
            "POL004",
            'unknown operator "in"',
        ),
        (
            mutating("[]", apply=True).replace("applyConfiguration:", "jsonPatch:"),
            "POL005",
            "requires applyConfiguration",
        ),
        (mutating("[1]"), "CEL001", "must evaluate to list(JSONPatch)"),
        (mutating("[]", annotations="{sluice.dev/mode: loud}"), "POL003", 'invalid value "loud"'),
        (mutating("[]", annotations="{sluice.dev/settings: 'a, b'}"), "POL003", 'no bool variable "a"'),
        (
            "apiVersion: sluice.dev/v1alpha1\nkind: PolicyException\nmetadata: {name: x}\n"
            "spec: {policyNames: [p], reason: r, expires: soon}",
            "EXC001",
            "not a valid date",
        ),
        (
            "apiVersion: sluice.dev/v1\nkind: PolicyException\nmetadata: {name: x}\nspec: {}",
            "LOAD003",
            "policy.yaml:1:",
        ),
        ("apiVersion: sluice.dev/v1\nkind: QueuePolicy\nmetadata: {name: x}", "LOAD003", "write sluice.dev/v1alpha1"),
    ],
)
def test_mistake(text, code, message):
    """Each mistake has its code and says what is wrong."""
    found = findings(text)
    assert code in [f.code for f in found]
    assert message in "\n".join(f.render() for f in found)


def test_notes_do_not_keep_a_bundle_from_use():
    """A policy without binding and a binding without policy are told as notes."""
    unbound = validating("true").split("---")[0]
    lost = validating("true", name="q").split("---")[1]
    assert [n.code for n in bundle(unbound).notes] == ["REF001"]
    assert [n.code for n in bundle(lost).notes] == ["REF002"]


def test_old_versions_are_read():
    """v1beta1 and v1alpha1 files mean the same."""
    text = validating("true")
    for version in ("v1beta1", "v1alpha1"):
        (policy,) = bundle(text.replace("k8s.io/v1\n", f"k8s.io/{version}\n")).policies
        assert (policy.name, len(policy.bindings), len(policy.validations)) == ("p", 1, 1)


def test_other_kinds_are_facts_and_queue_rules_are_handed_on():
    """Objects of other kinds, single or in a List, are facts; QueuePolicy documents are handed on."""
    text = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: LimitRange, metadata: {name: l}, spec: {limits: [{type: Pod, max: {cpu: 1}}]}}
---
apiVersion: sluice.dev/v1alpha1
kind: QueuePolicy
metadata: {name: q}
"""
    loaded = bundle(text)
    assert [o["metadata"]["name"] for o in loaded.objects] == ["a", "l"]
    assert loaded.objects[1]["spec"]["limits"][0]["max"] == {"cpu": "1"}
    assert [d.value["metadata"]["name"] for d in loaded.queue_policies] == ["q"]


def test_files(tmp_path):
    """Folders are read with all below them, without suites, cases and hidden files; the digest is of the content."""
    (tmp_path / "a" / "cases").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "policy.yaml").write_text(validating("true"))
    (tmp_path / "a" / "suite.yaml").write_text("not: [a policy")
    (tmp_path / "a" / "cases" / "x.yaml").write_text("not: [a policy")
    (tmp_path / ".git" / "x.yaml").write_text("not: [a policy")
    loaded = load_bundle([tmp_path, tmp_path / "a" / "policy.yaml"])
    assert [p.name for p in loaded.policies] == ["p"]
    assert loaded.digest == bundle(validating("true")).digest != EMPTY.digest


def test_a_link_to_a_folder_is_refused(tmp_path):
    """It is not followed, so its policies would be missing in silence; one that is hidden, or named itself, is none."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "policy.yaml").write_text(validating("true"))
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "..data").symlink_to("../real")
    (tmp_path / "policies" / "policy.yaml").symlink_to("..data/policy.yaml")
    (tmp_path / "link").symlink_to("policies")
    assert [p.name for p in load_bundle([tmp_path / "link"]).policies] == ["p"]
    (tmp_path / "policies" / "linked").symlink_to("../real")
    with pytest.raises(
        SourceError, match=r"policies/linked: error\[FILE001\]: is a symbolic link to a folder, which is"
    ):
        load_bundle([tmp_path / "policies"])


@pytest.mark.parametrize("name", ["kustomization.yaml", "values-prod.yaml", "Chart.yaml"])
def test_files_of_other_tools_are_left_out(tmp_path, name):
    """A folder that Flux or Helm reads may be loaded, too; a file that is named itself is read."""
    (tmp_path / "policy.yaml").write_text(validating("true"))
    (tmp_path / name).write_text("resources: [policy.yaml]\n")
    assert load_bundle([tmp_path]).digest == bundle(validating("true")).digest
    with pytest.raises(SourceError, match="LOAD002"):
        load_bundle([tmp_path / name])


def test_all_files_are_reported(tmp_path):
    """A broken file does not hide the next one, nor one that is not there."""
    (tmp_path / "a.yaml").write_text("x: [")
    (tmp_path / "b.yaml").write_text(validating("1 +"))
    with pytest.raises(SourceError) as caught:
        load_bundle([tmp_path, tmp_path / "gone"])
    assert sorted(f.code for f in caught.value.diagnostics) == ["CEL001", "FILE001", "YAML001"]


def test_match_conditions_have_no_variables():
    """The API server refuses a match condition that speaks of variables, so we do."""
    extra = "  matchConditions: [{name: c, expression: variables.x}]\n  variables: [{name: x, expression: 'true'}]"
    (finding,) = findings(validating("true", extra=extra))
    assert "undeclared reference to 'variables'" in finding.message
