"""`sluice completion`: the script by which a shell completes commands and options."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import ShellComplete, get_completion_class

from webhook.cli.option_types import Words

SHELLS: Final = ("bash", "zsh", "fish")
VARIABLE: Final = "_SLUICE_COMPLETE"
EXAMPLES: Final = """\b
Examples:
  source <(sluice completion bash)                                 this shell
  sluice completion bash > ~/.local/share/bash-completion/completions/sluice
  sluice completion zsh > "${fpath[1]}/_sluice"
  sluice completion fish > ~/.config/fish/completions/sluice.fish
"""


@click.command(name="completion", epilog=EXAMPLES)
@click.argument("shell", type=Words(SHELLS))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print a completion script for SHELL."""
    found = get_completion_class(shell)
    assert found is not None
    click.echo(ShellComplete.source(found(ctx.find_root().command, {}, "sluice", VARIABLE)))
