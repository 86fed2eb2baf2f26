"""The checker: every issue is found, each at its place, in cel-go's words."""

import pytest

from webhook import cel

ENV = cel.validation_env()


def test_all_issues_are_collected():
    """Three mistakes in one text are three issues, in the order of the text."""
    with pytest.raises(cel.CompileError) as caught:
        cel.compile("foo + 1 == bar && request.kinds == 'x'", ENV)
    assert [i.offset for i in caught.value.issues] == [0, 11, 25]


def test_caret_stands_under_the_mistake():
    """The text of an error shows the line and a caret, as cel-go prints them."""
    with pytest.raises(cel.CompileError) as caught:
        cel.compile("true &&\n  request.kinds == 'x'", ENV)
    assert str(caught.value) == (
        "compilation failed: ERROR: <input>:2:10: undefined field 'kinds'\n |   request.kinds == 'x'\n | .........^"
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[]", "list(dyn)"),
        ("[1, 2].map(x, string(x))", "list(string)"),
        ("{'a': [1]}", "map(string, list(int))"),
        ("optional.of(1)", "optional_type(int)"),
        ("object.a", "dyn"),
        ("request.userInfo.groups", "list(string)"),
        ("timestamp('2024-01-01T00:00:00Z') - timestamp('2023-01-01T00:00:00Z')", "google.protobuf.Duration"),
        ("type(1)", "type(int)"),
        ("quantity('1')", "kubernetes.Quantity"),
        ("true ? [] : [1]", "list(int)"),
    ],
)
def test_type_of_the_whole(text, wanted):
    """An expression has the type cel-go finds for it."""
    assert cel.compile(text, ENV).type.declared() == wanted


def test_mutation_types_are_known_only_to_mutations():
    """`Object{}` compiles in the environment of mutations and nowhere else."""
    assert cel.compile("Object{spec: Object.spec{a: 1}}", cel.mutation_env()).type.name == "Object"
    with pytest.raises(cel.CompileError):
        cel.compile("Object{}", ENV)
