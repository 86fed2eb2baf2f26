"""What a policy may spend over all of its expressions and variables ends at the same evaluation in either form."""

import pytest

from webhook import cel
from webhook.cel.budget import Budget
from webhook.cel.keys import MISSING
from webhook.cel.limits import POLICY_LIMIT
from webhook.cel.program import Program

ENV = cel.validation_env(typed=False)
VALUES = {"l": list(range(300)), "s": ["x" * 200] * 50, "d": {f"k{i}": i for i in range(100)}}
EXPRESSIONS = (
    "object.l.all(x, x >= 0)",
    "object.s.all(a, object.s.all(b, a == b))",
    "object.l.map(x, x * 2).filter(x, x > 100).size() > 0",
    "object.d.all(k, k.startsWith('k') && object.d[k] >= 0)",
    "has(object.l) && object.s[0] != ''",
    "object.l.exists(x, x > 1000) || object.s[0].contains('x')",
)


class Computed:
    """The variables of a policy, each computed within the budget when it is first read."""

    def __init__(self, table, budget, exact):
        self.table, self.budget, self.exact, self.known = table, budget, exact, {}

    def cel_find(self, name):
        """The value, computed once."""
        if name not in self.table:
            return MISSING
        if name not in self.known:
            self.known[name] = evaluate(self.table[name], values(self), self.budget, self.exact)
        return self.known[name]


def values(variables=None):
    """The values that every expression sees."""
    given = dict.fromkeys(ENV.variables) | {"object": VALUES, "variables": variables}
    return tuple(given[name] for name in ENV.variables)


def evaluate(program: Program, given, budget, exact):
    """One evaluation, by the exact form alone or by whichever serves."""
    return program.exactly(given, budget) if exact else program.metered(given, budget)


def rounds(programs, limit, exact):
    """How many evaluations, in turn, leave something of a budget."""
    budget, done = Budget(limit), 0
    while True:
        evaluate(programs[done % len(programs)], values(), budget, exact)
        if budget.remaining < 0:
            return done
        done += 1


@pytest.mark.parametrize("limit", [0, 1, 5_000, 123_456, 700_001, cel.CONDITIONS_LIMIT])
def test_budget_ends_at_the_same_evaluation(limit):
    """Expressions in turn run out of any budget at the very evaluation that their exact costs say."""
    programs = [cel.compile(text, ENV) for text in EXPRESSIONS]
    assert rounds(programs, limit, exact=False) == rounds(programs, limit, exact=True)


def test_budget_of_a_policy_is_met_to_the_unit():
    """Ten million units: as many evaluations as cost just so much fit, and with one unit less one fewer does."""
    program = cel.compile(EXPRESSIONS[1], ENV)
    cost = program.spent(values())
    count = POLICY_LIMIT // cost
    for limit, expected in ((count * cost, count), (count * cost - 1, count - 1)):
        assert rounds([program], limit, exact=False) == expected


@pytest.mark.parametrize("spare", [-1, 0])
def test_variables_are_charged_once(spare):
    """A variable takes its cost from the policy's budget when it is first read, and nothing afterwards."""
    table = {"v": cel.compile("object.s.all(a, object.s.all(b, a == b))", ENV)}
    reader = cel.compile("variables.v && variables.v", ENV)
    once = table["v"].spent(values())
    each = reader.spent(values({"v": True}))
    for exact in (False, True):
        budget = Budget(once + 3 * each + spare)
        given = values(Computed(table, budget, exact))
        left = []
        for _ in range(3):
            assert evaluate(reader, given, budget, exact) is True
            left.append(budget.remaining >= 0)
        assert left == [True, True, spare == 0]


def test_limit_of_a_call_holds_within_a_budget():
    """An evaluation that passes the limit of a call takes what cel-go counted until then, not what it would cost."""
    program = cel.compile("object.l.all(a, object.l.all(b, object.l.all(c, a + b + c >= 0)))", ENV)
    budget = Budget()
    with pytest.raises(cel.EvalError, match="actual cost limit exceeded"):
        program.metered(values(), budget)
    assert budget.remaining == POLICY_LIMIT - 1_000_001
