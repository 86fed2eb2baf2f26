"""What an editor says of the place under the pointer."""

import pytest

from tests.editor.marked import MARK, POLICY, opened
from webhook.editor.cursor import spot_at
from webhook.editor.hover import hover

CASES = {
    f"object.spec.cont{MARK}ainers.size() > 0": ["containers: list", "gives `bool`", "units"],
    f"object.spec.containers.all(c, c.imagePull{MARK}Policy == 'Always')": ["imagePullPolicy: string", "one of Always"],
    f"object.metadata.name.starts{MARK}With('a')": ["string.startsWith(string) -> bool", "Cost:", "`true`"],
    f"variables.na{MARK}mes.size() > 0": ["names: list(dyn)"],
    f"object.spec.containers.al{MARK}l(c, true)": ["every element"],
    f"request.oper{MARK}ation == 'CREATE'": ["operation: string"],
    f"object.metadata.nam{MARK}e.": ["name: string"],
}


def said(text):
    workspace, path, line, column = opened(text)
    spot = spot_at(workspace.files[path].documents, line, column)
    return hover(spot, workspace.around(path)) if spot else ""


@pytest.mark.parametrize("expression", CASES)
def test_names_and_functions(expression):
    text = said(POLICY.replace("EXPRESSION", expression))
    assert [part for part in CASES[expression] if part not in text] == []


def test_a_field_says_which_words_it_may_hold():
    assert "`Fail`" in said(POLICY.replace("EXPRESSION", f'"true"\n  failure{MARK}Policy: Fail'))


def test_nothing_is_said_of_nothing():
    assert said(f"{MARK}") == ""
    assert said(f"a: {MARK}b\n") == ""
