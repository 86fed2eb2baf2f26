"""What generated code finds out is found out once, and never before the language would ask for it."""

import pytest

from tests.cel.priced import fast
from webhook import cel
from webhook.cel.compose import compose
from webhook.cel.keys import MISSING

DECLARED = [{"name": name, "expression": "object.any"} for name in ("a", "b")]
ENV, _ = compose(cel.validation_env(typed=False), DECLARED)
LIST = {"l": ["x", "y", "z"], "t": "text", "m": {"k": {"u": 1, "v": {"w": 2}}}}


class Asked:
    """Variables that write down which of them were asked for."""

    def __init__(self, **known):
        self.known, self.names = known, []

    def cel_find(self, name):
        """The value of a variable."""
        self.names.append(name)
        return self.known.get(name, MISSING)


def run(text, variables):
    """The value of the fast form, which must be there and must not give up."""
    program = cel.compile(text, ENV)
    given = dict.fromkeys(ENV.variables) | {"object": LIST, "variables": variables}
    values = tuple(given[name] for name in ENV.variables)
    answered = fast(program, values)
    assert answered is not None
    assert answered[0] == program.exactly(values)
    assert answered[1] >= program.cost
    return answered[0]


ORDER = [
    ("object.l.filter(x, x in variables.a)", {"a": ["y"]}, ["a"]),
    ("object.l.exists(x, x == 'q' && x in variables.a)", {"a": ["y"]}, []),
    ("object.l.all(x, x != 'y' || variables.a)", {"a": True}, ["a"]),
    ("variables.a == 'v' ? variables.a : variables.b", {"a": "v", "b": "w"}, ["a"]),
    ("variables.a ? object.l : object.l.filter(x, x in variables.b)", {"a": False, "b": {"z": 1}}, ["a", "b"]),
    ("object.t.startsWith('q') || object.t.startsWith('te') || variables.a", {"a": True}, []),
    ("[object.t].exists(t, t.startsWith('q') || variables.a || t.startsWith('te'))", {"a": False}, ["a"]),
    ("[object.t].exists(t, t.startsWith('q') || t == 'te' || t.startsWith('te'))", {}, []),
]


@pytest.mark.parametrize(("text", "known", "asked"), ORDER)
def test_a_variable_is_asked_for_once_and_not_too_early(text, known, asked):
    """The fast form asks for a variable when the language does, and not again, whatever it is taken out of."""
    variables = Asked(**known)
    run(text, variables)
    fast = variables.names[: len(asked)]
    assert fast == asked
    assert set(variables.names) == set(asked)


STEPS = [
    ("object.l.map(x, object.?m.?k.?u.orValue(0) + object.?m.?k.?v.?w.orValue(0))", [3, 3, 3]),
    ("object.l.map(x, object.?m.?none.?u.orValue(7))", [7, 7, 7]),
    ("object.m.?k.hasValue() ? object.l.map(x, object.m.?k.?u.orValue(0)) : []", [1, 1, 1]),
    ("[object.m].map(m, object.l.map(x, m.?k.?v.orValue({}).size() + m.?k.?v.?w.orValue(5)))", [[3, 3, 3]]),
    ("object.l.filter(x, x == 'no' && object.t.?k.hasValue())", []),
]


@pytest.mark.parametrize(("text", "value"), STEPS)
def test_steps_that_are_shared_give_what_each_would(text, value):
    """An optional step that is written once, or taken out of a loop, gives the exact form's value."""
    assert run(text, Asked()) == value


def test_a_step_is_taken_out_only_where_it_cannot_give_up():
    """Where nothing has shown that the value is a map, the step stays behind the condition that guards it."""
    source = cel.compile("[object.t].map(t, object.l.filter(x, x == 'no' && t.?k.hasValue()))", ENV).source
    loop = source.index("for ", source.index("for ") + 1)
    assert ".get(" not in source[:loop]


def test_a_length_is_looked_at_once():
    """Three questions about one text test its type and length once."""
    text = "object.l.exists(x, x.startsWith('a') || x.endsWith('b') || x.contains('c'))"
    assert cel.compile(text, ENV).source.count("> LONG") == 1


@pytest.mark.parametrize(
    "text", ["object.l.map(x, [x, x]).flatten()", "object.l.filter(x, false).map(x, [x]).flatten()"]
)
def test_lists_are_taken_apart_without_looking_at_each(text):
    """Lists of lists are flattened by the fast form itself, at the price of the exact one."""
    assert run(text, Asked()) == [x for x in LIST["l"] for _ in range(2) if "map(x, [x, x])" in text]
