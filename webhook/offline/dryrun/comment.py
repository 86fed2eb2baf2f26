"""A comparison as a pull request comment: the teams affected, and objects newly denied, changed or queued differently.

Objects with the same result are grouped, the most severe first. If there is no room for all, the rest is counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from webhook.offline.dryrun.compare import Change, ChangeSet, Difference
from webhook.offline.dryrun.show import cell, fenced, queue_text

MARK: Final = "<!-- sluice dry-run -->"
"""The first line of a comment: by it CI finds the one to update."""
MOST_CHARACTERS: Final = 60_000
"""GitHub takes 65,536 in a comment."""
MOST_NAMES: Final = 10
MOST_NAMESPACES: Final = 20
MOST_DIFF_LINES: Final = 40


@dataclass(frozen=True, slots=True)
class Part:
    """What is told of some objects together."""

    text: str
    objects: int


@dataclass(frozen=True, slots=True)
class Section:
    """Parts below one heading; those that have no room are counted."""

    heading: str
    parts: tuple[Part, ...]


def comparison_markdown(comparison: ChangeSet, against: str, notes: Sequence[str]) -> str:
    """Return a comparison as a comment of at most MOST_CHARACTERS characters."""
    head = [MARK, f"### Sluice: changes against `{against}`", "", _summary(comparison)]
    head += _namespaces(comparison.differences)
    told = "\n".join(["", *(f"> {cell(note)}" for note in notes)])[: MOST_CHARACTERS // 10] if notes else ""
    text = "\n".join(head) + "\n"
    return text + _fitting(_sections(comparison.differences), MOST_CHARACTERS - len(text) - len(told) - 1) + told + "\n"


def _summary(comparison: ChangeSet) -> str:
    return "\n".join(f"- {sentence}" for sentence in comparison.sentences())


def _namespaces(differences: Sequence[Difference]) -> Iterator[str]:
    """Yield the table of whom it concerns: a line for each namespace, a column for each change that there is."""
    changes = [change for change in Change if any(d.change is change for d in differences)]
    counted = Counter((d.new.ref.namespace, d.change) for d in differences)
    concerned = Counter(d.new.ref.namespace for d in differences)
    if len(concerned) < 2:
        return
    yield from ("", f"| namespace | {' | '.join(changes)} |", "|---" * (len(changes) + 1) + "|")
    for namespace, _ in concerned.most_common(MOST_NAMESPACES):
        numbers = (f"{n:,}" if (n := counted[namespace, change]) else "" for change in changes)
        yield f"| {cell(namespace) or '(cluster)'} | {' | '.join(numbers)} |"
    if (more := len(concerned) - MOST_NAMESPACES) > 0:
        yield f"\nand {more:,} more namespaces"


def _fitting(sections: Iterable[Section], room: int) -> str:
    """Return as many parts as have room, those of the first sections first, and count the objects that have none."""
    left, lines = 0, list[str]()
    room -= len(_left_out(10**9))
    for section in sections:
        kept: list[str] = []
        for part in section.parts:
            needed = len(part.text) + 1 + (0 if kept else len(section.heading) + 2)
            if needed > room:
                left += part.objects
                continue
            room -= needed
            kept.append(part.text)
        lines += ["", section.heading, *kept] if kept else []
    return "\n".join(lines) + (_left_out(left) if left else "")


def _left_out(objects: int) -> str:
    return f"\n\n{objects:,} more objects not shown; use `-o json` to list all."


def _sections(differences: Sequence[Difference]) -> Iterator[Section]:
    """Yield the sections that have something to tell."""
    for change in (Change.DENIED, Change.REWORDED, Change.ALLOWED, Change.WARNED):
        group = [d for d in differences if (d.warns_differently if change is Change.WARNED else d.change is change)]
        if group:
            yield Section(f"#### {change.capitalize()}\n", tuple(_together(group, _said, _words)))
    reshaped = [d for d in differences if d.change is Change.RESHAPED]
    if reshaped:
        yield Section("#### Stored differently\n", tuple(_together(reshaped, _changed, _folded)))
    queued = [d for d in differences if d.old.allowed and d.new.allowed and d.old.queue != d.new.queue]
    if queued:
        heading = "#### Queued differently\n\n| job | before | now |\n|---|---|---|"
        yield Section(heading, tuple(_together(queued, _moved, _row)))


def _together(
    group: Iterable[Difference], key: Callable[[Difference], Hashable], write: Callable[[Sequence[Difference]], str]
) -> Iterator[Part]:
    """Put objects of which the same is told into one part; the most numerous first."""
    found: dict[Hashable, list[Difference]] = defaultdict(list)
    for difference in group:
        found[key(difference)].append(difference)
    for same in sorted(found.values(), key=len, reverse=True):
        yield Part(write(same), len(same))


def _said(difference: Difference) -> tuple[str, ...]:
    """Return what the user is told now, and what no longer."""
    was, now = ((*o.denials, *o.warnings) for o in (difference.old, difference.new))
    return (*(f"no longer: {text}" for text in was if text not in now), *now)


def _words(same: Sequence[Difference]) -> str:
    return "\n".join([*(f"- {cell(text)}" for text in _said(same[0])), f"  - {_names(same)}"])


def _changed(difference: Difference) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the lines that change, without those around them, and the policies that change them now."""
    return tuple(line for line in difference.diff() if line[0] in "+-"), difference.new.changed_by


def _folded(same: Sequence[Difference]) -> str:
    """Show the diff of the first; of the others it is the same, but for the lines around."""
    lines, policies = _changed(same[0])
    by = f", by {', '.join(policies)}" if policies else ""
    added = sum(line[0] == "+" for line in lines)
    diff = ["@@" if line[:2] == "@@" else line for line in same[0].diff()]
    more = [f"… {len(diff) - MOST_DIFF_LINES} more lines"] if len(diff) > MOST_DIFF_LINES else []
    count = f"{len(same):,} object{'' if len(same) == 1 else 's'}: +{added} -{len(lines) - added} lines{by}"
    shown = fenced([*diff[:MOST_DIFF_LINES], *more])
    return "\n".join(["<details>", f"<summary>{cell(count)}</summary>", "", _names(same), *shown, "", "</details>"])


def _moved(difference: Difference) -> tuple[str, str, str]:
    was, now = (queue_text(o.queue) if o.queue else "no queue" for o in (difference.old, difference.new))
    return str(difference.new.ref), was, now


def _row(same: Sequence[Difference]) -> str:
    return f"| {' | '.join(cell(text) for text in _moved(same[0]))} |"


def _names(same: Sequence[Difference]) -> str:
    """Name objects, those of which there is room."""
    named = ", ".join(cell(str(difference.new.ref)) for difference in same[:MOST_NAMES])
    more = len(same) - MOST_NAMES
    return named + (f" and {more:,} more" if more > 0 else "")
