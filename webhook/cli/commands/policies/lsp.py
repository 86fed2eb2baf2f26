"""`sluice lsp`: the language server that an editor starts."""

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
    """Language server for editors: findings, types, completion and definitions.

    Speaks the Language Server Protocol over standard input and output.
    """
    try:
        server = importlib.import_module("webhook.editor.server").made()
    except ModuleNotFoundError as error:
        if not str(error.name).startswith(("pygls", "lsprotocol")):
            raise
        click.echo("sluice lsp: pygls is not installed: pip install 'sluice-gate[editor]'", err=True)
        sys.exit(exits.BAD_INPUT)
    server.start_io()
    sys.exit(server.exit_code)
