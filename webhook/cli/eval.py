"""`sluice eval`: one CEL expression, or a batch of rows."""

from __future__ import annotations

import sys

import click
import orjson

from webhook.cel import answers


@click.command("eval")
@click.argument("expression", required=False)
@click.option("--batch", type=click.File("rb"), help="Read rows as JSON lines (- for stdin), write answers.")
def eval_command(expression: str | None, batch: click.utils.LazyFile | None) -> None:
    """Evaluate a CEL expression as the API server does: value, type, cost."""
    if batch is not None:
        for line in batch:
            if line.strip():
                sys.stdout.buffer.write(orjson.dumps(answers.answer(orjson.loads(line)).answer) + b"\n")
        return
    outcome = answers.answer({"expr": expression, "env": "validation"})
    click.echo(orjson.dumps(outcome.answer).decode())
