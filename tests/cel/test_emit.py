"""What generated code leaves out: the same values and no smaller a cost, and odd values go to the exact form."""

import importlib
import pkgutil

import pytest

import webhook.cel
import webhook.policy
from tests.cel.priced import fast
from webhook import cel
from webhook.cel.compose import compose
from webhook.cel.values import JSONPatchValue, ObjectValue

ENV = cel.validation_env(typed=False)
MUTATION = cel.mutation_env()
POD = {
    "spec": {"containers": [{"name": "a", "n": 1, "resources": {"limits": {"cpu": "1", "gpu": 2}}}, {"name": "b"}]},
    "odd": [1],
    "huge": ["x" * 257],
    "texts": ["x", "y", "x"],
    "mixed": [1, 1.0, "1", True],
    "long": ["x" * 256, "x" * 255],
    "nested": [["x"], [], ["y", ["z"]]],
}


def both(text, env=ENV, **variables):
    """What the fast form gives, None where it leaves; the exact form's value and cost are asserted."""
    program = cel.compile(text, env)
    given = dict.fromkeys(env.variables) | {"object": POD} | variables
    values = tuple(given[name] for name in env.variables)
    answered = fast(program, values)
    if answered is None:
        return None
    assert answered[0] == program.exactly(values)
    assert program.cost <= answered[1]
    assert program.call(*values) == answered[0]
    return answered[0]


ALIKE = [
    ("object.spec.containers.map(c, c.?resources.?limits.orValue({}).map(k, k))", [["cpu", "gpu"], []]),
    ("object.spec.containers.map(c, c.?resources.?limits[?c.name].orValue('none'))", ["none", "none"]),
    ("object.texts.map(t, object.spec.containers[0].resources.limits[?t].hasValue())", [False] * 3),
    ("object.spec.containers.map(c, c.?resources.?limits.hasValue())", [True, False]),
    (
        "object.spec.containers.map(c, c.?resources.hasValue() && c.?resources.?limits.orValue({}).size() > 1)",
        [True, False],
    ),
    ("object.spec.containers[0].resources.limits.transformMap(k, v, k != 'cpu', string(v))", {"gpu": "2"}),
    ("object.spec.containers.filter(c, c.name == 'a').map(c, string(c.n) + string(c.name))", ["1a"]),
    ("object.?none.orValue([]) + object.texts", ["x", "y", "x"]),
    ("object.texts + object.?none.orValue([])", ["x", "y", "x"]),
    ("object.texts.filter(t, t != 'y') + object.texts.filter(t, t == 'y')", ["x", "x", "y"]),
    ("(object.texts.map(t, t) + ['z']).filter(t, t.startsWith('z'))", ["z"]),
    ("object.texts.distinct()", ["x", "y"]),
    ("object.mixed.distinct()", [1, "1", True]),
    ("[object.texts[0]].distinct()", ["x"]),
    ("object.nested.flatten()", ["x", "y", ["z"]]),
    ("object.nested.flatten(2)", ["x", "y", "z"]),
    ("object.texts.flatten(3)", ["x", "y", "x"]),
    ("object.texts.map(t, [t]).flatten()", ["x", "y", "x"]),
    ("oldObject == null", True),
    ("object == null || object != null", True),
    ("object.texts.map(t, {t: t}.size())", [1, 1, 1]),
    ("[optional.of(object.texts[0]), optional.none()].filter(o, o.hasValue()).map(o, o.value() + o.value())", ["xx"]),
    ("object.texts.map(t, object.texts.filter(u, u != t))", [["y"], ["x", "x"], ["y"]]),
    ("object.long.map(t, object.long.map(u, u == t))", [[True, False], [False, True]]),
    ("object.mixed.map(t, object.mixed.filter(u, u == t).size())", [2, 2, 1, 1]),
    (
        "object.spec.containers.map(c, [?c.?resources, ?c.?none]).flatten().map(r, r.limits.filter(k, k == 'gpu'))",
        [["gpu"]],
    ),
    ("[object.texts[0], object.texts[1]].map(t, [t, t]).flatten()", ["x", "x", "y", "y"]),
    ("object.spec.containers[0].resources.limits.filter(k, k.startsWith('g'))", ["gpu"]),
    ("object.texts.filter(k, k.startsWith('x'))", ["x", "x"]),
    ("string(string(object.texts[0])) == object.texts[0]", True),
    ("object.texts.map(t, string(t)).join(',')", "x,y,x"),
    ("quantity(string(object.spec.containers[0].n)).isInteger()", True),
    ("quantity(string(object.odd[0])).compareTo(quantity(string(object.spec.containers[0].n)))", 0),
]


@pytest.mark.parametrize(("text", "value"), ALIKE)
def test_both_forms_give_the_same(text, value):
    """What is shared, tested once or written out gives the exact form's value, at no smaller a cost."""
    assert both(text) == value


ODD = [
    "object.?odd.orValue({}).size() == 1",
    "object.?spec.orValue([]).size() == 1",
    "{1: 'a'}.map(k, k) == [1]",
    "{1: 'a'}.transformMap(k, v, k) == {1: 1}",
    "object.?odd.?none.hasValue()",
    "object.odd[?'x'].hasValue()",
    "object.texts.map(t, object.odd[?t])",
    "object.mixed.filter(k, k.startsWith('x')) == []",
    "[dyn(optional.of(type(1)))].map(x, x)",
    "[dyn(optional.of(type(object.odd)))].exists(x, x == optional.of('list'))",
    "{'a': dyn(optional.of(type(object.odd)))}.transformMap(k, v, v)",
    "[dyn([optional.of(type(1))])].map(x, x.map(y, y))",
    "object.huge.map(t, object.huge.map(u, u == t)) == [[true]]",
]


@pytest.mark.parametrize("text", ODD)
def test_what_is_not_as_expected_is_left_to_the_exact_form(text):
    """A list where a default says map, keys that are no texts, and steps into what is no map are not answered fast."""
    assert both(text) is None


class Known:
    """The variables of a policy, all of them computed."""

    def __init__(self, **known):
        self.cel_find = known.get


DECLARED = [{"name": "texts", "expression": "object.texts.map(t, string(t))"}, {"name": "sure", "expression": "1 == 1"}]


@pytest.mark.parametrize(
    ("text", "sure", "texts", "value"),
    [
        ("variables.texts.exists(t, t == 'x')", True, ["x"], True),
        ("variables.sure && variables.texts.size() == 1", True, ["x"], True),
        ("variables.sure ? 'a' in variables.texts : 'b' in variables.texts", False, ["b"], True),
        ("variables.texts.exists(t, t == 'x')", True, {"x": 1}, None),
        ("variables.texts.exists(t, t == 'x')", True, [1], None),
        ("variables.texts.exists(t, t in variables.texts && 't' in variables.texts)", True, {"t": 1}, None),
        ("variables.sure || variables.texts.size() == 1", "sure", [], None),
    ],
)
def test_variables_are_of_the_type_that_was_found(text, sure, texts, value):
    """What a variable certainly is comes from its expression; another value is left to the exact form."""
    env, _ = compose(ENV, DECLARED)
    assert both(text, env, variables=Known(sure=sure, texts=texts)) is value


def test_a_path_is_stepped_through_once():
    """Two expressions that begin alike share the steps, each of which is charged."""
    program = cel.compile("object.spec.a == object.spec.b || object.spec.a == 'x'", ENV)
    assert program.source.count("v0[") == 1
    twice = cel.compile("object.spec.a == 'x' || object.spec.a == 'y'", ENV)
    assert twice.source.count("[k") == 2
    assert both("object.spec.containers == object.spec.containers") is True


def test_a_path_is_not_stepped_through_early():
    """What stands behind `&&` or in a branch is not looked at before."""
    assert both("!has(object.a) || object.a.b == object.a.c") is True
    assert both("has(object.a) ? object.a.b + object.a.b : 'none'") == "none"


def test_objects_of_mutations_are_whole():
    """Objects and operations whose parts are set one by one are those that their classes make."""
    made = both("Object{spec: Object.spec{a: object.texts[0]}}", MUTATION)
    assert made == ObjectValue("Object", {"spec": ObjectValue("Object.spec", {"a": "x"})})
    for text, op in (
        ("JSONPatch{op: 'add', path: '/a', value: object.texts}", JSONPatchValue("add", "/a", "", POD["texts"])),
        ("JSONPatch{op: 'move', path: '/a', from: '/b'}", JSONPatchValue("move", "/a", "/b")),
    ):
        program = cel.compile(f"object.texts.map(t, {text})", MUTATION)
        assert "new(JSONPatchValue)" in program.source or "from" in text
        assert both(f"object.texts.map(t, {text})", MUTATION) == [op] * 3


def classes():
    """Every class of the language and of policies."""
    for package in (webhook.cel, webhook.policy):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            found = vars(importlib.import_module(module.name)).values()
            yield from (c for c in found if isinstance(c, type) and c.__module__ == module.name)


def test_only_maps_have_a_method_get():
    """Generated code steps into a value by `get` without asking what it is."""
    plain = (str, int, float, bool, bytes, type(None), list, tuple, frozenset)
    assert [c for c in (*plain, *classes()) if hasattr(c, "get") and not issubclass(c, dict)] == []


def test_a_budget_is_told_what_it_cost_at_most():
    """A call within a budget adds its bound, and one without is answered exactly."""
    program = cel.compile("object.texts.exists(t, t == 'y')", ENV)
    values = tuple((dict.fromkeys(ENV.variables) | {"object": POD}).values())
    budget = cel.Budget()
    assert program.metered(values, budget) is True
    assert budget.uncounted >= program.spent(values)
    assert program.metered(values, None) is True
    tight = cel.Budget(call_limit=1)
    with pytest.raises(cel.EvalError, match="cost limit exceeded"):
        program.metered(values, tight)
