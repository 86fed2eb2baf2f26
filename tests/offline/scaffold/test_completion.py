"""`sluice completion` prints a script, and the shells' questions are answered."""

import os
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import BashComplete

from tests.offline.running import invoke
from webhook.cli.group import COMMANDS, Commands, cli


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


def test_the_list_of_commands_loads_none(monkeypatch):
    """A tab after `sluice` is answered from the table: to import every command takes more than a second."""

    def loaded(*args: object) -> None:
        raise AssertionError("a command was loaded")

    monkeypatch.setattr(Commands, "get_command", loaded)
    found = {item.value: item.help for item in BashComplete(cli, {}, "sluice", "X").get_completions([], "")}
    assert found == {name: line for name, (_, line) in COMMANDS.items()}
    options = BashComplete(cli, {}, "sluice", "X").get_completions([], "--v")
    assert [item.value for item in options] == ["--version"]


@pytest.fixture
def path(tmp_path):
    """A PATH on which `sluice` is this checkout's."""
    script = tmp_path / "sluice"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m webhook.cli.main "$@"\n')
    script.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("sluice dry", "dry-run"),
        ("sluice test --min", "--min-coverage"),
        ("sluice test -o j", "json junit"),
        ("sluice generate ", "native schema"),
        ("sluice lint --explain CEL00", "CEL001"),
        ("sluice lint --only LIM,SUI00", "LIM,SUI001 LIM,SUI002 LIM,SUI003"),
        ("sluice serve --mo", "--mode"),
        ("sluice serve --log-level w", "warning"),
        ("sluice crds --kind workloadp", "WorkloadPriorityClass"),
        ("sluice generate schema --kind Sui", "Suite"),
        ("sluice simulate trace.csv --compare kueue+ba", "kueue+backfill kueue+backfill-time"),
    ],
)
@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash here")
def test_bash_completes(path, words, wanted):
    """A real bash that has read the script offers commands, options, their words, and commands of a group."""
    line = words.split(" ")
    script = f"""
        source <(sluice completion bash)
        complete -p sluice > /dev/null || exit 1
        COMP_WORDS=({" ".join(repr(w) for w in line)}); COMP_CWORD={len(line) - 1}
        _sluice_completion sluice "${{COMP_WORDS[COMP_CWORD]}}" ""
        echo "${{COMPREPLY[*]}}"
    """
    done = subprocess.run(["bash", "-c", script], env=path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, wanted), done.stderr


@pytest.mark.parametrize(("shell", "check"), [("zsh", "-n"), ("fish", "--no-execute")])
def test_other_shells_can_read_the_script(path, tmp_path, shell, check):
    """Where zsh or fish is installed, it finds no mistake in its script."""
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell} here")
    script = tmp_path / "script"
    script.write_text(invoke(cli, "completion", shell).stdout)
    subprocess.run([shell, check, str(script)], check=True)
