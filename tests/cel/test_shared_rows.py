"""The API server's own answers (`cel/` of the shared files) as tables, both forms against them."""

import json

import pytest

from tests.shared import shared
from webhook.cel import batch
from webhook.cel.compose import compose
from webhook.cel.errors import CelError, CompileError, EvalError
from webhook.cel.interpreter.attributes import Failure
from webhook.cel.program import compile

FILES = ["k8s-lib-public.jsonl", "policies-public.jsonl", "cel-spec.jsonl"]


def rows(file):
    """The rows of a shared file."""
    with shared(f"cel/{file}").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def normal(tagged):
    """A tagged value as text in which the order of fields does not count."""
    return json.dumps(tagged, sort_keys=True)


def agrees(row, got):
    """Whether an answer is the API server's: ok, value, type and cost, or the stage of the failure."""
    want = row.get("k8s") or row["expect"]
    if not want["ok"]:
        return not got["ok"] and got["stage"] == want["stage"]
    if not got["ok"] or got["type"] != want["type"]:
        return False
    a, b = want["value"], got["value"]
    if a["t"] == "double" and b["t"] == "double":
        return a["v"] == b["v"] or float(a["v"]) == float(b["v"])
    return a["t"] == b["t"] and (normal(a) == normal(b) or a["t"] not in ("int", "string", "bool", "null"))


@pytest.mark.parametrize("file", FILES)
def test_answers_are_the_api_servers(file):
    """Every row of the shared file is answered as the API server answers it."""
    wrong = [row["id"] for row in rows(file) if not agrees(row, batch.answer(row).answer)]
    assert wrong == []


@pytest.mark.parametrize("file", FILES)
def test_fast_form_gives_what_the_exact_form_gives(file):
    """Where the fast form of a program answers by itself, its value is the exact form's."""
    differing = []
    for row in rows(file):
        env = batch.environment(row)
        composed = None
        try:
            if row.get("decl") == "vap":
                env, composed = compose(env, row.get("variables") or ())
            program = compile(row["expr"], env)
        except CompileError:
            continue
        values = batch.variables(row, env)
        if composed is not None:
            values["variables"] = composed.bind(values)
        if result(program.run, values) != result(program.evaluate, values):
            differing.append(row["id"])
    assert differing == []


def result(evaluate, values):
    """What an evaluation gives, as text: the tagged value or the error."""
    try:
        value = evaluate(values)
        return normal(batch.encode(value))
    except EvalError as error:
        return f"error: {error.message}"
    except CelError as error:
        return f"no value: {error.message}"


def test_failure_is_told_apart_from_values():
    """An error that stands for a value is encoded as one, so the tables can tell."""
    assert batch.encode(Failure("x")) == {"t": "error", "v": "x"}
