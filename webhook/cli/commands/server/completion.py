"""`sluice completion`: the script that completes commands and options in a shell."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import ShellComplete, get_completion_class

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
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes sluice in SHELL."""
    found = get_completion_class(shell)
    assert found is not None
    click.echo(ShellComplete.source(found(ctx.find_root().command, {}, "sluice", VARIABLE)))
