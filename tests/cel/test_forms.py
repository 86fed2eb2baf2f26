"""The fast form gives what the exact one gives, for what it has a short way of its own for."""

import pytest

from webhook import cel
from webhook.cel.batch import encode

VALUES = {
    "object": {
        "l": ["a", "b", "a"],
        "m": {"x": 1, "y": "z"},
        "n": None,
        "names": ["a", 1, True, 1.5, "x" * 300],
        "empty": [],
        "nested": [["a"], [], ["b", "c"]],
        "odd": ["a", ["b"]],
    }
}
ENV = cel.mutation_env(typed=False)
TEXTS = [
    "object.l.map(x, x)",
    "object.m.map(x, x)",
    "object.l.map(x, x == 'a', x)",
    "[optional.of(1), optional.none()].map(x, x)",
    "{1: 'a', 'b': 2, true: 3}.map(x, x).size()",
    "{1: 'a', 'b': 2, true: 3}.transformMap(k, v, v)",
    "{1: 'a', true: object.l}.map(x, type(x))",
    "object.names.map(x, string(x))",
    "string(object.l)",
    "string(object.n)",
    "object.l + object.empty",
    "object.empty + object.l",
    "object.l + object.l",
    "object.l + object.m",
    "object.nested.flatten()",
    "object.odd.flatten()",
    "object.l.distinct()",
    "object.n.distinct()",
    "{'a': object.l, 'b': object.m}",
    "{'a': object.l, 'a': object.m}",
    "{'a': object.l, ?'b': object.?nothing}",
    "{object.l[0]: 1, 'a': 2}",
    "Object{spec: Object.spec{a: object.l.map(x, {'k': x}), b: object.m}}",
    "Object{spec: Object.spec{?a: object.?nothing, b: 1}}",
    "Object{spec: Object.spec{a: object.nothing}}",
    "[JSONPatch{op: 'add', path: '/a', value: {'x': object.l}}]",
]


def outcome(evaluate):
    """The value, or the error's message."""
    try:
        return evaluate(dict.fromkeys(ENV.variables) | VALUES)
    except cel.EvalError as error:
        return f"error: {error.message}"


@pytest.mark.parametrize("text", TEXTS)
def test_forms_agree(text):
    """Value, types within it, and error are those of the exact form."""
    try:
        program = cel.compile(text, ENV)
    except cel.CompileError:
        program = cel.compile(text, cel.Env(dict.fromkeys(ENV.variables, cel.types.DYN), checked=False))
    fast, exact = outcome(program.run), outcome(program.evaluate)
    assert fast == exact
    assert encode(fast) == encode(exact)
