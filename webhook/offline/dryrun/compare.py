"""Compares the results of the same objects under two sets of policies, grouped by what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from webhook.offline.dryrun.outcome import ObjectOutcome, diff_of


class Change(StrEnum):
    """How an object's outcome differs, the gravest first."""

    DENIED = "now denied"
    ALLOWED = "now allowed"
    REWORDED = "denied with a different message"
    RESHAPED = "stored differently"
    QUEUED = "queued differently"
    WARNED = "allowed with different warnings"


ORDER: Final = tuple(Change)


@dataclass(frozen=True, slots=True)
class Difference:
    """One object whose outcome differs. `old` is under the other policies, `new` under these."""

    change: Change
    old: ObjectOutcome
    new: ObjectOutcome

    @property
    def warns_differently(self) -> bool:
        """Whether the warnings of an object that is allowed differ, whatever else does."""
        return self.old.allowed and self.new.allowed and set(self.old.warnings) != set(self.new.warnings)

    def diff(self) -> list[str]:
        """Return the difference between the two stored forms, as a unified diff."""
        if self.change is not Change.RESHAPED:
            return []
        return diff_of(self.old.after, self.new.after)


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """All differences, the gravest first, out of `total` objects."""

    differences: tuple[Difference, ...]
    total: int

    def count(self, change: Change) -> int:
        """How many objects differ in this way."""
        return sum(d.change is change for d in self.differences)

    def sentences(self) -> list[str]:
        """Return the counts in words: `14 of 2,310 objects would now be denied`, a sentence per kind of change."""
        counted = [(change, self.count(change)) for change in ORDER]
        told = [f"{n:,} of {self.total:,} objects would {_be(change)}." for change, n in counted if n]
        return told or [f"No change for {self.total:,} object{'' if self.total == 1 else 's'}."]


def _be(change: Change) -> str:
    now = change.value.removeprefix("now ")
    return f"be {change}" if now == change else f"now be {now}"


def compare(old: Sequence[ObjectOutcome], new: Sequence[ObjectOutcome]) -> ChangeSet:
    """Hold the outcomes of the same objects, in the same order, against each other."""
    pairs = [(_change(a, b), a, b) for a, b in zip(old, new, strict=True)]
    found = [Difference(change, a, b) for change, a, b in pairs if change is not None]
    return ChangeSet(tuple(sorted(found, key=lambda d: ORDER.index(d.change))), len(pairs))


def _change(old: ObjectOutcome, new: ObjectOutcome) -> Change | None:
    if old.allowed != new.allowed:
        return Change.DENIED if old.allowed else Change.ALLOWED
    if not new.allowed:
        return None if set(old.denials) == set(new.denials) else Change.REWORDED
    if old.after != new.after:
        return Change.RESHAPED
    if old.queue != new.queue:
        return Change.QUEUED
    return None if set(old.warnings) == set(new.warnings) else Change.WARNED
