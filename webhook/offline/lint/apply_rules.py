"""Runs the rules over files, and applies safe fixes. The CLI prints the findings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from webhook.api.configuration.sections import QueueSettings
from webhook.diagnostics import Diagnostic
from webhook.offline.files import Files
from webhook.offline.lint.all_rules import RULES
from webhook.offline.lint.context import Edit, LintRule, context_of
from webhook.offline.lint.library import of_a_library
from webhook.offline.lint.trial.engine import loaded
from webhook.offline.lint.workers import ONE_POLICY_CODES, WorkSplit, process_count


@dataclass(frozen=True, slots=True)
class LintReport:
    """All findings in the order of the files, and the edits that would mend some of them."""

    findings: tuple[Diagnostic, ...]
    edits: tuple[Edit, ...] = ()


def lint(
    files: Files,
    now: datetime,
    rules: Sequence[LintRule] = RULES,
    settings: QueueSettings | None = None,
    *,
    library: bool = False,
    jobs: int | None = 1,
) -> LintReport:
    """Run the rules over what was read. What could not be read is a finding like the others.

    In a `library` what is not there may be in the cluster, and an error is only what the API server refuses. `jobs` is
    the number of processes; None takes as many as are worth it. `settings` are the repository's of the queues.
    """
    bundle, wrong = loaded(files.documents)
    context = context_of(files.documents, now, bundle, settings)
    findings: list[Diagnostic] = [*files.errors, *wrong]
    edits: list[Edit] = []
    split = [rule for rule in rules if rule.code in ONE_POLICY_CODES]
    shares = WorkSplit(context, split, process_count(len(bundle.policies), jobs))
    try:
        for rule in rules:
            for found in () if rule.code in ONE_POLICY_CODES else rule.check(context):
                told = found.diagnostic(rule.code, rule.severity)
                if found.edit is not None and safe(found.edit):
                    edits.append(found.edit)
                    told = replace(told, hint=f"{told.hint} (use --fix)")
                findings.append(told)
        findings += shares.findings()
    finally:
        shares.stop()
    kept = sorted(_once(set(findings)), key=lambda f: (f.place, f.code, f.message))
    return LintReport(tuple(of_a_library(kept) if library else kept), tuple(edits))


def _once(findings: set[Diagnostic]) -> Iterator[Diagnostic]:
    """Leave out what the loader says more coarsely of the same line."""
    finer = {(f.place.file, f.place.line) for f in findings if f.code in ("REF005", "REF008")}
    for finding in findings:
        if finding.code != "POL005" or (finding.place.file, finding.place.line) not in finer:
            yield finding


def safe(edit: Edit) -> bool:
    """Return whether an edit can be made: the text stands on one line, and nowhere else does an alias show it."""
    table = edit.document.keys if edit.key else edit.document.nodes
    node = table.get(edit.path)
    if node is None or node.line != node.end_line or node.style in ("|", ">"):
        return False
    return sum(other == node for other in table.values()) == 1


def mended(edits: Iterable[Edit], text_of: Callable[[str], str]) -> dict[str, str]:
    """Return the new text of each file that an edit changes; comments, quotes and line ends stay as they are.

    `text_of` gives a file's text as it is on the disk. An edit that is not `safe`, or that overlaps another, is left
    out.
    """
    spans: dict[str, set[Replacement]] = {}
    for edit in edits:
        if (span := replacement(edit)) is not None:
            spans.setdefault(edit.document.file, set()).add(span)
    return {file: _apply(text_of(file), found) for file, found in spans.items()}


def replacement(edit: Edit) -> Replacement | None:
    """Return the text that a safe edit replaces, and by what; None for one that is not `safe`."""
    document = edit.document
    node = (document.keys if edit.key else document.nodes).get(edit.path)
    if node is None or not safe(edit):
        return None
    old = document.lines[node.line - 1]
    return Replacement(node.line, node.column, node.end_column, _quoted(edit.text, node.style), old)


def _quoted(text: str, style: str) -> str:
    """Write a text in the quotes that the old one has."""
    if style == '"':
        return json.dumps(text, ensure_ascii=False)
    return f"'{text}'" if style == "'" else text


@dataclass(frozen=True, slots=True, order=True)
class Replacement:
    """Columns of a line (from 1), what is to stand there, and the line as it was read."""

    line: int
    start: int
    end: int
    text: str
    old: str


def _apply(text: str, spans: set[Replacement]) -> str:
    """Put new texts in, from the end of the file to its start."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    lines = text.removeprefix("\ufeff").splitlines(keepends=True)
    before: tuple[int, int] | None = None
    for span in sorted(spans, reverse=True):
        row = lines[span.line - 1] if span.line <= len(lines) else ""
        read = row[: span.end - 1] == span.old[: span.end - 1] or before is not None
        if not read or (before is not None and (span.line, span.end) > before):
            continue
        lines[span.line - 1] = row[: span.start - 1] + span.text + row[span.end - 1 :]
        before = (span.line, span.start)
    return mark + "".join(lines)
