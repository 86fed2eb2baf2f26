"""Running a command of the CLI in a test, with the handling of mistakes that the group of commands does."""

import signal
import sys
from dataclasses import dataclass

import click
import pytest
from click.testing import CliRunner

from webhook.cli import exits
from webhook.cli import main as command_line
from webhook.diagnostics import SourceError


@dataclass(frozen=True, slots=True)
class Done:
    """What a command left behind."""

    exit_code: int
    stdout: str
    stderr: str


def invoke(command: click.Command, *args: str, stdin: str | None = None) -> Done:
    """Run a command; a SourceError is printed to standard error with exit code 2, as `sluice` does."""
    done = CliRunner().invoke(command, list(args), input=stdin)
    if isinstance(done.exception, SourceError):
        return Done(exits.BAD_INPUT, done.stdout, done.stderr + done.exception.render() + "\n")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


def exit_code_of(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command line as the shell does and give its exit code. Ctrl-C means to the tests what it meant before."""
    monkeypatch.setattr(sys, "argv", ["sluice", *arguments])
    meant = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as end:
            command_line.main()
    finally:
        signal.signal(signal.SIGINT, meant)
    return end.value.code if isinstance(end.value.code, int) else 0
