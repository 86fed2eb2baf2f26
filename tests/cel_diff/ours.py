"""Our answer to a row as `sluice eval --batch` writes it, with the fast form evaluated beside the exact one."""

import signal
from typing import Any

import orjson

from webhook.cel import batch
from webhook.cel.errors import CelError
from webhook.cli.eval_mutation import mutation

JSON = dict[str, Any]
_SECONDS = 30
"""After so long a row counts as one that hangs."""


def answer(row: JSON) -> JSON:
    """The answer to a row; `forms` is there only where the fast form gave something else than the exact one."""
    outcome = batch.answer(row)
    out = outcome.answer
    if outcome.program is not None:
        exact = {"value": out["value"]} if out["ok"] else {"error": out["error"]}
        fast = _fast(outcome)
        if fast != exact:
            out["forms"] = fast
    if out["ok"] and row.get("env") == "mutation" and outcome.type is not None:
        given = row.get("vars") or {}
        obj = given.get("object") if row.get("apply") else None
        out["mutation"] = mutation(outcome.type, outcome.value, obj, given)
    return out


def _fast(outcome: batch.RowAnswer) -> JSON:
    assert outcome.program is not None
    try:
        return {"value": batch.encode(outcome.program.run(outcome.values))}
    except CelError as error:
        return {"error": error.message}


def guarded(line: bytes) -> JSON:
    """The answer to a row written as a line; a crash of ours, or 30 s of processor time for nothing, is one too."""
    try:
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        return answer(orjson.loads(line))
    except Exception as error:  # whatever it is: it differs, and has to be shown
        return {"ok": False, "stage": "crash", "error": f"{type(error).__name__}: {error}"}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _too_long(*_: object) -> None:
    raise TimeoutError("no answer")


def watch() -> None:
    """Let a row that takes too long raise; in the main thread only."""
    signal.signal(signal.SIGPROF, _too_long)
