"""No call takes all memory or time: what would grow without end stops with an error."""

import pytest

from webhook import cel

GROWING = (
    "lists.range(9223372036854775807).size()",
    "lists.range(100000).map(x, 'aaaaaaaaaa').join(lists.range(100000).map(x, 'aaaaaaaaaa').join())",
    "'aaaaaaaaaa'.replace('', lists.range(1000000).map(x, 'aaaaaaaaaa').join())",
    "quantity('1e2000000000').add(quantity('1'))",
)


def evaluated(text):
    """The value of an expression without variables."""
    return cel.compile(text, cel.validation_env()).evaluate({})


@pytest.mark.parametrize("text", GROWING)
def test_growth_ends_in_an_error(text):
    """The expression is refused or fails; it does not hang."""
    with pytest.raises((cel.EvalError, cel.CompileError)):
        evaluated(text)


def test_comparing_huge_quantities_writes_nothing_out():
    """Two billion digits are compared by their number."""
    assert evaluated("quantity('1e2000000000').isGreaterThan(quantity('1Ei'))") is True
