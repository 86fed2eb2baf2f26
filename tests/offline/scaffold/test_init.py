"""`sluice init` writes a repository that is clean, tested, and can be changed at once."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from tests.offline.running import invoke
from tests.shared import ROOT
from webhook import documents
from webhook.cli import exits
from webhook.cli.commands.policies.add import add_command
from webhook.cli.commands.policies.init import init_command
from webhook.cli.commands.policies.test import test as command
from webhook.offline.files import read_files
from webhook.offline.lint.apply_rules import lint
from webhook.offline.reference.json_schema import of_files
from webhook.offline.suite.session import run_session


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("ci", "own"), [("github", ".github"), ("gitlab", ".gitlab-ci.yml"), ("none", None)])
def test_the_files_are_written(here, ci, own):
    """Policies, suite, queues, hook and just the workflow of the chosen CI are there, each file told."""
    done = invoke(init_command, "repo", "--ci", ci)
    assert done.exit_code == exits.PASSED
    tops = {path.name for path in Path("repo").iterdir()}
    assert tops == {
        "README.md",
        "cluster",
        "jobs",
        "policies",
        ".pre-commit-config.yaml",
        ".sluice",
        ".sluice.yaml",
    } | ({own} if own else set())
    assert "wrote repo/policies/whole-gpus/policy.yaml\n" in done.stdout
    assert "next:\n  cd repo\n  sluice lint policies cluster\n  sluice test\n  sluice run -f jobs" in done.stdout


def test_sluices_own_source_is_left_alone(here, monkeypatch):
    """In a clone of Sluice a folder of its own is needed: the shipped policies are not those of a cluster."""
    monkeypatch.chdir(ROOT)
    before = {path: path.stat().st_mtime_ns for path in (ROOT / "policies").rglob("*")}
    for called, *words in ((init_command,), (init_command, "policies"), (add_command, "whole-nodes")):
        done = invoke(called, *words)
        assert (done.exit_code, "is Sluice's own source: name another folder" in done.stderr) == (exits.BAD_INPUT, True)
    assert {path: path.stat().st_mtime_ns for path in (ROOT / "policies").rglob("*")} == before
    assert invoke(init_command, str(here / "gpu-policies")).exit_code == exits.PASSED


def test_the_scaffold_is_clean_and_passes(here):
    """Lint finds nothing at all in it, and its suite passes with every branch covered."""
    invoke(init_command)
    assert [f.render() for f in lint(read_files([Path("policies"), Path("cluster")]), datetime.now(UTC)).findings] == []
    session = run_session([Path("policies")])
    assert (session.failed, len(session.results)) == (False, 5)
    assert [branch.what for branch in session.missed] == []


def test_every_yaml_file_is_yaml(here):
    """Workflow and hook files can be read."""
    invoke(init_command)
    for path in [*Path().rglob("*.yaml"), *Path().rglob("*.yml")]:
        assert documents.read(path.read_text(), str(path))


def test_editors_find_the_schema(here):
    """Each YAML file of policies and queues names, from its own folder, the schema that was written, and is valid."""
    invoke(init_command)
    files = [*Path("policies").rglob("*.yaml"), *Path("cluster").rglob("*.yaml")]
    assert len(files) == 3
    for file in files:
        named = file.read_text().splitlines()[0].removeprefix("# yaml-language-server: $schema=")
        schema = json.loads((file.parent / named).read_text())
        assert schema == of_files()
        assert all(Draft7Validator(schema).is_valid(d.value) for d in documents.read(file.read_text()))


def test_files_that_are_there_stay(here):
    """A second run keeps what a person changed, and says so; --force writes over it."""
    invoke(init_command)
    Path("README.md").write_text("mine")
    done = invoke(init_command)
    assert "kept  README.md (already exists; use --force to overwrite)\n" in done.stdout
    assert Path("README.md").read_text() == "mine"
    invoke(init_command, "--force")
    assert Path("README.md").read_text() != "mine"


def test_a_folder_that_cannot_be_made_is_told(here):
    """Where a file stands in the way the command ends with code 2 and names it."""
    Path("policies").write_text("")
    done = invoke(init_command)
    assert (done.exit_code, "policies" in done.stderr) == (exits.BAD_INPUT, True)


BROKEN = (
    ("variables.limits.all(q", "variables.limit.all(q", "CEL001", ""),
    ("resources: [pods]", "resources: [Pod]", "RCH001", 'write "pods"'),
    ("policyName: whole-gpus", "policyName: whole-gpu", "REF002", 'did you mean "whole-gpus"?'),
    (
        "kind: ValidatingAdmissionPolicy\n",
        "kind: ValidatingAdmisionPolicy\n",
        "REF002",
        "write ValidatingAdmissionPolicy",
    ),
    ("failurePolicy: Fail", "failurPolicy: Fail", "POL001", 'did you mean "failurePolicy"?'),
    ("  validations:", "   validations:", "YAML001", ""),
    ("validationActions: [Deny]", "validationActions: [Deny, Warn]", "REF005", "keep Deny"),
    ("[CREATE, UPDATE]", "[CREATE, Update]", "POL003", ""),
)


@pytest.mark.parametrize(("old", "new", "code", "hint"), BROKEN)
def test_a_broken_policy_leads_to_the_fix(here, old, new, code, hint):
    """Each way to break the first policy is named by code, at its line, with what to write."""
    invoke(init_command)
    path = Path("policies/whole-gpus/policy.yaml")
    path.write_text(path.read_text().replace(old, new))
    found = [f for f in lint(read_files([Path("policies")]), datetime.now(UTC)).findings if f.code == code]
    assert found
    assert all(f.place.line for f in found)
    assert any(hint in f.hint for f in found)


MUTANTS = (
    ("limits.all(", "limits.exists("),
    ("isInteger()", 'isGreaterThan(quantity("0"))'),
    ("isInteger()", 'isLessThan(quantity("1"))'),
    (" + object.spec.?initContainers.orValue([])", ""),
    ("object.spec.containers + ", ""),
    ("?limits", "?requests"),
    ("[CREATE, UPDATE]", "[CREATE]"),
    ("[CREATE, UPDATE]", "[UPDATE]"),
    ("    sluice.dev/expand: pod-templates\n", "    sluice.dev/docs: none\n"),
    ('    namespaceSelector:\n      matchLabels: {sluice.dev/managed: "true"}\n', ""),
    ("validationActions: [Deny]", "validationActions: [Warn]"),
    ("limits.join", "limits.filter(x, false).join"),
    ('apiGroups: [""]', "apiGroups: [core]"),
)


@pytest.mark.parametrize(("old", "new"), MUTANTS)
def test_the_suite_notices_every_change(here, old, new):
    """Whatever is changed in the first policy, a case of its suite fails: a user learns at once what tests are for."""
    invoke(init_command)
    path = Path("policies/whole-gpus/policy.yaml")
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert run_session([Path("policies")]).failed


POLICY, SUITE = "policies/whole-gpus/policy.yaml", "policies/whole-gpus/suite.yaml"
TOLD = (
    (POLICY, "isInteger())", "isInteger()", "a ( is not closed"),
    (POLICY, "variables.limits.all", "variables.limit.all", 'did you mean "limits"?'),
    (POLICY, "failurePolicy", "failurPolicy", 'did you mean "failurePolicy"?'),
    (POLICY, "resources: [pods]", "resources: pods", "write [pods]"),
    (POLICY, 'managed: "true"', "managed: true", 'write "true"'),
    (POLICY, 'managed: "true"', 'manged: "true"', "sluice.dev/managed=true"),
    (POLICY, "policyName: whole-gpus", "policyName: whole-gpu", "whole-gpus: it has no binding"),
    (POLICY, "kind: ValidatingAdmissionPolicy\n", "kind: ValidatingAdmisionPolicy\n", 'did you mean "ValidatingAdm'),
    (POLICY, 'apiGroups: [""]', "apiGroups: [core]", 'write the core group as ""'),
    (POLICY, "c.?resources.?limits", "c.resources.limits", "for a field that may be absent, use .?limits"),
    (POLICY, "[CREATE, UPDATE]", "[CREATE, UPDATE", "the bracket that opens on line 18 is not closed"),
    (POLICY, "  failurePolicy", "\tfailurePolicy", "indent with spaces"),
    (SUITE, "expect: {allowed: true}", "expect: {alowed: true}", 'did you mean "allowed"?'),
    (SUITE, "expect: {allowed: true}", "expect: {allowed: false}", "expected denied, got allowed"),
    (SUITE, "metadata: {name: train}", "metadata: {name: train", "the bracket that opens on line 13 is not closed"),
)


@pytest.mark.parametrize(("file", "old", "new", "said"), TOLD)
def test_sluice_test_leads_to_the_fix(here, file, old, new, said):
    """Broken in any of these ways, the repository fails, and what `sluice test` prints says what to write instead."""
    invoke(init_command)
    assert old in Path(file).read_text()
    Path(file).write_text(Path(file).read_text().replace(old, new, 1))
    done = invoke(command)
    assert done.exit_code in (exits.FAILED, exits.BAD_INPUT)
    assert said in done.stdout + done.stderr
