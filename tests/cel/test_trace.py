"""The tree behind `--trace`, and the command around it."""

import json

import pytest
from click.testing import CliRunner

from webhook import cel
from webhook.cel import trace
from webhook.cel.types import INT
from webhook.cli.commands.policies.eval import eval_command

TEXT = "object.a == 1 && has(object.b) && object.l.all(x, x > 2)"


def step():
    """The trace of the text over a small object."""
    env = cel.validation_env()
    values = dict.fromkeys(env.variables) | {"object": {"a": 1, "l": [3]}}
    return trace.trace(cel.compile(TEXT, env), tuple(values.values()))


def test_clauses_come_first_and_the_deciding_one_is_known():
    """The `&&` clauses are told in order; the one that is false decides, the ones behind it were not evaluated."""
    clauses = trace.clauses(step())
    assert [TEXT[c.start : c.end] for c in clauses] == ["object.a == 1", "has(object.b)", "object.l.all(x, x > 2)"]
    assert [c.decisive for c in clauses] == [False, True, False]
    assert clauses[2].values == ()


def test_parts_are_indented_values():
    """Every evaluated part is in the tree with its value."""
    first = trace.clauses(step())[0]
    assert first.values == (True,)
    assert [TEXT[p.start : p.end] for p in first.parts] == ["object.a"]


def test_command_prints_value_type_and_cost(tmp_path):
    """`sluice eval` reads the object from a file and prints what the expression gave; exit code 0."""
    file = tmp_path / "o.yaml"
    file.write_text("a: 1\nl: [3, 1]\n", encoding="utf-8")
    result = CliRunner().invoke(eval_command, ["object.l.map(x, x + object.a)", "--object", str(file), "-o", "json"])
    assert result.exit_code == 0
    answer = json.loads(result.output)
    assert (answer["type"], answer["cost"]) == ("list(dyn)", 35)
    assert answer["estimate"]["min"] <= 35 < answer["estimate"]["max"] == 2**64 - 1
    text = CliRunner().invoke(eval_command, ["[1, 2].map(x, x + object.a)", "--object", str(file)]).output
    assert text == "[2, 3]   type list(int), cost 33, estimated 51\n"


def test_a_patch_is_shown_as_it_is_written():
    """What `--mutation` makes, without the fields that it does not have."""
    text = '[JSONPatch{op: "add", path: "/x", value: Object.spec{a: 1}}, JSONPatch{op: "move", path: "/x", from: "/y"}]'
    result = CliRunner().invoke(eval_command, ["--mutation", text])
    assert (result.exit_code, result.output.partition("   type")[0]) == (0, text)


def test_command_shows_the_place_of_a_failure(tmp_path):
    """A failing expression exits with 1 and a caret under the part that failed."""
    result = CliRunner().invoke(eval_command, ["1 + object.a"])
    assert result.exit_code == 1
    assert "no such key: a" in result.output


def test_batch_answers_line_by_line(tmp_path):
    """`--batch` writes one answer a row, with the id of the row."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "a", "expr": "1 + 1", "env": "validation"}\n{"id": "b", "expr": "1 +"}\n', encoding="utf-8")
    result = CliRunner().invoke(eval_command, ["--batch", str(rows)])
    first, second = map(json.loads, result.output.splitlines())
    assert first["value"] == {"t": "int", "v": "2"}
    assert (second["ok"], second["stage"]) == (False, "compile")


def test_an_object_is_read_as_the_api_server_reads_it(tmp_path):
    """A quantity written as a number is a text, a limit a request, a null is not there: in a file as in a cluster."""
    file = tmp_path / "pod.yaml"
    container = "{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}"
    file.write_text(
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{hostPID: null, containers: [{container}]}}"
    )
    asked = "object.spec.containers[0].resources.requests"
    text = f"quantity({asked}['nvidia.com/gpu']).isInteger() && !has(object.spec.hostPID)"
    result = CliRunner().invoke(eval_command, [text, "--object", str(file), "-o", "json"])
    assert json.loads(result.output)["value"] == {"t": "bool", "v": True}


def test_parameters_and_the_namespace_are_read_as_the_api_server_keeps_them(tmp_path):
    """They are objects of the cluster, too: a quantity is a text, a null is not there, a namespace has its name."""
    quota = tmp_path / "quota.yaml"
    quota.write_text("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, labels: null}\nspec: {hard: {cpu: 4}}")
    namespace = tmp_path / "namespace.yaml"
    namespace.write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a}")
    text = (
        "quantity(params.spec.hard.cpu).isInteger() && !has(params.metadata.labels)"
        " && namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == 'team-a'"
    )
    given = ["--params", str(quota), "--namespace-object", str(namespace)]
    result = CliRunner().invoke(eval_command, [text, *given, "-o", "json"])
    assert json.loads(result.output)["value"] == {"t": "bool", "v": True}


@pytest.mark.parametrize(
    ("text", "worked"),
    [
        ("a - b", "7 - 3"),
        ("a > 5 ? a - b : b", "7 - 3"),
        ("a < 5 ? a : b + 1", "3 + 1"),
        ("b + (a > 5 ? b : a) * 2", "3 + 3 * 2"),
        ("a > 5 ? 0 : a", "0"),
        ("double(a) / 2.0", "double(7) / 2.0"),
        ("[a, b].exists(x, x > a - b)", "[7, 3].exists(x, 7 > 7 - 3)"),
    ],
)
def test_a_value_is_worked_out(text, worked):
    """Values stand in place of names; of a choice only the branch that was taken is written."""
    program = cel.compile(text, cel.Env(variables={"a": INT, "b": INT}))
    root = trace.trace(program, (7, 3))
    assert trace.worked_out(text, root, lambda part: str(part.values[-1]) if part.values else "") == worked
