"""What an editor offers at the mark: a part of it that must be there, and what must not."""

import pytest

from tests.editor.marked import MARK, MUTATION, POLICY, RULES, opened, placed
from webhook.editor.completion import complete

IN_POLICY = {
    f"object.{MARK}": ("metadata spec status", "containers request"),
    f"object.spec.{MARK}": ("containers volumes hostNetwork", "template"),
    f"object.spec.containers.all(c, c.im{MARK}": ("image imagePullPolicy", "containers"),
    f"object.spec.containers.exists(c, c.securityContext.{MARK})": ("privileged runAsUser", "image"),
    f"object.spec.containers.{MARK}": ("all exists size", "image startsWith"),
    f"object.metadata.name.{MARK}": ("startsWith matches", "all name"),
    f"object.metadata.?labels.{MARK}": ("orValue hasValue", "startsWith"),
    f"variables.{MARK}": ("names first", "object"),
    f"variables.first.{MARK}": ("image args", "containers"),
    f"variables.names.all(n, n.{MARK}": ("startsWith", "image"),
    f"request.userInfo.{MARK}": ("groups username", "name startsWith"),
    f"sets.{MARK}": ("contains intersects", "all object"),
    f"{MARK}": ("object oldObject params request has quantity true", "Object spec"),
    f"object.spec.hostNetwork == tr{MARK}": ("true", "containers"),
    f"object.metadata.name == 'ab{MARK}'": ("", "object true"),
}


def offered(text):
    found = complete(*opened(text))
    return {name.name for name in found.names}, found


@pytest.mark.parametrize("expression", IN_POLICY)
def test_names_of_an_expression(expression):
    names, found = offered(POLICY.replace("EXPRESSION", expression))
    there, absent = (set(words.split()) for words in IN_POLICY[expression])
    assert names >= there
    assert not names & absent
    assert bool(names) == bool(there)
    word = placed(expression)[0][: expression.index(MARK)].rpartition(".")[2].rpartition(" ")[2]
    assert found.typed == (len(word) if names else 0)


@pytest.mark.parametrize(
    ("text", "expression", "there"),
    [
        (MUTATION, f"Object{{{MARK}", "spec metadata"),
        (MUTATION, f"Object{{spec: Object.spec{{sus{MARK}", "suspend template"),
        (MUTATION, f"Object.spec.{MARK}", "template"),
        (MUTATION, f"Obj{MARK}", "Object JSONPatch object"),
        (RULES, f"workload.{MARK}", "priority labels queuedAt"),
        (RULES, f"parameters.{MARK}", "limit"),
        (RULES, f"{MARK}", "workload queue now parameters"),
    ],
)
def test_names_of_other_kinds(text, expression, there):
    assert offered(text.replace("EXPRESSION", expression))[0] >= set(there.split())


FIELDS = {
    f"  failurePolicy: {MARK}\n": "Fail Ignore",
    f"  failurePolicy: Fa{MARK}\n": "Fail Ignore",
    f"  {MARK}\n": "failurePolicy auditAnnotations matchConditions",
    f"  match{MARK}\n": "failurePolicy matchConditions",
    f"  matchConditions:\n  - {MARK}\n": "name expression",
    f"  matchConditions:\n  - name: x\n    {MARK}\n": "expression",
    "---\napiVersion: sluice.dev/v1alpha1\nkind: Suite\ncases:\n- name: a\n  expect:\n"
    f"    {MARK}\n": "allowed patch queue",
    "---\napiVersion: sluice.dev/v1alpha1\nkind: PolicyException\nmetadata: {name: e}\nspec:\n"
    f"  {MARK}\n": "policyNames",
    "---\napiVersion: sluice.dev/v1alpha1\nkind: PolicyException\nmetadata: {name: e}\nspec:\n"
    f"  policyNames: [{MARK}]\n": "images",
    "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\n"
    f"spec:\n  policyName: {MARK}\n": "images",
    "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\n"
    f"spec:\n  validationActions:\n  - {MARK}\n": "Deny Warn Audit",
}


@pytest.mark.parametrize("addition", FIELDS)
def test_fields_and_values(addition):
    policy, binding = POLICY.replace("EXPRESSION", '"true"').split("---\n")
    text = f"{policy}{addition}"
    text = f"{text}---\n{binding}" if addition.startswith("  ") else f"{policy}---\n{binding}{addition}"
    assert offered(text)[0] >= set(FIELDS[addition].split())


def test_what_is_there_is_not_offered_again():
    names = offered(POLICY.replace("EXPRESSION", f'"true"\n  {MARK}'))[0]
    assert "failurePolicy" in names
    assert not names & {"validations", "variables", "paramKind"}


@pytest.mark.parametrize(
    "text", [MARK, f"a: [\n{MARK}", f"{MARK}\n- a: b\n c", f"\t{MARK}", f"kind: {MARK}", f"kind: Pod\n{MARK}"]
)
def test_text_of_no_kind_offers_nothing(text):
    assert offered(text)[0] <= {"apiVersion", "metadata", "spec", "status"}
