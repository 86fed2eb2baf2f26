"""Generated source: the same input gives the same text, and no text of the policy is in it."""

from pathlib import Path

import pytest

from webhook import cel

GOLDEN = Path(__file__).parent / "golden"
E1 = (
    "object.spec.template.spec.containers.all(c, !has(c.resources) || !has(c.resources.limits) || "
    "!('nvidia.com/gpu' in c.resources.limits) || quantity(c.resources.limits['nvidia.com/gpu']).isInteger())"
)
CASES = {
    "gpu_is_whole": E1,
    "queue_name": "object.metadata.?labels[?'kueue.x-k8s.io/queue-name'].orValue('') != ''",
    "names": "object.spec.containers.map(c, c.name).filter(n, n.startsWith('m')).size() > 0",
}


@pytest.mark.parametrize("name", CASES)
def test_source_is_the_golden_one(name):
    """The source of a known expression is byte for byte the one in the golden file."""
    source = cel.compile(CASES[name], cel.validation_env()).source
    assert source == (GOLDEN / f"{name}.py.txt").read_text(encoding="utf-8")


def test_source_is_deterministic():
    """Compiling twice gives the same source."""
    assert cel.compile(E1, cel.validation_env()).source == cel.compile(E1, cel.validation_env()).source


def test_policy_text_is_never_source():
    """Names and literals of the policy do not show up in the generated source."""
    text = "object.evil_name == 'import os' || object['__class__'] == 'x' || object.l.exists(wicked, wicked == 1)"
    source = cel.compile(text, cel.validation_env()).source
    assert source
    for word in ("evil_name", "import", "__class__", "wicked"):
        assert word not in source


INDEX = "unsupported index type 'string' in list"


def said(program, values):
    """The value of a program, or the text of its error."""
    try:
        return program.run(values)
    except cel.EvalError as error:
        return error.message


def test_python_cannot_be_reached():
    """Attributes of Python values are no fields: neither form shows them."""
    env = cel.validation_env(typed=False)
    values = dict.fromkeys(env.variables) | {"object": {"a": []}}
    for text in ("object.__class__", "object.a.append", "object.keys", "object.?__class__.hasValue()"):
        assert said(cel.compile(text, env), values) in (False, "no such key: __class__", "no such key: keys", INDEX)
