"""`sluice eval`: one CEL expression against an object, or a batch of rows: value, type and cost."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click
import orjson

from webhook import cel
from webhook.cel import trace
from webhook.cel.batch import answer as answer_row
from webhook.cel.batch import encode
from webhook.cel.interpreter.attributes import Failure
from webhook.cel.ranges import Estimate
from webhook.cli import exits
from webhook.cli.eval_mutation import mutation
from webhook.cli.inputs import json_lines, one_value
from webhook.cli.option_types import FILE, ROWS, output_option
from webhook.diagnostics import Diagnostic, Place, SourceError
from webhook.jobs.normalise import normalise
from webhook.offline.dryrun.requests import ResourceScopes, Sender, received
from webhook.offline.lint.hints import with_hint

EXAMPLES: Final = """\b
Examples:
  sluice eval 'quantity("500m").isInteger()'
  sluice eval 'object.spec.replicas > 3' --object deployment.yaml --trace
  sluice eval --mutation 'Object{spec: Object.spec{replicas: 3}}' --object d.yml
"""


@click.command("eval", epilog=EXAMPLES)
@click.argument("expression", required=False)
@click.option("--object", "object_", type=FILE, help="File of the object (YAML or JSON).")
@click.option("--old-object", type=FILE, help="File of the object before an update.")
@click.option("--params", type=FILE, help="File of the policy's parameters.")
@click.option("--request", type=FILE, help="File of the admission request.")
@click.option("--namespace-object", type=FILE, help="File of the Namespace.")
@click.option("--mutation", "mutates", is_flag=True, help="Use the environment of mutating policies.")
@click.option(
    "--trace", "traced", is_flag=True, help="Show the value of each part of the expression, the clauses first."
)
@output_option("text", "json")
@click.option(
    "--batch",
    type=ROWS,
    metavar="FILE",
    help="Evaluate rows: JSON lines in (- for standard input), one answer per line.",
)
def eval_command(expression: str | None, batch: str | None, output: str, traced: bool, **options: Any) -> None:
    """Evaluate a CEL expression as the API server does: value, type, cost and estimated cost.

    Exit code 0: it has a value, 1: it does not compile, or fails.
    """
    if batch is not None:
        for place, row in json_lines(batch):
            sys.stdout.buffer.write(_line(_checked(row, place)) + b"\n")
        sys.stdout.buffer.flush()
        return
    if expression is None:
        raise click.UsageError("an expression or --batch is required")
    mutates = bool(options.pop("mutates"))
    files = {"object": options["object_"], "oldObject": options["old_object"], "params": options["params"]}
    files |= {"request": options["request"], "namespaceObject": options["namespace_object"]}
    values = {name: _read(file) for name, file in files.items()}
    values |= {name: _as_sent(values[name]) for name in ("object", "oldObject", "params", "namespaceObject")}
    sys.exit(_single(expression, values, mutates=mutates, traced=traced, as_json=output == "json"))


def _read(file: Path | None) -> object:
    """The one document of a file, null where there is no file."""
    if file is None:
        return None
    return one_value(file)


def _as_sent(value: object) -> object:
    """Return an object of a file as Sluice hands it to a policy; a value that names no kind as it is."""
    if isinstance(value, dict) and isinstance(value.get("kind"), str) and isinstance(value.get("apiVersion"), str):
        return normalise(received(value, ResourceScopes(), Sender()))
    return value


def _checked(row: dict[str, Any], place: Place) -> dict[str, Any]:
    """Answer one row. Raises SourceError where it is not one."""
    if not isinstance(row.get("expr"), str) or not isinstance(row.get("vars") or {}, dict):
        hint = 'a row is {"expr": "object.x > 1", "vars": {"object": {...}}}'
        raise SourceError([Diagnostic("INP001", place, "a row requires expr; vars must be a map", hint=hint)])
    if row.get("apply") and not isinstance((row.get("vars") or {}).get("object"), dict | None):
        raise SourceError([Diagnostic("INP001", place, "a row with apply requires vars.object to be a map")])
    return _answer(row)


def _line(answer: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(answer)
    except TypeError:
        # A whole number beyond 64 bits, which a mutation may write.
        return json.dumps(answer).encode()


def _answer(row: Mapping[str, Any]) -> dict[str, Any]:
    outcome = answer_row(row)
    if outcome.answer["ok"] and row.get("env") == "mutation" and outcome.type is not None:
        obj = (row.get("vars") or {}).get("object") if row.get("apply") else None
        outcome.answer["mutation"] = mutation(outcome.type, outcome.value, obj, row.get("vars") or {})
    return outcome.answer


def _single(text: str, values: Mapping[str, object], *, mutates: bool, traced: bool, as_json: bool) -> int:
    env = cel.mutation_env() if mutates else cel.validation_env()
    given = {name: values.get(name) for name in env.variables}
    try:
        program = cel.compile(text, env)
    except cel.CompileError as error:
        _print({"ok": False, "stage": "compile", "error": str(error)}, as_json=as_json)
        if not as_json:
            _print_hints(error)
        return exits.FAILED
    try:
        value: object = program.evaluate(given)
        answer = {"ok": True, "value": encode(value), "type": program.type.declared(), "cost": program.cost}
    except cel.EvalError as error:
        answer = {"ok": False, "stage": "run", "error": error.message, "offset": error.offset, "cost": program.cost}
        answer["type"] = program.type.declared()
    estimate = program.estimate
    answer["estimate"] = {"min": estimate.min, "max": estimate.max}
    if traced:
        step = trace.trace(program, tuple(given.values()))
        answer["trace"] = _lines(text, step)
    _print(answer, as_json=as_json, text=text)
    return exits.PASSED if answer["ok"] else exits.FAILED


def _print_hints(error: cel.CompileError) -> None:
    """Print what `sluice lint` would propose, once each."""
    found = (Diagnostic("CEL001", Place("<input>"), issue.message, source=error.text) for issue in error.issues)
    for hint in dict.fromkeys(with_hint(finding, ()).hint for finding in found):
        if hint:
            click.echo(f"    = {hint}", err=True)


def _print(answer: dict[str, Any], *, as_json: bool, text: str = "") -> None:
    if as_json:
        click.echo(orjson.dumps(answer, option=orjson.OPT_INDENT_2).decode())
        return
    for line in answer.get("trace", ()):
        click.echo(line)
    if answer["ok"]:
        estimated = Estimate(**answer["estimate"])
        click.echo(f"{shown(answer['value'])}   type {answer['type']}, cost {answer['cost']}, estimated {estimated}")
        return
    click.echo(f"{answer['error']}", err=True)
    if (offset := answer.get("offset", -1)) >= 0:
        line = text.count("\n", 0, offset)
        column = offset - (text.rfind("\n", 0, offset) + 1)
        click.echo(f"    {text.splitlines()[line]}\n    {' ' * column}^", err=True)


def _lines(text: str, step: trace.TracedPart) -> list[str]:
    """The clauses, the one that decided marked; then every part, indented under what it is part of."""
    out = []
    clauses = trace.clauses(step)
    if len(clauses) > 1:
        for clause in clauses:
            mark = "->" if clause.decisive else "  "
            out.append(f"{mark} {_values(clause):<12} {text[clause.start : clause.end]}")
        out.append("")
    _tree(text, step, 0, out)
    out.append("")
    return out


def _tree(text: str, step: trace.TracedPart, depth: int, out: list[str]) -> None:
    if step.values:
        out.append(f"{'  ' * depth}{text[step.start : step.end]} = {_values(step)}")
    for part in step.parts:
        _tree(text, part, depth + 1, out)


def _values(step: trace.TracedPart) -> str:
    if not step.values:
        return "not evaluated"
    return ", ".join(f"error: {v.message}" if isinstance(v, Failure) else shown(encode(v)) for v in step.values)


def shown(tagged: Mapping[str, Any]) -> str:
    """A tagged value as a person reads it, near to how CEL writes it."""
    value = tagged.get("v")
    match tagged["t"]:
        case "null":
            return "null"
        case "bool":
            return "true" if value else "false"
        case "uint":
            return f"{value}u"
        case "string":
            return orjson.dumps(value).decode()
        case "list":
            return f"[{', '.join(map(shown, value or ()))}]"
        case "map":
            return f"{{{', '.join(f'{shown(k)}: {shown(v)}' for k, v in value or ())}}}"
        case "object":
            return f"{tagged['n']}{{{', '.join(f'{k}: {shown(v)}' for k, v in value or ())}}}"
        case "optional":
            return f"optional({shown(value)})" if value is not None else "optional.none()"
        case "duration":
            return f"duration({int(str(value)) / 1e9:g}s)"
        case "JSONPatch":
            fields = {
                k: v if isinstance(v, dict) else {"t": "string", "v": v} for k, v in dict(value or {}).items() if v
            }
            return f"JSONPatch{{{', '.join(f'{k}: {shown(v)}' for k, v in fields.items() if v['t'] != 'nil')}}}"
        case "int" | "double":
            return str(value)
        case tag:
            return f"{tag}({value})"
