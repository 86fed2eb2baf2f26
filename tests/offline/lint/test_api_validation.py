"""What the API server refuses of a policy is an error of lint, and nothing else is: a table, held against both."""

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from webhook.documents import dump, read
from webhook.offline.files import read_text
from webhook.offline.lint.apply_rules import lint

NOW = datetime(2026, 9, 1, tzinfo=UTC)
(ROWS,) = (d.value for d in read((Path(__file__).parent / "api_validation.yaml").read_text("utf-8"), "rows"))
FINE = {
    document.value["kind"]: document.value
    for document in read(
        """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  validations: [{expression: "object.metadata.name != ''", message: a name is needed}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: m}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  mutations:
  - {patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'test', path: '/kind', value: 'Pod'}]"}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: m}
spec: {policyName: m}
""",
        "fine.yaml",
    )
}
ELSEWHERE = {"REF001", "REF002", "REF003", "REF004"}
"""What is wrong with one file by itself, and may be mended by another."""
ONLY_HERE = {"SCH003": "a paramKind that no CustomResourceDefinition brings is refused when it is used"}


def changed(row: dict[str, Any]) -> dict[str, Any]:
    """Make the change of a row; one without a value takes the field away."""
    obj = copy.deepcopy(FINE[row["of"]])
    path = row["at"].replace("rule/", "spec/matchConstraints/resourceRules/0/").split("/")
    at: Any = obj
    for step in path[:-1]:
        at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
    last: Any = int(path[-1]) if isinstance(at, list) else path[-1]
    if "is" in row:
        at[last] = row["is"]
    else:
        del at[last]
    return obj


def errors(obj: dict[str, Any]) -> list[str]:
    found = lint(read_text(dump(obj), "x.yaml"), NOW).findings
    return sorted({f.code for f in found if f.severity == "error"} - ELSEWHERE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['of']}-{row['at']}-{str(row.get('is'))[:40]}")
def test_an_error_is_told_with_its_code(row):
    """Each change has the errors of its row."""
    assert errors(changed(row)) == row.get("codes", [])


@pytest.mark.cluster
def test_the_api_server_refuses_just_what_is_an_error(kube):
    """Every row is put to the real API server, which creates nothing."""
    for kind, obj in FINE.items():
        assert kube.create(obj, dry_run=True)["kind"] == kind
    differ = []
    for row in ROWS:
        obj, codes = changed(row), set(row.get("codes", []))
        if codes and codes <= set(ONLY_HERE):
            continue
        plural = kube.path(FINE[row["of"]]["apiVersion"], row["of"]).rpartition("/")[2]
        path = f"/apis/{obj['apiVersion']}/{plural}?dryRun=All&fieldValidation=Strict"
        answer = kube.request("POST", path, obj)
        if (answer.status >= 400) != bool(codes):
            differ.append((row, answer.status, answer.body.get("message")))
    assert not differ
