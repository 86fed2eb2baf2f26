"""Where what stands at the mark is written."""

from pathlib import Path

import pytest

from tests.editor.marked import MARK, POLICY, placed
from webhook.editor.cursor import spot_at
from webhook.editor.definition import definitions
from webhook.editor.workspace import Workspace

SUITE = "apiVersion: sluice.dev/v1alpha1\nkind: Suite\npolicies: [policy.yaml]\ncases:\n- name: a\n  object: CASE\n"
PARAMETERS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: allowed, namespace: default}\n"
EXCEPTION = """apiVersion: sluice.dev/v1alpha1
kind: PolicyException
metadata: {name: e}
spec: {policyNames: [ima‸ges], reason: r, expires: "2099-01-01"}
"""
VALID = POLICY.replace("EXPRESSION", '"true"')
CASES = {
    "a variable": (POLICY.replace("EXPRESSION", f"variables.fir{MARK}st != null"), ["policy.yaml:16:11"]),
    "parameters": (POLICY.replace("EXPRESSION", f"par{MARK}ams.data.a == ''"), ["parameters.yaml:3:18"]),
    "a suite": (
        VALID.replace("name: images\nspec:\n  paramKind", f"name: ima{MARK}ges\nspec:\n  paramKind"),
        ["suite.yaml:1:1"],
    ),
    "a policy": (VALID.replace("policyName: images", f"policyName: ima{MARK}ges"), ["policy.yaml:4:9"]),
    "parameters of a binding": (VALID.replace("name: allowed", f"name: allo{MARK}wed"), ["parameters.yaml:3:18"]),
    "nothing": (VALID.replace("apiGroups", f"api{MARK}Groups"), []),
}


def found(folder: Path, name, text, **others):
    plain, line, column = placed(text)
    workspace = Workspace((folder,))
    for file, content in {**others, name: plain}.items():
        (folder / file).write_text(content)
    list(workspace.load())
    path = folder / name
    spot = spot_at(workspace.files[path].documents, line, column)
    return [str(place).removeprefix(f"{folder}/") for place in definitions(workspace, path, spot)]


@pytest.mark.parametrize("case", CASES)
def test_definitions(tmp_path, case):
    text, places = CASES[case]
    others = {"suite.yaml": SUITE, "parameters.yaml": PARAMETERS}
    assert found(tmp_path, "policy.yaml", text, **others) == places


def test_files_of_a_suite_and_policies_of_an_exception(tmp_path):
    (tmp_path / "pod.yaml").write_text("")
    assert found(tmp_path, "suite.yaml", SUITE.replace("CASE", f"pod{MARK}.yaml")) == ["pod.yaml:1:1"]
    assert found(tmp_path, "e.yaml", EXCEPTION, **{"policy.yaml": VALID}) == ["policy.yaml:4:9"]
