"""Our answer to a row as `sluice eval --batch` writes it, with the fast form evaluated beside the exact one."""

from typing import Any

from webhook.cel import answers
from webhook.cel.compose import Variables, compose
from webhook.cel.errors import CelError, CompileError
from webhook.cel.program import compile
from webhook.cli.eval_mutation import mutation

JSON = dict[str, Any]


def answer(row: JSON) -> JSON:
    """The answer to a row; `forms` is there only where the fast form gave something else than the exact one."""
    outcome = answers.answer(row)
    out = outcome.answer
    if out["stage"] != "compile" and (fast := _fast(row)) is not None:
        exact = {"value": out["value"]} if out["ok"] else {"error": out["error"]}
        if fast != exact:
            out["forms"] = fast
    if out["ok"] and row.get("env") == "mutation" and outcome.type is not None:
        given = row.get("vars") or {}
        out["mutation"] = mutation(
            outcome.type, outcome.value, given.get("object") if row.get("apply") else None, given
        )
    return out


def _fast(row: JSON) -> JSON | None:
    """What the fast form gives: `value` or `error`; None where a row has none."""
    env = answers.environment(row)
    composed: Variables | None = None
    if row.get("decl") == "vap":
        env, composed = compose(env, row.get("variables") or ())
    try:
        program = compile(str(row["expr"]), env)
    except CompileError:
        return None
    values = answers.variables(row, env)
    if composed is not None:
        values["variables"] = composed.bind(values)
    try:
        return {"value": answers.encode(program.run(values))}
    except CelError as error:
        return {"error": error.message}
