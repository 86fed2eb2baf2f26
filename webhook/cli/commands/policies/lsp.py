"""`sluice lsp`: what an editor starts to be told of policies while they are written."""

from __future__ import annotations

import importlib
import sys
from typing import Final

import click

from webhook.cli import exits

EXAMPLES: Final = """\b
Examples:
  sluice lsp        started by an editor: see docs/how-to/editors.md
"""


@click.command(epilog=EXAMPLES)
def lsp() -> None:
    """Serve an editor: findings, types, completion and definitions.

    Speaks the Language Server Protocol over standard input and output.
    """
    try:
        server = importlib.import_module("webhook.editor.server")
    except ModuleNotFoundError as error:
        if not str(error.name).startswith(("pygls", "lsprotocol")):
            raise
        click.echo("sluice lsp: pygls is not installed; install sluice with the extra editor", err=True)
        sys.exit(exits.BAD_INPUT)
    server.made().start_io()
