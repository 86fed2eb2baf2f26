"""`sluice completion` prints a script, and the shells' questions are answered."""

import os
import subprocess
import sys

import pytest

from tests.offline.running import invoke
from webhook.cli.main import cli


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_printed(shell):
    """The script names the command and the variable that asks it for completions."""
    done = invoke(cli, "completion", shell)
    assert done.exit_code == 0
    assert "_SLUICE_COMPLETE" in done.stdout
    assert "sluice" in done.stdout


def test_commands_are_completed():
    """Asked as bash asks, the command line gives the commands that begin so."""
    env = {**os.environ, "_SLUICE_COMPLETE": "bash_complete", "COMP_WORDS": "sluice dry", "COMP_CWORD": "1"}
    command = [sys.executable, "-m", "webhook.cli.main"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert "plain,dry-run" in done.stdout
