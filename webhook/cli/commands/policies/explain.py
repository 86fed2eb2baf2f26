"""`sluice explain`: why a verdict is what it is, policy by policy and clause by clause."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import click
from rich.text import Text

from webhook.admission.wire import BadReview
from webhook.cel import batch
from webhook.cel.interpreter.attributes import Failure
from webhook.cel.trace import TracedPart, clauses
from webhook.cli import exits
from webhook.cli.commands.policies.eval import shown
from webhook.cli.console import Console
from webhook.cli.inputs import read_inputs
from webhook.cli.option_types import (
    ANY_TEXT,
    allow_missing_option,
    files_option,
    objects_option,
    output_option,
    policies_option,
    request_options,
    rules_option,
)
from webhook.cli.repository import bundle_of, repository, rules_for
from webhook.diagnostics import SourceError
from webhook.offline.dryrun.evaluate import inputs, nothing
from webhook.offline.dryrun.file_facts import FileFacts, known
from webhook.offline.dryrun.file_gate import file_gate
from webhook.offline.dryrun.missing import missing_facts, missing_queues, told
from webhook.offline.dryrun.outcome import ObjectOutcome
from webhook.offline.dryrun.requests import Sender
from webhook.offline.dryrun.show import outcome_json
from webhook.offline.dryrun.terminal import outcome_text
from webhook.offline.explain.verdict import Clause, PolicyTrace, explain
from webhook.offline.files import objects_of, read_files
from webhook.offline.unreadable_objects import malformed, readable

EXAMPLES: Final = """\b
Examples:
  sluice explain -f job.yaml                why it is denied, patched or allowed
  sluice explain -f job.yaml --policy gpu   policies named like "gpu" only
  kubectl get job train -o yaml | sluice explain -f - -c cluster.yaml
"""
_WIDTH: Final = 90
_DEPTH: Final = 4
_STYLES: Final = {"true": "green", "false": "red", "error": "bold red", "changed": "cyan", "unchanged": "dim"}


@click.command(name="explain", epilog=EXAMPLES)
@files_option(required=True)
@policies_option()
@rules_option()
@objects_option()
@click.option("--policy", type=ANY_TEXT, default="", help="Only policies whose name contains this text.")
@request_options
@allow_missing_option
@output_option("text", "json")
def explain_command(
    files: tuple[str, ...],
    policies: tuple[Path, ...],
    rules: tuple[str, ...],
    objects: tuple[Path, ...],
    policy: str,
    operation: str,
    user: str,
    groups: tuple[str, ...],
    namespace: str,
    allow_missing: bool,
    output: str,
) -> None:
    """Explain why objects are denied, patched or allowed: the result of each clause of each policy.

    Exit code 0: all are allowed, 1: some are denied, 2: a file cannot be used, or required objects are missing,
    3: nothing to explain.
    """
    sender = Sender(operation, user, ("system:authenticated", *groups), namespace)
    within = repository(policies, rules)
    bundle = bundle_of(within)
    read = read_inputs(files)
    beside = read_files(objects)
    found, wrong = inputs(read.documents, sender)
    if errors := (*read.errors, *beside.errors, *wrong, *malformed((*read.documents, *beside.documents))):
        raise SourceError(errors)
    if not found:
        click.echo(f"sluice explain: {nothing(read.documents)}", err=True)
        sys.exit(exits.NOTHING_TO_RUN)
    tried = [i.obj for i in found]
    around = known(bundle, tried, objects_of(beside.documents))
    facts, explained = FileFacts(around, {}, settings=within.settings), []
    with readable(lambda: (*read.documents, *beside.documents)):
        in_force = rules_for(around, bundle, within)
        gate = file_gate(tried, around, in_force, time.time(), namespace, within.settings)
    for item in found:
        try:
            outcome, traces = explain(item, bundle, facts, sender, time.time, gate)
        except BadReview as error:
            click.echo(f"sluice explain: {item.ref}: {error}", err=True)
            sys.exit(exits.BAD_INPUT)
        explained.append((outcome, [t for t in traces if policy in t.name]))
    _print(explained, output)
    outcomes = [outcome for outcome, _ in explained]
    missing = (*missing_facts(facts, bundle), *(missing_queues(outcomes) if gate is None else ()))
    if missing and not allow_missing:
        click.echo(f"sluice explain: {told(missing)}", err=True)
    denied = not all(outcome.allowed for outcome in outcomes)
    sys.exit(exits.FAILED if denied else exits.BAD_INPUT if missing and not allow_missing else exits.PASSED)


def _print(explained: Iterable[tuple[ObjectOutcome, list[PolicyTrace]]], output: str) -> None:
    if output == "json":
        value = [{**outcome_json(o), "trace": [_policy_json(t) for t in traces]} for o, traces in explained]
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
        return
    console = Console(soft_wrap=True, highlight=False)
    for outcome, traces in explained:
        for line in (*outcome_text(outcome), *(line for t in traces for line in policy_text(t))):
            console.print(line)


def policy_text(trace: PolicyTrace) -> Iterator[Text]:
    """Yield one policy: whether it applies to the request, then its clauses, those that decided with their parts."""
    kind = "mutating" if trace.mutating else "validating"
    head = (f"\n{kind} ", "dim"), (trace.name, "bold"), (f"  {trace.place}", "dim")
    yield Text.assemble(*head)
    if trace.why_not:
        yield Text(f"  not evaluated: {trace.why_not}", "dim")
    for clause in trace.clauses:
        yield from clause_text(clause)


def clause_text(clause: Clause) -> Iterator[Text]:
    """Yield one clause, and the parts of one that denied or failed."""
    where = f" on {clause.where}" if clause.where else ""
    head = (f"  {clause.outcome:<9} ", _STYLES.get(clause.outcome, "")), f"{clause.name}{where}"
    yield Text.assemble(*head, (f"  {clause.place}", "dim"))
    if clause.said:
        yield Text(f"            says: {clause.said}", "red")
    if clause.step is None or clause.outcome not in ("false", "error"):
        return
    for part in clauses(clause.step):
        if part.decisive or part is clause.step:
            yield from _parts(clause.text, part, 0, "")


def _parts(text: str, step: TracedPart, depth: int, above: str) -> Iterator[Text]:
    """Yield a part and what it is made of; a part that is written like the one above it is left out."""
    source = _source(text, step)
    if step.values and depth <= _DEPTH and source != above:
        yield Text.assemble(f"            {'  ' * depth}{_short(source)} = ", (_values(step), "bold"))
    for part in step.parts:
        yield from _parts(text, part, depth + (source != above), source)


def _source(text: str, step: TracedPart) -> str:
    """Return a part's text on one line, with the bracket before it that it closes; cut where it closes another."""
    start = step.start
    before = text[:start].rstrip()
    if before.endswith("(") and text[start : step.end].count(")") > text[start : step.end].count("("):
        start = len(before) - 1
    part = " ".join(text[start : step.end].split())
    depth = 0
    for i, letter in enumerate(part):
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            return part[:i]
    return part


def _values(step: TracedPart) -> str:
    return ", ".join(_short(_value(v)) for v in step.values)


def _value(value: object) -> str:
    return f"error: {value.message}" if isinstance(value, Failure) else shown(batch.encode(value))


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _policy_json(trace: PolicyTrace) -> dict[str, Any]:
    made = {
        "policy": trace.name,
        "mutating": trace.mutating,
        "place": str(trace.place),
        "notForThisRequest": trace.why_not,
        "clauses": [_clause_json(c) for c in trace.clauses],
    }
    return {key: value for key, value in made.items() if value not in ("", [])}


def _clause_json(clause: Clause) -> dict[str, Any]:
    made = {
        "clause": clause.name,
        "outcome": clause.outcome,
        "where": clause.where,
        "place": str(clause.place),
        "message": clause.said,
        "parts": _part_json(clause.text, clause.step) if clause.step else None,
    }
    return {key: value for key, value in made.items() if value not in ("", None)}


def _part_json(text: str, step: TracedPart) -> dict[str, Any]:
    return {
        "expression": text[step.start : step.end],
        "values": [_value(v) for v in step.values],
        "parts": [_part_json(text, part) for part in step.parts],
    }
