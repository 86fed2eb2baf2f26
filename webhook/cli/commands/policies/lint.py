"""`sluice lint`: mistakes in files of policies, queues and jobs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from webhook.cli import exits
from webhook.cli.completions import finding_codes
from webhook.cli.console import Console
from webhook.cli.inputs import QUEUE_KINDS, standard_input
from webhook.cli.option_types import FOLDER, GIVEN_POLICIES, TEXT, jobs_option, output_option
from webhook.cli.repository import FILE as REPOSITORY
from webhook.cli.repository import Repository, repository
from webhook.diagnostics import WIDTH, Diagnostic, Place, Severity, SourceError, did_you_mean
from webhook.offline.files import Files, expand, read_files, shown, write_whole
from webhook.offline.lint.all_rules import BY_CODE, ON_REQUEST, RULES, TITLES
from webhook.offline.lint.apply_rules import LintReport, lint, mended
from webhook.offline.lint.pages import page, pages
from webhook.offline.lint.rules.users import sets_user, user_by_hand
from webhook.offline.reports.findings import as_json
from webhook.offline.reports.github import commands
from webhook.offline.reports.sarif import sarif
from webhook.offline.reports.terminal import styled, summary
from webhook.policy.loading.load_bundle import load_bundle
from webhook.policy.loading.shipped import is_shipped

FORMATS: Final = ("text", "json", "sarif", "github")
MIN_WIDTH: Final = 30
"""Of a file's line, on however narrow a terminal."""
EXAMPLES: Final = f"""\b
Examples:
  sluice lint                                 the policies of .sluice.yaml
  sluice lint policies/                       all files below a folder
  sluice lint policies/ cluster.yaml --fix    apply safe fixes
  kubectl get {QUEUE_KINDS} -A -oyaml > q.yaml
  sluice lint q.yaml
  sluice lint . -o sarif > lint.sarif         for code scanning
  sluice lint library/ --library              policies written for others
  sluice lint policies/ --costs               report costs of expressions
  sluice lint --explain LIM001                explain a code
"""


def _codes(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> frozenset[str]:
    """Read codes or their letters (`LIM`), and reject those that no rule has."""
    found = {code.strip().upper() for value in values for code in value.split(",") if code.strip()}
    for code in sorted(found):
        if not any(known.startswith(code) for known in BY_CODE):
            families = ", ".join(dict.fromkeys(known.rstrip("0123456789") for known in sorted(BY_CODE)))
            hint = did_you_mean(code, BY_CODE) or f"use a code, or a family such as {families}"
            raise click.BadParameter(f'no such code "{code}"; {hint}')
    return frozenset(found)


def _explain(ctx: click.Context, param: click.Parameter, code: str | None) -> None:
    if code is None:
        return
    if code.upper() not in BY_CODE:
        hint = did_you_mean(code, BY_CODE) or "docs/findings lists all codes"
        raise click.BadParameter(f'no such code "{code}"; {hint}')
    click.echo(page(BY_CODE[code.upper()]), nl=False)
    ctx.exit(exits.PASSED)


def _pages(ctx: click.Context, param: click.Parameter, folder: Path | None) -> None:
    """Write the pages of all codes: how `docs/findings/` is made."""
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
    ctx.exit(exits.PASSED)


@click.command(name="lint", epilog=EXAMPLES)
@click.argument("paths", nargs=-1, type=GIVEN_POLICIES)
@output_option(*FORMATS)
@click.option("--fix", is_flag=True, help="Apply safe fixes.")
@click.option(
    "--only",
    multiple=True,
    type=TEXT,
    callback=_codes,
    shell_complete=finding_codes,
    metavar="CODE",
    help="Only these codes or families, such as LIM,QUE001.",
)
@click.option(
    "--ignore",
    multiple=True,
    type=TEXT,
    callback=_codes,
    shell_complete=finding_codes,
    metavar="CODE",
    help="Skip these codes or families.",
)
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
@click.option("--library", is_flag=True, help="The files are a library: bindings and parameters are elsewhere.")
@jobs_option
@click.option("--costs", is_flag=True, help="Also report the cost of each expression.")
@click.option(
    "--explain",
    type=TEXT,
    callback=_explain,
    expose_value=False,
    shell_complete=finding_codes,
    metavar="CODE",
    help="Explain a code.",
)
@click.option("--pages", callback=_pages, expose_value=False, type=FOLDER, hidden=True)
def lint_command(
    paths: tuple[Path, ...],
    output: str,
    fix: bool,
    only: frozenset[str],
    ignore: frozenset[str],
    strict: bool,
    library: bool,
    jobs: int | None,
    costs: bool,
) -> None:
    """Find mistakes in policies, queues, LimitRanges and jobs.

    PATHS are files or folders of YAML or JSON, shipped policies (sluice.dev/NAME), or - for standard input.
    Default: the repository's own policies, as .sluice.yaml names them.

    Exit code 0: no errors, 1: errors, 2: a file cannot be read, 3: nothing to check.
    """
    within = repository()
    paths = paths or _own_policies(within)
    now = datetime.now(UTC)
    files = _read(paths)
    ignored = ignore | _settled(within)
    rules = [rule for rule in (*RULES, *(ON_REQUEST if costs else ())) if _wanted(rule.code, only, ignored)]
    report = lint(files, now, rules, within.settings, library=library, jobs=jobs)
    if fix and _write(report, paths):
        files = _read(paths)
        report = lint(files, now, rules, within.settings, library=library, jobs=jobs)
    findings = [f for f in report.findings if _wanted(f.code, only, ignore)]
    _print(findings, output, len(files.names))
    sys.exit(_exit_code(files, findings, strict))


def _read(paths: tuple[Path, ...]) -> Files:
    """Read the paths; standard input only by itself."""
    if Path("-") in paths:
        if len(paths) > 1:
            raise click.UsageError("standard input (-) cannot be combined with other paths")
        return standard_input()
    return read_files(paths, Path.cwd())


def _own_policies(within: Repository) -> tuple[Path, ...]:
    """Return the policies that the repository's file names, without shipped ones. Raises a usage error."""
    own = tuple(path for path in within.policies if not is_shipped(path)) if REPOSITORY.is_file() else ()
    if not own:
        raise click.UsageError(f"no paths given, and no {REPOSITORY} here names any; use - for standard input")
    return own


def _settled(within: Repository) -> frozenset[str]:
    """Return the codes that shipped policies beside the repository's own leave nothing to tell of."""
    shipped = load_bundle([path for path in within.policies if is_shipped(path)])
    return frozenset([user_by_hand.code] if sets_user(shipped) else [])


def _write(report: LintReport, paths: Iterable[Path]) -> bool:
    """Write the repairs, each file in one step; standard input has no file to write to.

    Files that come with Sluice stay as they are: the next version replaces them, and other repositories use them.
    """
    named = {shown(path, Path.cwd()): path for given in paths for path in expand(given)}
    written = False
    for name, text in mended([e for e in report.edits if e.document.file in named], lambda n: _raw(named[n])).items():
        if is_shipped(named[name]):
            way = "copy its folder among your own policies, and fix it there"
            click.echo(f"not fixed: {name} comes with Sluice; {way}", err=True)
            continue
        _replace(named[name], text)
        click.echo(f"fixed {name}", err=True)
        written = True
    return written


def _raw(path: Path) -> str:
    """Read a file with its line ends and its byte order mark."""
    return path.read_bytes().decode("utf-8")


def _replace(path: Path, text: str) -> None:
    """Put a text in the place of a file. Raises SourceError."""
    try:
        write_whole(path, text.encode("utf-8"))
    except OSError as error:
        wrong = Diagnostic("FILE001", Place(str(path)), f"cannot be fixed: {error.strerror or error}")
        raise SourceError([wrong]) from None


def _wanted(code: str, only: frozenset[str], ignore: frozenset[str]) -> bool:
    if any(code.startswith(prefix) for prefix in ignore):
        return False
    return not only or any(code.startswith(prefix) for prefix in only) or code in ("FILE001", "YAML001")


def _print(findings: Sequence[Diagnostic], output: str, files: int) -> None:
    if output == "json":
        click.echo(json.dumps(as_json(findings), indent=2, ensure_ascii=False))
    elif output == "sarif":
        click.echo(json.dumps(sarif(findings, TITLES), indent=2, ensure_ascii=False))
    elif output == "github":
        click.echo(commands(findings), nl=False)
    else:
        console = Console(soft_wrap=True, highlight=False)
        width = min(WIDTH, max(MIN_WIDTH, console.width - len("    "))) if console.is_terminal else WIDTH
        for finding in findings:
            console.print(styled(finding, width))
        console.print(summary(findings, files))


def _exit_code(files: Files, findings: Sequence[Diagnostic], strict: bool) -> int:
    if files.errors:
        return exits.BAD_INPUT
    if not files.documents:
        click.echo("sluice lint: no documents in these files", err=True)
        return exits.NOTHING_TO_RUN
    bad = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return exits.FAILED if any(f.severity in bad for f in findings) else exits.PASSED
