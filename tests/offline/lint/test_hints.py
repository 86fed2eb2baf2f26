"""A mistake in an expression comes with the way out."""

import pytest

from tests.offline.dryrun.files import GPU
from webhook import documents
from webhook.offline.lint.engine import loaded


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("variables.all.all(", "variables.al.all(", 'did you mean "all"?'),
        (".isInteger()", ".isInteger", "isInteger is a function: write isInteger()"),
        ("variables.all.all(", "all.all(", "a variable of the policy is read as variables.all"),
        ("object.spec.containers +", "objct.spec.containers +", 'did you mean "object"?'),
        ("quantity(c.", "quantty(c.", 'did you mean "quantity"?'),
        ("variables.all.all(", "request.operaton == 'x' && variables.all.all(", 'did you mean "operation"?'),
    ],
)
def test_a_wrong_name_is_told_with_the_right_one(old, new, hint):
    """The compiler's message is kept, and the name that was meant is put beside it."""
    _, wrong = loaded(documents.read(GPU.replace(old, new), "gpu.yaml"))
    assert [(f.code, f.hint) for f in wrong if f.hint] == [("CEL001", hint)]
    assert all(f.place.line and f.message for f in wrong)


def test_fields_of_suites_are_checked():
    """A misspelt field of a suite is told with the right one, without running the suite."""
    suite = "apiVersion: sluice.dev/v1alpha1\nkind: Suite\ncases:\n- name: a\n  expct: {allowed: true}\n"
    _, wrong = loaded(documents.read(suite, "suite.yaml"))
    assert [(f.code, f.place.line, f.hint) for f in wrong] == [("POL001", 5, 'did you mean "expect"?')]
