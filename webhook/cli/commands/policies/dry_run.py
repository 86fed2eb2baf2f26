"""`sluice dry-run`: what would happen to these objects, and what a change of policies would change for them."""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NoReturn

import click
from rich.console import Console
from rich.text import Text

from webhook import setting_values
from webhook.cli import exits
from webhook.cli.completions import rules as rule_names
from webhook.cli.inputs import standard_input
from webhook.cli.option_types import FILE, INPUT, NAMESPACE, POLICIES, POLICIES_HELP, RULES_HELP, TEXT, THERE, Read
from webhook.cli.repository import Repository, idle_rules, repository, repository_at
from webhook.diagnostics import SourceError
from webhook.documents import Document
from webhook.offline.dryrun.against import bundle_at, objects_at
from webhook.offline.dryrun.comment import comparison_markdown
from webhook.offline.dryrun.compare import Change, compare
from webhook.offline.dryrun.evaluate import Input, Trial, dry_run, inputs, nothing
from webhook.offline.dryrun.file_facts import FileFacts
from webhook.offline.dryrun.file_gate import file_gate
from webhook.offline.dryrun.missing import told
from webhook.offline.dryrun.queues import with_queues
from webhook.offline.dryrun.requests import Sender
from webhook.offline.dryrun.revisions import RevisionError
from webhook.offline.dryrun.show import comparison_json, trial_json, trial_markdown
from webhook.offline.dryrun.terminal import comparison_text, trial_text
from webhook.offline.files import Files, objects_of, read_files
from webhook.offline.unreadable_objects import readable
from webhook.policy.bundle import EMPTY, Bundle
from webhook.policy.loading.load_bundle import load_bundle
from webhook.policy.queue_rules.files import rules_among
from webhook.store.errors import StoreError

EXAMPLES: Final = """\b
Examples:
  sluice dry-run -f job.yaml                        with policies/
  sluice dry-run -p policies/gpu -f jobs/ -f cluster.yaml
  kubectl get jobs,pods,ns -A -o yaml | sluice dry-run -f -
  sluice dry-run --context prod --against main      the live jobs and pods
  sluice dry-run -f live.yaml --against main -o markdown
"""


@dataclass(frozen=True, slots=True)
class DryRunInputs:
    """What is tried; what is only known, from files (`context`) and from a `live` cluster; and how it is sent."""

    inputs: tuple[Input, ...]
    context: tuple[dict[str, Any], ...]
    live: tuple[dict[str, Any], ...]
    labels: dict[str, str]
    authorized: bool
    sender: Sender


@click.command(name="dry-run", epilog=EXAMPLES)
@click.option("-f", "--file", "files", multiple=True, type=INPUT, help="Objects to evaluate: a file, a folder, or -.")
@click.option(
    "--context", type=TEXT, help="Evaluate the jobs and pods of a live cluster (kubeconfig context). Read-only."
)
@click.option("--kubeconfig", type=FILE, help="Kubeconfig file.  [default: the user's own]")
@click.option("-p", "--policies", multiple=True, type=POLICIES, help=POLICIES_HELP)
@click.option("--rules", multiple=True, type=TEXT, shell_complete=rule_names, metavar="NAME|FILE", help=RULES_HELP)
@click.option(
    "-c",
    "--objects",
    "cluster",
    multiple=True,
    type=THERE,
    help="Context objects (namespaces, queues, params); read, not evaluated.",
)
@click.option("--against", type=TEXT, metavar="REV|DIR",
              help="Show only what changes against a git revision or a folder.")  # fmt: skip
@click.option("--operation", type=click.Choice(["CREATE", "UPDATE", "DELETE"]), default="CREATE", show_default=True,
              help="Operation of the request.")  # fmt: skip
@click.option(
    "--as", "user", type=TEXT, default="sluice-dry-run", show_default=True, help="User that sends the objects."
)
@click.option("--as-group", "groups", multiple=True, type=TEXT, help="Group of that user. Can be repeated.")
@click.option(
    "-n",
    "--namespace",
    type=NAMESPACE,
    default="default",
    show_default=True,
    help="Namespace of objects that name none.",
)
@click.option("--namespace-label", "labels", multiple=True, type=Read("key=value", setting_values.pair),
              help="Label of namespaces that are not among the objects.")  # fmt: skip
@click.option("--authorized", is_flag=True, help="Allow all authorizer checks in policies; otherwise they are denied.")
@click.option("-o", "--output", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True,
              help="Output format.")  # fmt: skip
@click.option(
    "--allow-missing",
    is_flag=True,
    help="Accept that objects which decide (namespaces, queues, parameters) are missing.",
)
@click.option("-v", "--verbose", is_flag=True, help="Also show objects that no policy matches.")
def dry_run_command(
    files: tuple[str, ...],
    context: str | None,
    kubeconfig: Path | None,
    policies: tuple[Path, ...],
    rules: tuple[str, ...],
    cluster: tuple[Path, ...],
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
) -> None:
    """Say what would happen to objects: verdict, change, warnings, and what their queue would do.

    Exit code 0: all would be allowed, 1: some would be denied (with --against: newly denied), 2: a file cannot be used,
    or objects that decide are missing, 3: nothing to evaluate.
    """
    if kubeconfig and context is None:
        raise click.UsageError("--kubeconfig requires --context NAME")
    sender = Sender(operation, user, ("system:authenticated", *groups), namespace)
    within = repository(policies, rules)
    bundle = load_bundle(within.policies)
    inputs = _inputs(files, cluster, dict(labels), authorized, sender, _live(kubeconfig, context, bundle))
    with readable(lambda: read_files((*(Path(f) for f in files if f != "-"), *cluster, *within.policies)).documents):
        trial = _try(inputs, bundle, within)
    if against is None:
        _print_trial(trial, output, every=verbose)
        _end(any(not o.allowed for o in trial.outcomes), () if allow_missing or context else trial.missing)
    before = _before(inputs, against, cluster, policies, rules)
    comparison = compare(before.outcomes, trial.outcomes)
    notes = tuple(dict.fromkeys((*trial.notes, *before.notes)))
    if output == "json":
        _print_json(comparison_json(comparison, notes))
    elif output == "markdown":
        click.echo(comparison_markdown(comparison, against, notes), nl=False)
    else:
        _print_lines(comparison_text(comparison, notes))
    _end(bool(comparison.count(Change.DENIED)), () if allow_missing or context else trial.missing)


def _end(denied: bool, missing: Sequence[str]) -> NoReturn:
    """End with 1 if something is denied, with 2 if objects that decide are missing."""
    if missing:
        click.echo(f"sluice dry-run: {told(missing)}", err=True)
    sys.exit(exits.FAILED if denied else exits.BAD_INPUT if missing else exits.PASSED)


def _live(kubeconfig: Path | None, context: str | None, bundle: Bundle) -> tuple[list[Document], list[Document]]:
    """Read a live cluster, where one is named: documents to try, and documents that are only known."""
    if context is None:
        return [], []
    try:
        reader = importlib.import_module("webhook.cli.live.dry_run_objects")  # brings the Kubernetes client
        tried, known = reader.live(kubeconfig, context, [bundle])
    except (StoreError, ValueError, OSError) as error:
        click.echo(f"sluice dry-run: {context}: {error}", err=True)
        sys.exit(exits.BAD_INPUT)
    return [Document(obj, f"<{context}>") for obj in tried], [Document(obj, f"<{context}>") for obj in known]


def _inputs(
    files: Sequence[str],
    cluster: Sequence[Path],
    labels: dict[str, str],
    authorized: bool,
    sender: Sender,
    from_cluster: tuple[Sequence[Document], Sequence[Document]],
) -> DryRunInputs:
    """Read what is to be tried and what is only known. Raises SourceError; ends the program where there is nothing."""
    read = _read(files)
    known = read_files(cluster)
    found, wrong = inputs((*read.documents, *from_cluster[0]), sender)
    errors = (*read.errors, *known.errors, *wrong)
    if errors:
        raise SourceError(errors)
    if not files and not from_cluster[0]:
        raise click.UsageError("no objects given; use -f FILE, -f - or --context NAME")
    if not found:
        click.echo(f"sluice dry-run: {nothing(read.documents)}", err=True)
        sys.exit(exits.NOTHING_TO_RUN)
    context, live = (tuple(objects_of(part)) for part in (known.documents, from_cluster[1]))
    return DryRunInputs(tuple(found), context, live, labels, authorized, sender)


def _read(files: Sequence[str]) -> Files:
    """Read files, folders and standard input."""
    paths = [Path(f) for f in files if f != "-"]
    read = read_files(paths)
    if "-" not in files:
        return read
    piped = standard_input()
    return Files((*read.documents, *piped.documents), (*read.names, *piped.names), (*read.errors, *piped.errors))


def _try(inputs: DryRunInputs, bundle: Bundle, within: Repository) -> Trial:
    tried, now = [i.obj for i in inputs.inputs], time.time()
    rules = rules_among(bundle.queue_policies, within.rules)
    objects = (*tried, *inputs.context, *inputs.live, *bundle.objects)
    facts = FileFacts(objects, inputs.labels, authorized=inputs.authorized)
    gate = file_gate(tried, objects, rules, now, inputs.sender.namespace)
    trial = dry_run(inputs.inputs, bundle, facts, inputs.sender, gate, time.time)
    trial = replace(trial, notes=(*trial.notes, *idle_rules(bundle.queue_policies, within)))
    return trial if inputs.sender.operation == "DELETE" else with_queues(trial, objects, rules, now)


def _before(
    inputs: DryRunInputs, against: str, cluster: Sequence[Path], policies: Sequence[Path], rules: Sequence[str]
) -> Trial:
    """Try the objects under the policies of a folder, or under all that the repository held at a git revision."""
    if Path(against).exists():
        return _try(inputs, replace(load_bundle([Path(against)]), notes=()), repository(policies, rules))
    try:
        then = repository_at(against, policies, rules)
        bundle, context = bundle_at(against, then.policies), tuple(objects_at(against, cluster))
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
