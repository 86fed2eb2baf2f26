"""Outcomes and comparisons as JSON values, outcomes as Markdown too.

Coloured text is `terminal.py`'s, the comment on a pull request `comment.py`'s.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from webhook.kube.json_patch import diff
from webhook.offline.dryrun.compare import ORDER, ChangeSet
from webhook.offline.dryrun.evaluate import Trial
from webhook.offline.dryrun.outcome import ObjectOutcome, OutcomeState, QueueOutcome

_MARKDOWN: Final = re.compile(r"([\\`*\[\]|])")


def trial_json(trial: Trial) -> dict[str, Any]:
    """Return a trial as plain JSON values."""
    return {
        "objects": [outcome_json(o) for o in trial.outcomes],
        "summary": totals(trial.outcomes),
        "notes": list(trial.notes),
    }


def totals(outcomes: Sequence[ObjectOutcome]) -> dict[str, int]:
    """Count outcomes by state, those that occur."""
    counted = Counter(o.state for o in outcomes)
    return {str(state): counted[state] for state in OutcomeState if counted[state]}


def outcome_json(outcome: ObjectOutcome) -> dict[str, Any]:
    """Return one outcome as plain JSON values; what is empty is left out."""
    ref = outcome.ref
    fields: dict[str, Any] = {
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "file": ref.place.file,
        "line": ref.place.line,
        "state": str(outcome.state),
        "allowed": outcome.allowed,
        "code": outcome.code if not outcome.allowed else None,
        "reason": outcome.reason if not outcome.allowed else None,
        "denials": list(outcome.denials) if not outcome.allowed else [],
        "warnings": list(outcome.warnings),
        "policies": list(outcome.policies),
        "changedBy": list(outcome.changed_by),
        "patch": [o.wire() for o in diff(outcome.before, outcome.after)] if outcome.changed else [],
        "queue": queue_json(outcome.queue) if outcome.queue else None,
    }
    return {key: value for key, value in fields.items() if value is False or value not in ("", None, [], 0)}


def queue_json(queue: QueueOutcome) -> dict[str, Any]:
    """Return a queue's outcome as plain JSON values."""
    fields = {"clusterQueue" if k == "cluster_queue" else k: v for k, v in asdict(queue).items()}
    kept = {key: value for key, value in fields.items() if value not in ("", None, (), 0)}
    return {key: list(value) if isinstance(value, tuple) else str(value) if key == "reason" else value
            for key, value in kept.items()}  # fmt: skip


def comparison_json(comparison: ChangeSet, notes: Sequence[str]) -> dict[str, Any]:
    """Return a comparison as plain JSON values."""
    return {
        "total": comparison.total,
        "summary": {str(c): comparison.count(c) for c in ORDER if comparison.count(c)},
        "differences": [
            {"change": str(d.change), "old": outcome_json(d.old), "new": outcome_json(d.new)}
            for d in comparison.differences
        ],
        "notes": list(notes),
    }


def trial_markdown(trial: Trial) -> str:
    """Return a trial as Markdown: a table, and what is denied or changed below it."""
    lines = ["| object | outcome | by |", "|---|---|---|"]
    lines += [f"| {cell(str(o.ref))} | {o.state} | {cell(', '.join(o.by))} |" for o in trial.outcomes]
    for outcome in trial.outcomes:
        if said := list(sentences(outcome)):
            lines += ["", f"**{outcome.ref}**", "", *(f"- {cell(s)}" for s in said)]
        lines += fenced(outcome.diff())
    lines += ["", *(f"> {note}" for note in trial.notes)] if trial.notes else []
    return "\n".join(lines) + "\n"


def sentences(outcome: ObjectOutcome) -> Iterator[str]:
    """Yield what a user would be told: the denials or the warnings, and what the queue does."""
    if not outcome.allowed:
        yield from (f"denied: {text}" for text in outcome.denials)
    yield from (f"warning: {text}" for text in outcome.warnings)
    if outcome.queue is not None:
        yield f"queue: {queue_text(outcome.queue)}"


def queue_text(queue: QueueOutcome) -> str:
    """Return what a queue does with a job in one line."""
    parts = [queue.state]
    if queue.cluster_queue:
        parts.append(f"in {queue.cluster_queue}")
    if queue.position:
        parts.append(f"at position {queue.position}")
    if queue.preempts:
        parts.append(f"after preempting {', '.join(queue.preempts)}")
    return " ".join(parts) + (f": {queue.message}" if queue.message else "")


def fenced(diff_lines: Sequence[str]) -> list[str]:
    """Put a diff into a fence of Markdown; one longer than any run of back ticks in it."""
    if not diff_lines:
        return []
    longest = max((len(run) for line in diff_lines for run in line.split() if set(run) == {"`"}), default=0)
    fence = "`" * max(3, longest + 1)
    return ["", f"{fence}diff", *diff_lines, fence]


def cell(text: str) -> str:
    """Make a text safe for one line of Markdown: no table, link or image begins in it, and nobody is called by it."""
    plain = _MARKDOWN.sub(r"\\\1", text)
    return plain.replace("<", "&lt;").replace("\n", " ").replace("@", "@\u200b")
