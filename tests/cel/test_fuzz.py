"""Random text and random expressions: always a value or an error of ours, the same from both forms."""

from hypothesis import given, settings
from hypothesis import strategies as st

from webhook import cel
from webhook.cel import batch

ENV = cel.validation_env(typed=False)
OBJECT = {"i": 3, "s": "abc", "n": None, "l": [1, 2], "m": {"a": 1}, "f": 1.5, "t": True, "lm": [{"v": 1}, {"v": "x"}]}
VALUES = dict.fromkeys(ENV.variables) | {"object": OBJECT}
NAMES = [f"object.{n}" for n in OBJECT] + ["object.zz", "oldObject", "oldObject.a"]
LEAVES = st.sampled_from(
    [*NAMES, "1", "-1", "0", "1.5", "2u", "'a'", "''", "true", "false", "null", "[]", "{}", "b'x'"]
)
BINARY = ["==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "&&", "||", "in"]
SHAPES = [
    "!({0})",
    "-({0})",
    "[{0}, {1}]",
    "{{'k': {0}}}",
    "({0})[{1}]",
    "({0})[?{1}]",
    "({0}).a",
    "({0}).?a",
    "has(({0}).a)",
    "({0}) ? ({1}) : ({2})",
    "size({0})",
    "string({0})",
    "int({0})",
    "dyn({0})",
    "type({0})",
    "({0}).all(x, {1} == x)",
    "({0}).map(x, x)",
    "({0}).filter(x, x == {1})",
    "({0}).exists(k, v, v == {1})",
    "optional.of({0})",
    "({0}).orValue({1})",
    "({0}).optMap(x, x == {1})",
    "({0}).startsWith({1})",
    "({0}).transformMap(k, v, {1})",
    "({0}).contains({1})",
]


def nested(inner):
    """An expression made of smaller ones."""
    shaped = st.builds(lambda shape, a, b, c: shape.format(a, b, c), st.sampled_from(SHAPES), inner, inner, inner)
    return shaped | st.builds(lambda a, op, b: f"({a}) {op} ({b})", inner, st.sampled_from(BINARY), inner)


EXPRESSIONS = st.recursive(LEAVES, nested, max_leaves=8)


def compiled(text):
    """The program of a text, or its issues."""
    try:
        return cel.compile(text, ENV)
    except cel.CompileError as error:
        return error.issues


def outcome(evaluate):
    """The tagged value, or the error."""
    try:
        return batch.encode(evaluate(VALUES))
    except cel.CelError as error:
        return error.message


@settings(max_examples=400, deadline=None)
@given(EXPRESSIONS)
def test_forms_agree(text):
    """Whatever compiles gives the same value or error in the fast and in the exact form."""
    program = compiled(text)
    if isinstance(program, cel.Program):
        assert outcome(program.run) == outcome(program.evaluate)
    else:
        assert program


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab.?:()[]{}'\"\\+-*/%<>=!&|,0123456789uxe \n\t`é\U0001f600", max_size=60))
def test_any_text_compiles_or_is_refused(text):
    """No text ends in anything but a program or a CompileError."""
    program = compiled(text)
    assert program.text == text if isinstance(program, cel.Program) else program
