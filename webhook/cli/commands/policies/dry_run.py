"""`sluice dry-run`: what would happen to objects, and what a change of policies would change for them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NoReturn

import click
from rich.text import Text

from webhook import setting_values
from webhook.cli import exits
from webhook.cli.console import Console
from webhook.cli.inputs import read_inputs
from webhook.cli.live.dry_run_objects import live_objects
from webhook.cli.live.session import ask
from webhook.cli.option_types import (
    TEXT,
    Read,
    allow_missing_option,
    authorized_option,
    files_option,
    live_options,
    not_live,
    objects_option,
    output_option,
    policies_option,
    request_options,
    rules_option,
)
from webhook.cli.repository import Repository, bundle_of, idle_rules, repository, repository_at, rules_for
from webhook.diagnostics import SourceError
from webhook.documents import Document
from webhook.offline.dryrun.against import bundle_at, objects_at
from webhook.offline.dryrun.comment import comparison_markdown
from webhook.offline.dryrun.compare import Change, compare
from webhook.offline.dryrun.evaluate import Input, Trial, dry_run, inputs, nothing
from webhook.offline.dryrun.file_facts import FileFacts, known
from webhook.offline.dryrun.file_gate import file_gate
from webhook.offline.dryrun.missing import told
from webhook.offline.dryrun.queues import with_queues
from webhook.offline.dryrun.requests import Sender
from webhook.offline.dryrun.revisions import RevisionError
from webhook.offline.dryrun.show import comparison_json, trial_json, trial_markdown
from webhook.offline.dryrun.terminal import comparison_text, trial_text
from webhook.offline.files import objects_of, read_files
from webhook.offline.unreadable_objects import malformed, readable
from webhook.policy.bundle import EMPTY, Bundle
from webhook.policy.loading.load_bundle import load_bundle

EXAMPLES: Final = """\b
Examples:
  sluice dry-run -f job.yaml                        with policies/
  sluice dry-run -p policies/gpu -f jobs/ -f cluster.yaml
  kubectl get jobs,pods,ns -A -o yaml | sluice dry-run -f -
  sluice dry-run --live --context prod --against main
  sluice dry-run -f live.yaml --against main -o markdown
"""


@dataclass(frozen=True, slots=True)
class Sending:
    """How the objects are sent: by whom, with which labels of unknown namespaces, and what authorizer checks say."""

    labels: dict[str, str]
    authorized: bool
    sender: Sender


@dataclass(frozen=True, slots=True)
class DryRunInputs:
    """What is tried; what is only known, from files (`context`) and from a `live` cluster; and how it is sent."""

    inputs: tuple[Input, ...]
    context: tuple[dict[str, Any], ...]
    live: tuple[dict[str, Any], ...]
    asked: Sending


@click.command(name="dry-run", epilog=EXAMPLES)
@files_option()
@live_options
@policies_option()
@rules_option()
@objects_option()
@click.option("--against", type=TEXT, metavar="REV|FOLDER",
              help="Show only what changes against a git revision or a folder.")  # fmt: skip
@request_options
@click.option("--namespace-label", "labels", multiple=True, type=Read("key=value", setting_values.pair),
              help="Label of namespaces that are not among the objects. Can be repeated.")  # fmt: skip
@authorized_option
@output_option("text", "json", "markdown")
@allow_missing_option
@click.option("-v", "--verbose", is_flag=True, help="Also show objects that no policy matches.")
def dry_run_command(
    files: tuple[str, ...],
    kubeconfig: Path | None,
    context: str | None,
    policies: tuple[Path, ...],
    rules: tuple[str, ...],
    objects: tuple[Path, ...],
    against: str | None,
    operation: str,
    user: str,
    groups: tuple[str, ...],
    namespace: str,
    labels: tuple[tuple[str, str], ...],
    authorized: bool,
    output: str,
    allow_missing: bool,
    verbose: bool,
    *,
    live: bool,
) -> None:
    """Show what would happen to objects: verdict, patch, warnings and queue decision.

    With --live, the objects are the jobs and Pods of a cluster that a policy may match. A note names the namespaces
    without the label sluice.dev/managed=true: by default, the API server does not call Sluice for objects there.

    Exit code 0: all would be allowed, 1: some would be denied (with --against: newly denied), 2: a file cannot be used,
    or required objects are missing, 3: nothing to evaluate.
    """
    live = live or context is not None  # `--context` alone, as before there was `--live`
    not_live(live=live, kubeconfig=kubeconfig, context=context)
    sender = Sender(operation, user, ("system:authenticated", *groups), namespace)
    within = repository(policies, rules)
    bundle = bundle_of(within)
    from_cluster = _live(kubeconfig, context, bundle) if live else ([], [])
    inputs = _inputs(files, objects, Sending(dict(labels), authorized, sender), from_cluster, live=live)
    with readable(lambda: read_files((*(Path(f) for f in files if f != "-"), *objects, *within.policies)).documents):
        trial = _try(inputs, bundle, within)
    if against is None:
        _print_trial(trial, output, every=verbose)
        _end(any(not o.allowed for o in trial.outcomes), () if allow_missing or live else trial.missing)
    before = _before(inputs, against, objects, policies, rules)
    comparison = compare(before.outcomes, trial.outcomes)
    notes = tuple(dict.fromkeys((*trial.notes, *before.notes)))
    if output == "json":
        _print_json(comparison_json(comparison, notes))
    elif output == "markdown":
        click.echo(comparison_markdown(comparison, against, notes), nl=False)
    else:
        _print_lines(comparison_text(comparison, notes))
    _end(bool(comparison.count(Change.DENIED)), () if allow_missing or live else trial.missing)


def _end(denied: bool, missing: Sequence[str]) -> NoReturn:
    """End with 1 if something is denied, with 2 if required objects are missing."""
    if missing:
        click.echo(f"sluice dry-run: {told(missing)}", err=True)
    sys.exit(exits.FAILED if denied else exits.BAD_INPUT if missing else exits.PASSED)


def _live(kubeconfig: Path | None, context: str | None, bundle: Bundle) -> tuple[list[Document], list[Document]]:
    """Read a live cluster: documents to try, and documents that are only known."""
    tried, known = ask("dry-run", lambda store: live_objects(store, [bundle]), kubeconfig, context)
    place = f"<{context or 'the cluster'}>"
    return [Document(obj, place) for obj in tried], [Document(obj, place) for obj in known]


def _inputs(
    files: Sequence[str],
    objects: Sequence[Path],
    asked: Sending,
    from_cluster: tuple[Sequence[Document], Sequence[Document]],
    *,
    live: bool,
) -> DryRunInputs:
    """Read what is to be tried and what is only known. Raises SourceError; ends the program where there is nothing."""
    read = read_inputs(files)
    beside = read_files(objects)
    found, wrong = inputs((*read.documents, *from_cluster[0]), asked.sender)
    errors = (*read.errors, *beside.errors, *wrong, *malformed((*read.documents, *beside.documents)))
    if errors:
        raise SourceError(errors)
    if not files and not live:
        raise click.UsageError("no objects given; use -f FILE, -f - or --live")
    if not found:
        why = "no jobs or Pods that a policy matches in the cluster" if live else nothing(read.documents)
        click.echo(f"sluice dry-run: {why}", err=True)
        sys.exit(exits.NOTHING_TO_RUN)
    context, known_live = (tuple(objects_of(part)) for part in (beside.documents, from_cluster[1]))
    return DryRunInputs(tuple(found), context, known_live, asked)


def _try(inputs: DryRunInputs, bundle: Bundle, within: Repository) -> Trial:
    asked, tried, now = inputs.asked, [i.obj for i in inputs.inputs], time.time()
    objects = known(bundle, tried, inputs.context, inputs.live)
    rules = rules_for(objects, bundle, within)
    facts = FileFacts(objects, asked.labels, authorized=asked.authorized, settings=within.settings)
    gate = file_gate(tried, objects, rules, now, asked.sender.namespace, within.settings)
    trial = dry_run(inputs.inputs, bundle, facts, asked.sender, gate, time.time)
    trial = replace(trial, notes=(*trial.notes, *idle_rules(bundle.queue_policies, within)))
    if asked.sender.operation == "DELETE":
        return trial
    return with_queues(trial, known(bundle, inputs.context, inputs.live), rules, now, within.settings)


def _before(
    inputs: DryRunInputs, against: str, objects: Sequence[Path], policies: Sequence[Path], rules: Sequence[str]
) -> Trial:
    """Try the objects under the policies of a folder, or under all that the repository held at a git revision."""
    if Path(against).exists():
        return _try(inputs, replace(load_bundle([Path(against)]), notes=()), repository(policies, rules))
    try:
        then = repository_at(against, policies, rules)
        bundle, context = bundle_at(against, then.policies), tuple(objects_at(against, objects))
    except (RevisionError, OSError) as error:
        raise click.UsageError(f"--against {against}: {error}") from None
    if bundle is None:
        click.echo(f"sluice dry-run: these policies do not exist at {against}", err=True)
    return _try(replace(inputs, context=context), bundle or EMPTY, then)


def _print_trial(trial: Trial, output: str, *, every: bool) -> None:
    if output == "json":
        _print_json(trial_json(trial))
    elif output == "markdown":
        click.echo(trial_markdown(trial), nl=False)
    else:
        _print_lines(trial_text(trial, every=every))


def _print_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def _print_lines(lines: Iterable[Text]) -> None:
    console = Console(soft_wrap=True, highlight=False)
    for line in lines:
        console.print(line)
