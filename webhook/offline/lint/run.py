"""Running the rules over files, and mending what can be mended safely. Printing is the CLI's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from webhook.diagnostics import Diagnostic
from webhook.offline.files import Files
from webhook.offline.lint.engine import loaded
from webhook.offline.lint.model import Edit, Rule, world_of
from webhook.offline.lint.table import RULES


@dataclass(frozen=True, slots=True)
class Report:
    """All findings in the order of the files, and the edits that would mend some of them."""

    findings: tuple[Diagnostic, ...]
    edits: tuple[Edit, ...] = ()


def lint(files: Files, now: datetime, rules: Sequence[Rule] = RULES) -> Report:
    """Run the rules over what was read. What could not be read is a finding like the others."""
    bundle, wrong = loaded(files.documents)
    world = world_of(files.documents, now, bundle)
    findings: list[Diagnostic] = [*files.errors, *wrong]
    edits: list[Edit] = []
    for rule in rules:
        for found in rule.check(world):
            told = found.diagnostic(rule.code, rule.severity)
            if found.edit is not None:
                edits.append(found.edit)
                told = replace(told, hint=f"{told.hint} (--fix does it)")
            findings.append(told)
    return Report(tuple(sorted(set(findings), key=lambda f: (f.place, f.code, f.message))), tuple(edits))


def mended(edits: Iterable[Edit]) -> dict[str, str]:
    """Give the new text of each file that an edit changes; comments and layout stay as they are.

    An edit whose value spans lines, or that overlaps another, is left out.
    """
    lines: dict[str, list[str]] = {}
    spans: dict[str, list[tuple[int, int, int, str]]] = {}
    for edit in edits:
        document = edit.document
        node = (document.keys if edit.key else document.nodes).get(edit.path)
        if node is None or node.line != node.end_line or node.style in ("|", ">"):
            continue
        lines.setdefault(document.file, list(document.lines))
        spans.setdefault(document.file, []).append((node.line, node.column, node.end_column, edit.text))
    for file, found in spans.items():
        _apply(lines[file], found)
    return {file: "\n".join(text) + "\n" for file, text in lines.items()}


def _apply(lines: list[str], spans: list[tuple[int, int, int, str]]) -> None:
    """Put new texts in, from the end of the file to its start."""
    before: tuple[int, int] | None = None
    for line, start, end, text in sorted(set(spans), reverse=True):
        if before is not None and (line, end) > before:
            continue
        row = lines[line - 1]
        lines[line - 1] = row[: start - 1] + text + row[end - 1 :]
        before = (line, start)
