"""`--help` of every command: what it does, with examples whose options there are."""

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile

import click
import pytest
from click.testing import CliRunner

from webhook.cli.group import cli


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command of the tree, with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


ALL = list(commands(cli))


def examples(command: click.Command) -> list[str]:
    """The lines of examples in the help, from the command's name on."""
    lines = (command.epilog or "").partition("Examples:\n")[2].splitlines()
    found = (re.search(r"\bsluice .*", line) for line in lines if not line.lstrip().startswith("#"))
    return [match[0] for match in found if match]


@pytest.mark.parametrize(("path", "command"), ALL, ids=[" ".join(path) for path, _ in ALL])
def test_help_has_examples(path, command):
    """The help prints, each option has a word, and there are examples of the command itself."""
    done = CliRunner().invoke(cli, [*path, "--help"])
    assert (done.exit_code, "Examples:" in done.stdout) == (0, True), done.output
    assert any(line.startswith(f"sluice {' '.join(path)}") for line in examples(command))
    assert [line for line in (command.epilog or "").splitlines() if len(line) > 80] == []
    assert command.help


@pytest.mark.parametrize(("path", "command"), ALL, ids=[" ".join(path) for path, _ in ALL])
def test_examples_are_calls_that_the_parser_takes(path, command):
    """Each example's options and arguments are those of the command it names; nothing is run."""
    for line in examples(command):
        words = list(takewhile(lambda word: word not in ("|", ">"), shlex.split(re.split(r"\s{2,}", line)[0])))
        at, group = 1, cli
        while isinstance(group, click.Group) and at < len(words):
            group = group.get_command(click.Context(cli), words[at].rstrip(")"))
            assert group is not None, line
            at += 1
        absent = ""
        try:
            group.make_context(line, [word.rstrip(")") if ")" in words[-1] else word for word in words[at:]])
        except click.exceptions.Exit:
            pass  # an option such as --version has its say at once
        except click.BadParameter as error:
            absent = str(error)
        assert not absent or "does not exist" in absent, line  # a file that is not here
