"""QueuePolicies are compiled by lint: what is wrong in one is a finding at its place, and hides nothing else."""

from datetime import UTC, datetime

import pytest

from tests.shared import ROOT
from webhook.offline.files import read_files, read_text
from webhook.offline.lint.apply_rules import lint

HEAD = "apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {name: mine}\nspec:\n"
NOW = datetime(2026, 9, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("strict: workload.prio > 1", ["RUL003"]),
        ("strict: workload.priority", ["RUL004"]),
        ("strict: startWith('a')", ["RUL003"]),
        ("strict: 'true &'", ["RUL003"]),
        ("extends: [kueu]", ["RUL006"]),
        ("extends: [mine.yaml/x]", ["RUL006"]),
        ("history: {halfLife: 1week}", ["RUL002"]),
        ("extends: [user-caps]\n  parameters: {workload: 1}", ["RUL005"]),
        ("ordr: []\n  park: workload.name", ["RUL001", "RUL004"]),
        ("extends: [kueue-fair]", []),
    ],
)
def test_a_mistake_in_a_rule_file_is_a_finding(spec, found):
    """Its code, once, and each with a hint or a caret."""
    report = lint(read_text(HEAD + f"  {spec}\n", "mine.yaml"), NOW)
    assert [f.code for f in report.findings] == found
    assert all(f.place.line and f.place.column and f.source for f in report.findings)


def test_the_shipped_rules_have_no_findings():
    """Nothing is found in the files that come with Sluice, but that user-caps needs a policy beside it."""
    report = lint(read_files([ROOT / "policies" / "queue"]), NOW)
    assert {(f.code, f.place.file.split("/")[-2]) for f in report.findings} == {("BYP009", "user-caps")}
    report = lint(read_files([ROOT / "policies" / "queue", ROOT / "policies" / "job-user"]), NOW)
    assert [f.render() for f in report.findings] == []


SETS = """
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: own}
spec:
  reinvocationPolicy: IfNeeded
  matchConstraints:
    resourceRules: [{apiGroups: [batch], apiVersions: [v1], resources: [jobs], operations: [CREATE]}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{metadata: Object.metadata{annotations: {"sluice.dev/user": request.userInfo.username}}}'
"""
BINDS = """
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: own}
spec: {policyName: own}
"""


@pytest.mark.parametrize(
    ("spec", "policies", "place"),
    [
        ("order: [workload.user]", "", "mine.yaml:5:11"),
        ("order: [workload.name, workload.user]", "", "mine.yaml:5:26"),
        ("admit: [{reason: R, expression: facts.userUsage.size() < 2}]", "", "mine.yaml:5:35"),
        ("admit: [{reason: R, expression: 'true', messageExpression: workload.user}]", "", "mine.yaml:5:62"),
        ("extends: [user-caps]", "", "mine.yaml:5:12"),
        ("order: [workload.user]", SETS + BINDS, ""),
        ("order: [workload.user]", SETS, "mine.yaml:5:11"),
        ("order: [workload.user]", SETS.replace("request.userInfo.username", '"ada"') + BINDS, "mine.yaml:5:11"),
        ("order: [workload.name]", "", ""),
        ("extends: [kueue]", "", ""),
        ("order: [workload.usr]", "", ""),
    ],
)
def test_who_a_user_is_must_be_set_by_a_policy(spec, policies, place):
    """Whatever reads the user is told of, where it stands, unless a policy that is in force sets the user."""
    report = lint(read_text(HEAD + f"  {spec}\n{policies}", "mine.yaml"), NOW)
    assert [str(f.place) for f in report.findings if f.code == "BYP009"] == [place] * bool(place)
