"""Every example of every row says what really happens: the reference page shows nothing else."""

import pytest

from webhook import cel
from webhook.cel.functions import rows
from webhook.cel.lib.ordering import equal

EXAMPLES = [
    pytest.param(function, text, wanted, id=f"{function.name}-{number}")
    for function in rows()
    for number, (text, wanted) in enumerate(function.examples)
]


def result(text, mutation):
    """The value of an expression without variables."""
    env = cel.mutation_env() if mutation else cel.validation_env()
    return cel.compile(text, env).evaluate({})


@pytest.mark.parametrize(("function", "text", "wanted"), EXAMPLES)
def test_example(function, text, wanted):
    """The expression gives the value, or fails with the error, that the row says."""
    if wanted.startswith("error: "):
        with pytest.raises((cel.EvalError, cel.CompileError)) as caught:
            result(text, function.mutation_only)
        assert wanted.removeprefix("error: ") in str(caught.value)
        return
    assert equal(result(text, function.mutation_only), result(wanted, mutation=False))


def test_functions_of_a_policy_author_have_a_doc():
    """Each name an author can write has a sentence and an example, except questions to the authorizer."""
    poor = {
        function.name
        for function in rows()
        if function.library not in ("operators", "optionals", "kubernetes.authz")
        and not (function.doc or any(other.doc for other in rows() if other.name == function.name))
    }
    assert poor == set()
