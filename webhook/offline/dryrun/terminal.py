"""Outcomes and comparisons as text: coloured on a terminal, plain in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.text import Text

from webhook.offline.dryrun.compare import Change, ChangeSet
from webhook.offline.dryrun.evaluate import Trial
from webhook.offline.dryrun.outcome import ObjectOutcome, OutcomeState
from webhook.offline.dryrun.show import sentences, totals

STYLES: Final = {
    OutcomeState.DENIED: "bold red",
    OutcomeState.PATCHED: "bold cyan",
    OutcomeState.WARNED: "bold yellow",
    OutcomeState.ALLOWED: "bold green",
    OutcomeState.UNMATCHED: "dim",
}
_CHANGES: Final = {Change.DENIED: "bold red", Change.REWORDED: "bold red", Change.ALLOWED: "bold green"}
_SAID: Final = {"denied": "red", "warning": "yellow", "queue": "cyan"}
_LINES: Final = {"+": "green", "-": "red", "@": "dim cyan"}


def trial_text(trial: Trial, *, every: bool) -> Iterator[Text]:
    """Yield what would happen, object by object; those that no policy is about only where `every` asks for them."""
    for outcome in trial.outcomes:
        if every or outcome.state is not OutcomeState.UNMATCHED or outcome.queue:
            yield from outcome_text(outcome)
    for note in trial.notes:
        yield Text(f"note: {note}", "dim")
    total = len(trial.outcomes)
    counted = ", ".join(f"{n:,} {state}" for state, n in totals(trial.outcomes).items())
    worst = next((STYLES[s] for s in OutcomeState if any(o.state is s for o in trial.outcomes)), "")
    yield Text.assemble(f"{total:,} object{'s' if total != 1 else ''}: ", (counted or "nothing to evaluate", worst))


def outcome_text(outcome: ObjectOutcome) -> Iterator[Text]:
    """Yield one outcome: a head line, what the user would be told, and the change as a diff."""
    by = f"  by {', '.join(outcome.by)}" if outcome.by else ""
    yield Text.assemble((str(outcome.ref), "bold"), ": ", (str(outcome.state), STYLES[outcome.state]), (by, "dim"))
    for said in sentences(outcome):
        yield Text(f"  {said}", _SAID.get(said.partition(":")[0], ""))
    yield from diff_text(outcome.diff())


def diff_text(lines: Sequence[str]) -> Iterator[Text]:
    """Colour a unified diff."""
    for line in lines:
        yield Text(f"  {line}", _LINES.get(line[:1], ""))


def comparison_text(comparison: ChangeSet, notes: Sequence[str]) -> Iterator[Text]:
    """Yield the differences, the gravest first, and the counts in words."""
    for difference in comparison.differences:
        new, old = difference.new, difference.old
        style = _CHANGES.get(difference.change, "bold cyan")
        yield Text.assemble((str(new.ref), "bold"), ": ", (str(difference.change), style))
        was, now = list(sentences(old)), list(sentences(new))
        yield from (Text(f"  - {said}", "red") for said in was if said not in now)
        yield from (Text(f"  + {said}", "green") for said in now if said not in was)
        yield from diff_text(difference.diff())
    yield from (Text(f"note: {note}", "dim") for note in notes)
    grave = comparison.count(Change.DENIED)
    yield from (Text(sentence, "bold red" if grave else "bold") for sentence in comparison.sentences())
