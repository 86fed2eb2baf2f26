"""The console blocks of a page: run in their order, and compared with what is printed.

A fenced block with a title is a file: it is written as the page shows it. A block of language `console` is run from
the folder where the one before it ended. A line `...` in what is printed stands for any lines. `sh` blocks need a
cluster; `tests/e2e/test_documented_commands.py` runs them.

`python -m tests.docs.console PAGES` writes into pages what the commands print now, where that differs.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from tests.docs.markdown import DOCS, blocks
from tests.shared import ROOT
from webhook.cli import group

SHELL = set("|&;<>$")
NOTHING: Mapping[str, Path] = {}

VARIABLES = {
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_COMMITTER_NAME": "ada",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
}


class Shell:
    """An empty folder, and `sluice` on the path. `code` is how the last command ended."""

    def __init__(self, folder: Path) -> None:
        tools = folder / "bin"
        tools.mkdir()
        script = tools / "sluice"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m webhook.cli.main "$@"\n', encoding="utf-8")
        script.chmod(0o755)
        self.folder = folder / "work"
        self.folder.mkdir()
        self.code = 0
        self.where = folder / "where"
        path = f"{tools}:{os.environ['PATH']}"
        self.environment = {**os.environ, **VARIABLES, "PATH": path, "PYTHONPATH": str(ROOT), "WHERE": str(self.where)}

    def write(self, name: str, text: str) -> None:
        """Write a file that the page shows."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def run(self, command: str) -> str:
        """Run a command, and stay where it goes. `sluice` alone runs in this process, which is quicker."""
        if command.startswith("sluice ") and not SHELL.intersection(command):
            return self._sluice(shlex.split(command)[1:])
        words = ["bash", "-c", f'{command}\ncode=$?\npwd > "$WHERE"\nexit $code']
        done = subprocess.run(
            words, cwd=self.folder, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.folder, self.code = Path(self.where.read_text(encoding="utf-8").strip()), done.returncode
        return done.stdout

    def _sluice(self, arguments: list[str]) -> str:
        printed, here, words = io.StringIO(), Path.cwd(), sys.argv
        os.chdir(self.folder)
        sys.argv = ["sluice", *arguments]
        try:
            with redirect_stdout(printed), redirect_stderr(printed):
                self.code = group.run()
        finally:
            os.chdir(here)
            sys.argv = words
        return printed.getvalue()


def steps(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what it prints."""
    found: list[tuple[str, str]] = []
    for command, printed in re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
        found.append((command, printed))
    return found


def comparable(text: str) -> str:
    """Text without trailing spaces, the time that things took, and the days since."""
    lines = [line.rstrip() for line in text.splitlines()]
    return re.sub(r"\d+\.\d+ s\b|\d+ days ago", "N", "\n".join(lines)).strip("\n")


def agrees(printed: str, shown: str) -> bool:
    """Say whether a program printed what is shown; a line `...` is any lines."""
    parts = [re.escape(part.strip("\n")) for part in re.split(r"^ *\.\.\.$", comparable(shown), flags=re.MULTILINE)]
    return re.fullmatch("(?:\n|.)*?".join(parts), comparable(printed)) is not None


@dataclass(frozen=True, slots=True)
class Run:
    """A command of a page: what the page shows, what was printed, and the exit code."""

    command: str
    shown: str
    printed: str
    code: int

    @property
    def agrees(self) -> bool:
        """Whether the page shows what is printed."""
        return agrees(self.printed, self.shown)

    def __str__(self) -> str:
        return f"$ {self.command}\n{comparable(self.printed)}\n-- the page shows:\n{comparable(self.shown)}\n"


def runs(page: Path, folder: Path, links: Mapping[str, Path] = NOTHING) -> Iterator[Run]:
    """Run a page in a folder that is empty but for links, to `docs` too where a command names it: every command."""
    shell, text = Shell(folder), page.read_text(encoding="utf-8")
    named = {"docs": DOCS} if re.search(r"^\$ .*\bdocs/", text, re.MULTILINE) else {}
    for name, target in {**named, **links}.items():
        (shell.folder / name).symlink_to(target)
    for block in blocks(page):
        if block.title:
            shell.write(block.title, block.text)
        if block.language == "console":
            for command, shown in steps(block.text):
                yield Run(command, shown, shell.run(command), shell.code)


def main(pages: list[str]) -> None:
    """Write what the commands of these pages print now into the pages, where it differs."""
    for page in map(Path, pages):
        done, rest = "", page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            for run in runs(page, Path(folder)):
                before, shown, rest = rest.partition(f"$ {run.command}\n{run.shown}")
                lines = "".join(f"{line.rstrip()}\n" for line in run.printed.strip("\n").splitlines())
                done += before + (shown if run.agrees else f"$ {run.command}\n{lines}")
        page.write_text(done + rest, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
