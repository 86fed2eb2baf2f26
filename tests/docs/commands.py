"""The commands that pages name: typed in fenced blocks, and in backticks within sentences and tables."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tests.docs.console import steps
from tests.docs.markdown import DOCS, FENCE, blocks
from tests.shared import ROOT
from webhook.cli.group import cli

PAGES = [
    page
    for page in (ROOT / "README.md", ROOT / "charts/sluice/README.md", *sorted((ROOT / "certs").glob("*.md")),
                 *sorted(DOCS.rglob("*.md")))
    if "decisions" not in page.parts
]  # fmt: skip
"""Every page that tells people what to do."""
PROGRAMS = ("sluice", "kubectl", "helm", "make", "docker", "git", "pip", "openssl", "curl")
PROMPT = re.compile(rf"(\$ |(?:{'|'.join(PROGRAMS)}) )")
END = {"|", ">", ">>", "<", "&&", ";", "&"}


def indented(page: Path) -> list[str]:
    """Give the lines that Markdown takes for code because of their indent, and that are commands."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return [line.strip() for line in text.splitlines() if line.startswith("    ") and PROMPT.match(line.strip())]


def typed(page: Path) -> Iterator[str]:
    """Give the commands of the blocks of a page: each is typed in a shell."""
    for block in blocks(page):
        if block.language == "console":
            yield from (command for command, _ in steps(block.text))
        elif block.language == "sh":
            yield from block.text.replace("\\\n", " ").splitlines()


def named(page: Path) -> list[str]:
    """Give the commands in backticks."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return [span for span in re.findall(r"`([^`\n]+)`", text) if span.split()[0] in PROGRAMS and " " in span]


def of(program: str, page: Path) -> Iterator[list[str]]:
    """Give the words of each command of a program on a page, without comments, pipes and redirections."""
    for command in (*typed(page), *named(page)):
        words = _words(command)
        starts = [at for at, word in enumerate(words) if word == program and (at == 0 or words[at - 1] in END)]
        for start in starts:
            rest = words[start:]
            yield rest[: next((at for at, word in enumerate(rest) if word in END), len(rest))]


def _words(command: str) -> list[str]:
    reader = shlex.shlex(command, posix=True, punctuation_chars="|>&;<")
    reader.whitespace_split, reader.commenters = True, "#"
    try:
        return list(reader)
    except ValueError:  # a quote of another line
        return command.split()


def misunderstood(words: Sequence[str]) -> str:
    """Say what `sluice` does not know of a command; empty for nothing. Values are looked at where there is a choice."""
    command: click.Command = cli
    rest, path = list(words[1:]), ["sluice"]
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-") and not rest[0].isupper():
        found = command.get_command(click.Context(command), rest[0])
        if found is None:
            return f"no command {' '.join([*path, rest[0]])}"
        command = found
        path.append(rest.pop(0))
    context = click.Context(command, info_name=" ".join(path))
    try:
        given, _, _ = command.make_parser(context).parse_args(rest)
        for param in command.params:
            for value in _values(given.get(param.name)) if isinstance(param.type, click.Choice) else ():
                param.type.convert(value, param, context)
    except click.BadOptionUsage as error:  # an option alone is named, with no value
        return "" if error.option_name == words[-1] else error.format_message()
    except click.UsageError as error:
        return f"{' '.join(words)}: {error.format_message()}"
    return ""


def _values(given: object) -> list[str]:
    values = given if isinstance(given, (list, tuple)) else [given]
    return [value for value in values if isinstance(value, str) and not value.isupper()]
