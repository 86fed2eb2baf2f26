"""No text makes the compiler or a program hang, recurse out or use unbounded memory."""

import sys

import pytest

from webhook import cel

ENV = cel.validation_env(typed=False)
LONG = {"l": list(range(1000)), "s": "a" * 10_000, "long": "a" * 50_000, "big": ["x" * 1000] * 1000}
VALUES = dict.fromkeys(ENV.variables) | {"object": LONG}

REFUSED = {
    "parentheses": "(" * 10_000 + "1" + ")" * 10_000,
    "brackets": "[" * 10_000,
    "sum": "1" + "+1" * 10_000,
    "digits": "9" * 90_000,
    "size": "'" + "a" * 100_001 + "'",
    "selections": "object" + ".a" * 5_000,
    "questions": "a?" * 200 + "1" + ":1" * 200,
}
EXPENSIVE = [
    "lists.range(1000000000).size()",
    "object.l.map(a, object.l.map(b, object.l.map(c, a * b * c))).size()",
    "object.l.all(a, object.l.all(b, object.l.all(c, a + b + c >= 0)))",
    "object.big.join(object.s).size()",
    "object.s.replace('a', object.s).replace('a', object.s).size()",
    "'%s'.format([object.l.map(x, object.big)]).size()",
    "sets.contains(object.s.split(''), object.s.split(''))",
    "object.s.split('').map(x, x + object.s).size()",
    "object.long.split('').map(x, object.l).flatten().size()",
    "object.long.split('').map(x, [object.l]).flatten(2).size()",
    "matches(object.long, object.long)",
    "lists.range(3000000).size() > 0 || true",
]
CHEAP = {
    "minus": ("-" * 10_000 + "1", 1),
    "not": ("!" * 10_000 + "true", True),
    "or": (" || ".join(["true"] * 2_000), True),
    "catastrophic": ("('a' + object.s).matches('(a+)+$')", True),
    "backtracking": ("object.s.matches('(.*)(.*)(.*)(.*)[^a]')", False),
}


@pytest.mark.parametrize("name", REFUSED)
def test_text_beyond_the_limits_is_refused(name):
    """A text that nests too deep, is too long or has too many digits does not compile, and says why."""
    with pytest.raises(cel.CompileError) as caught:
        cel.compile(REFUSED[name], ENV)
    assert caught.value.issues[0].message


@pytest.mark.parametrize("text", EXPENSIVE)
def test_program_that_costs_too_much_ends(text):
    """A program that would run or grow without end is cancelled, in both forms."""
    program = cel.compile(text, ENV)
    for evaluate in (program.run, program.evaluate):
        with pytest.raises(cel.EvalError) as failed:
            evaluate(VALUES)
        assert "cost limit exceeded" in failed.value.message or "too large" in failed.value.message


@pytest.mark.parametrize("name", CHEAP)
def test_what_looks_expensive_and_is_not_runs(name):
    """Long chains and patterns that are catastrophic elsewhere give their value."""
    text, value = CHEAP[name]
    assert cel.compile(text, ENV).run(VALUES) == value


def test_budget_of_a_policy_is_kept():
    """Evaluations within a budget take from it as soon as their bounds might not fit any more."""
    program = cel.compile("object.l.all(x, x >= 0)", ENV)
    given = tuple(VALUES[name] for name in program.names)
    cost = program.spent(given)
    budget = cel.Budget(remaining=cost)
    assert program.metered(given, budget) is True
    assert budget.remaining == 0
    assert program.cost == cost


SQUARE = "object.l.all(a, object.l.all(b, a + b >= 0))"


@pytest.mark.parametrize("length", [5, 30, 100, 300])
def test_budget_of_a_policy_is_exact(length):
    """However evaluations are run, the budget is spent after just as many as their exact cost allows."""
    program = cel.compile(SQUARE, ENV)
    given = tuple((VALUES | {"object": {"l": list(range(length))}})[name] for name in program.names)
    program.exactly(given)
    cost = program.cost
    for spare in (-1, 0):
        budget, count = cel.Budget(remaining=7 * cost + spare), 0
        while budget.remaining >= 0 and count < 20:
            assert program.metered(given, budget) is True
            count += 1
        assert count == (7 if spare < 0 else 8)


def test_form_that_gives_up_is_counted():
    """An evaluation that the fast form leaves to the exact one is taken from the budget."""
    program = cel.compile(SQUARE, ENV)
    given = tuple((VALUES | {"object": {"l": list(range(350))}})[name] for name in program.names)
    budget = cel.Budget()
    program.metered(given, budget)
    assert budget.remaining == 10_000_000 - program.cost
    assert program.cost > 500_000


@pytest.mark.parametrize(
    "text",
    [
        "object.l.all(x, x >= 0 && object.s != '')",
        "object.l.map(x, [x, x]).filter(y, y.size() == 2).size()",
        "object.s.matches('^a+$') && object.s.contains('aa')",
        "object.l.exists(x, object.l.exists(y, x == y + 1))",
    ],
)
def test_the_cost_lies_within_the_estimate(text):
    """What the evaluation costs is at most the estimate's upper end, and more than nothing."""
    program = cel.compile(text, ENV)
    values = dict.fromkeys(ENV.variables) | {"object": {"l": list(range(50)), "s": "a" * 50}}
    program.evaluate(values)
    assert 0 < program.cost <= program.estimate.max


CALLS_A_UNIT = 5
"""Calls of Python for a unit of cost: 3 where an evaluation is gone through once, 13 where it was twice."""


def test_a_spent_limit_is_gone_through_once():
    """The API server's own test of budgets, six loops in each other: what passes the limit is counted as it runs."""
    text = "0 < a + b + c + d + e + f"
    for variable in "fedcba":
        text = f"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all({variable}, {text})"
    program, calls = cel.compile(text, ENV), 0

    def counted(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        with pytest.raises(cel.EvalError, match="cost limit exceeded"):
            program.run(VALUES)
    finally:
        sys.setprofile(None)
    assert program.cost > 1_000_000
    assert calls < CALLS_A_UNIT * program.cost, calls / program.cost
