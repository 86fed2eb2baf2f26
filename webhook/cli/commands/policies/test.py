"""`sluice test`: run the suites beside the policies."""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import click

from webhook.cli import exits
from webhook.cli.console import Console
from webhook.cli.option_types import ANY_TEXT, GIVEN, jobs_option, output_option, whole
from webhook.cli.paths import shorter
from webhook.cli.progress import Progress
from webhook.cli.repository import repository, rule_sources
from webhook.diagnostics import SourceError
from webhook.offline.laws.search import TRIED_CLUSTERS
from webhook.offline.lint.hints import with_hints
from webhook.offline.reports.junit import junit
from webhook.offline.reports.sarif import sarif
from webhook.offline.suite.run_suite import RunOptions
from webhook.offline.suite.session import Session, SessionOptions, report, run_session
from webhook.offline.suite.show import TITLES, as_json, findings_of, lines
from webhook.offline.suite.update import Updated, update

EXAMPLES = """\b
Examples:
  sluice test                              all suites below this folder
  sluice test policies/gpu-integer         suites of one policy
  sluice test --run 'gpu.*//half'          cases by suite//name
  sluice test -o junit > results.xml       for a CI server
  sluice test --missed --min-coverage 100  fail if a branch is not covered
  sluice test --examples 2000              check laws on more clusters
  sluice test --update                     write new expected patches
"""


@click.command(epilog=EXAMPLES)
@click.argument("paths", nargs=-1, type=GIVEN)
@click.option(
    "--run", "pattern", type=ANY_TEXT, default="", metavar="REGEX", help="Only cases whose suite//name matches."
)
@output_option("text", "json", "junit", "sarif")
@jobs_option
@click.option("-q", "--quiet", is_flag=True, help="Show only failed cases.")
@click.option(
    "--examples", type=whole(0, 1_000_000, "clusters"), default=TRIED_CLUSTERS, show_default=True, metavar="N",
    help="Random clusters to check each law of the queue rules on; 0 skips laws.",
)  # fmt: skip
@click.option("--missed", is_flag=True, help="Show each branch that no case covers.")
@click.option(
    "--min-coverage", type=whole(0, 100, "per cent"), default=0, help="Fail below this percentage of branches."
)
@click.option("--update", "rewrite", is_flag=True, help="Write the actual patches and objects into the suites.")
@click.option("--watch", is_flag=True, help="Run again when a file changes.")
def test(
    paths: tuple[Path, ...],
    pattern: str,
    output: str,
    jobs: int | None,
    quiet: bool,
    examples: int,
    missed: bool,
    min_coverage: int,
    rewrite: bool,
    watch: bool,
) -> None:
    """Run the suites (suite.yaml) below PATHS and report cases that fail.

    Default PATHS: this folder. Exit code 0: all passed, 1: some failed, 2: a file cannot be read, 3: nothing to run.
    """
    try:
        places = [path.resolve() for path in paths] or [Path.cwd()]
    except RuntimeError as error:  # a link that leads to itself
        raise click.BadParameter(str(error), param_hint="PATHS") from None
    places = [shorter(place) for place in places]
    try:
        re.compile(pattern)
    except re.error as error:
        raise click.BadParameter(str(error), param_hint="--run") from None

    wanted = SuiteRun(
        tuple(places), pattern, output, jobs, examples, min_coverage, quiet=quiet, missed=missed, rewrite=rewrite
    )
    try:
        before = stamps(places)
        code = once(wanted)
        while watch:
            before = wait_for_change(places, before)
            code = once(wanted)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        code = exits.INTERRUPTED
    sys.exit(code)


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """What is run, and how it is shown. `least` is the coverage below which a run fails, in per cent."""

    paths: tuple[Path, ...]
    pattern: str
    output: str
    jobs: int | None
    examples: int
    least: int
    quiet: bool
    missed: bool
    rewrite: bool


def once(wanted: SuiteRun) -> int:
    """Run all once, or again where suites were rewritten, print the result and give the exit code."""
    within = repository()
    how = RunOptions(wanted.pattern, examples=wanted.examples, settings=within.settings)
    options = SessionOptions(how, wanted.jobs, rule_sources(within))
    session = _session(wanted, options)
    written = update(session.results) if wanted.rewrite else Updated({}, ())
    for file, count in written.files.items():
        click.echo(f"updated {count} in {file}", err=True)
    for left in written.left:
        click.echo(left, err=True)
    session = _session(wanted, options) if written.files else session
    if not session.results and not session.broken:
        said = f"no case matches {wanted.pattern!r}" if session.left else "no suite.yaml found"
        if wanted.output != "text":
            show(session, wanted.output, quiet=wanted.quiet, missed=wanted.missed)
        click.echo(f"nothing to run: {said}", err=True)
        return exits.NOTHING_TO_RUN
    if session.results or wanted.output != "text":
        show(session, wanted.output, quiet=wanted.quiet, missed=wanted.missed)
    return _exit_code(session, wanted.least)


def _session(wanted: SuiteRun, options: SessionOptions) -> Session:
    with Progress() as progress:
        return run_session(list(wanted.paths), options, lambda result, total: progress.step(total, result.case.title))


def _exit_code(session: Session, least: int) -> int:
    """Write what cannot be read and which coverage is missing to standard error; return the exit code."""
    share = 100 * (len(session.branches) - len(session.missed)) // max(len(session.branches), 1)
    if share < least:
        click.echo(f"coverage is {share} %, below {least} %", err=True)
    if session.broken:
        click.echo(with_hints(SourceError(session.broken)).render(), err=True)
        return exits.BAD_INPUT
    return exits.FAILED if session.failed or share < least else exits.PASSED


def show(session: Session, output: str, *, quiet: bool, missed: bool) -> None:
    """Print the result as one document on standard output."""
    if output == "json":
        click.echo(json.dumps(as_json(session), indent=2, ensure_ascii=False))
    elif output == "junit":
        click.echo(junit(report(session), "sluice test"), nl=False)
    elif output == "sarif":
        click.echo(json.dumps(sarif(findings_of(session), TITLES), indent=2, ensure_ascii=False))
    else:
        console = Console(soft_wrap=True, highlight=False)
        for line in lines(session, every=not quiet, missed=missed):
            console.print(line)


def wait_for_change(paths: list[Path], before: dict[Path, int]) -> dict[Path, int]:
    """Wait until a file below the paths is written, added or taken away; gives the new times."""
    click.echo("waiting for changes (Ctrl-C to stop) ...", err=True)
    while (now := stamps(paths)) == before:
        time.sleep(0.3)
    return now


def stamps(paths: list[Path]) -> dict[Path, int]:
    """Return the time of the last change of each file."""
    files = (f for p in paths for f in ([p] if p.is_file() else p.rglob("*")) if f.is_file())
    return {file: file.stat().st_mtime_ns for file in files}
