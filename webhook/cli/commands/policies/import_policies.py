"""`sluice import`: policies of Kyverno and Gatekeeper with their tests, and a whole Kueue, as files of a repository."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from webhook import documents
from webhook.cli import exits
from webhook.cli.commands.policies.import_kueue import kueue
from webhook.cli.option_types import THERE, force_option, to_option
from webhook.cli.shipped import not_in_own_source
from webhook.diagnostics import Diagnostic, SourceError
from webhook.documents import Document
from webhook.offline.files import read_files, text_of, write_whole
from webhook.offline.importing.import_files import from_gatekeeper, from_kyverno
from webhook.offline.importing.imported import Import, Read
from webhook.offline.lint.apply_rules import lint
from webhook.offline.reports.findings import sentence
from webhook.policy.loading.list_items import entries
from webhook.policy.loading.load_bundle import SUFFIXES, is_passed_by

OF_KYVERNO: Final = "sluice import kyverno kyverno-policies/ --to policies"
OF_GATEKEEPER: Final = "sluice import gatekeeper library/general --to policies"
CHECK: Final = "sluice lint policies && sluice test policies"
EXAMPLES: Final = f"""\b
Examples:
  {OF_KYVERNO}
  {OF_GATEKEEPER}
  {CHECK}
  sluice import kueue --live --to gpu-policies
"""
CODES: Final = (
    "Exit code 0: all were imported, 1: some were not, with reasons, 2: a file cannot be used, 3: no policies."
)
TESTS: Final = "kyverno-test"
"""The name of a file of Kyverno's tests, which stand in hidden folders too."""
DEFINITION: Final = "CustomResourceDefinition"
"""What a file has that may name the resource of a kind."""


@click.group(name="import", epilog=EXAMPLES)
def import_command() -> None:
    """Import policies, or a Kueue configuration."""


import_command.add_command(kueue)


def _command(
    name: str, words: tuple[str, ...], make: Callable[[Iterable[Document], Read], Import], example: str, told: str
) -> None:
    @import_command.command(name=name, epilog=f"\b\nExamples:\n  {example}\n  {CHECK}\n", help=told)
    @click.argument("paths", nargs=-1, required=True, type=THERE)
    @to_option(Path("policies"))
    @force_option
    def run(paths: tuple[Path, ...], folder: Path, force: bool) -> None:
        _import(name, words, make, paths, folder, force=force)


_command(
    "kyverno",
    ("policies.kyverno.io", "kyverno.io", "cli.kyverno.io"),
    from_kyverno,
    OF_KYVERNO,
    "Import Kyverno's ValidatingPolicy and MutatingPolicy from PATHS, with the tests of its CLI, as a folder for each "
    f"policy. Existing files are kept.\n\n{CODES}",
)
_command(
    "gatekeeper",
    ("gatekeeper.sh", DEFINITION),
    from_gatekeeper,
    OF_GATEKEEPER,
    "Import Gatekeeper's ConstraintTemplates in CEL from PATHS, with constraints and gator suites, as a folder for "
    f"each policy. Existing files are kept.\n\n{CODES}",
)


def _import(
    name: str,
    words: Sequence[str],
    make: Callable[[Iterable[Document], Read], Import],
    paths: Sequence[Path],
    folder: Path,
    *,
    force: bool,
) -> None:
    """Read, convert, write and print what was done; ends the program with the exit code."""
    not_in_own_source(folder)
    wrong: list[Diagnostic] = []
    read = functools.cache(_documents)
    given = list(_relevant(paths, words, read, wrong))
    made = make(given, read)
    if wrong:
        click.echo(SourceError(wrong).render(), err=True)
    if not made.policies and not made.told:
        click.echo(f"sluice import {name}: no policies of {name.capitalize()} in these files", err=True)
        sys.exit(exits.BAD_INPUT if wrong else exits.NOTHING_TO_RUN)
    kept = [path for path in _written(made, folder, force=force) if path is not None]
    for note in made.told:
        click.echo(str(note))
    for path in kept:
        click.echo(f"kept  {path} (already exists; use --force to overwrite)", err=True)
    click.echo(_sum(made, folder))
    if made.folders:
        click.echo(_linted([folder / name for name in made.folders], folder))
    sys.exit(exits.BAD_INPUT if wrong or kept else exits.FAILED if made.told else exits.PASSED)


def _relevant(paths: Iterable[Path], words: Sequence[str], read: Read, wrong: list[Diagnostic]) -> Iterator[Document]:
    """Yield the documents of the files that have one of the words; collects what cannot be read.

    Not that of files with definitions alone: a chart's template of a CRD is no YAML, and none of the policies.
    """
    for path in dict.fromkeys(file for given in paths for file in _files(given)):
        found = set(words)
        try:
            text = text_of(path, str(path))
            found = {word for word in words if word in text}
            if found or path.stem == TESTS:
                yield from (entry for whole in read(path) for entry in entries(whole))
        except SourceError as error:
            wrong += error.diagnostics if found != {DEFINITION} else ()


def _files(path: Path) -> Iterator[Path]:
    """Yield a file as it is; of a folder all YAML and JSON below it, hidden files left out except tests.

    Folders that are passed by come too: reading them tells why.
    """
    if not path.is_dir():
        yield path
        return
    for child in sorted(path.rglob("*")):
        hidden = any(part.startswith(".") for part in child.relative_to(path).parts)
        if is_passed_by(child) or (
            child.suffix in SUFFIXES and child.is_file() and (not hidden or child.stem == TESTS)
        ):
            yield child


def _documents(path: Path) -> Sequence[Document]:
    return documents.read(text_of(path, str(path)), str(path))


def _written(made: Import, folder: Path, *, force: bool) -> Iterator[Path | None]:
    """Write the files; gives those that are there already, and stay."""
    for name, files in made.folders.items():
        for file, values in files.items():
            target = folder / name / file
            if target.exists() and not force:
                yield target
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, "---\n".join(documents.dump(value) for value in values).encode())


def _linted(written: Sequence[Path], folder: Path) -> str:
    """Count what `sluice lint` finds in the folders that were written."""
    report = lint(read_files(written, Path.cwd()), datetime.now(UTC), jobs=None)
    where = f"; to see them: sluice lint {shlex.quote(str(folder))}" if report.findings else ""
    return f"sluice lint: {sentence(report.findings)}{where}"


def _sum(made: Import, folder: Path) -> str:
    tests = f"{made.cases:,} test{'' if made.cases == 1 else 's'}"
    skipped = f", {made.skipped:,} of them skipped" if made.skipped else ""
    return f"imported {len(made.folders):,} of {made.policies:,} policies into {folder}, with {tests}{skipped}"
