"""Rows of our own: an expression, and its value, type, cost or error, in both forms."""

import json
from pathlib import Path

import pytest

from webhook import cel

LINES = (Path(__file__).parent / "cases" / "language.jsonl").read_text(encoding="utf-8").splitlines()
CASES = [json.loads(line) for line in LINES]
OBJECT = {"s": "hello", "n": None, "l": [3, 1, 2], "m": {"a": 1, "b": 2}}
ENV = cel.validation_env(typed=False)
VALUES = dict.fromkeys(ENV.variables) | {"object": OBJECT}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["expr"])
def test_case(case):
    """A row gives the value, type and cost it says, or fails where and as it says."""
    if "compile" in case:
        with pytest.raises(cel.CompileError) as caught:
            cel.compile(case["expr"], ENV)
        assert case["compile"] in str(caught.value)
        return
    program = cel.compile(case["expr"], ENV)
    if "error" in case:
        for evaluate in (program.run, program.evaluate):
            with pytest.raises(cel.EvalError) as failed:
                evaluate(VALUES)
            assert failed.value.message == case["error"]
            assert 0 <= failed.value.offset < len(case["expr"])
        return
    assert program.evaluate(VALUES) == case["value"]
    assert program.cost == case.get("cost", program.cost)
    assert program.type.declared() == case.get("type", program.type.declared())
    assert program.run(VALUES) == case["value"]
