"""The values of an import: policies with their tests, the files made of them, and notes on what was not converted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from webhook import setting_values
from webhook.diagnostics import Place
from webhook.documents import Document
from webhook.policy.loading.policy_kinds import MUTATING

Object = dict[str, Any]
Read = Callable[[Path], Sequence[Document]]
"""Gives the documents of a file that another file names. Raises SourceError."""


class Fate(StrEnum):
    """What became of a policy or a test that did not go over as it was."""

    LEFT_OUT = "not imported"
    DIFFERS = "imported, differs"
    SKIPPED = "skipped in the suite"


@dataclass(frozen=True, slots=True, order=True)
class ImportNote:
    """Something that is not the same afterwards: where it stands, what it is, and why."""

    place: Place
    fate: Fate
    what: str
    why: str

    def __str__(self) -> str:
        """One line, with the file and the line first."""
        return f"{self.place}: {self.fate}: {self.what}: {self.why}"


def misnamed(value: object) -> str:
    """Return why a value is no name of an object, and so of no folder; nothing where it is one."""
    try:
        setting_values.name(value)
    except ValueError as error:
        return str(error)
    return ""


@dataclass(frozen=True, slots=True)
class ForeignTest:
    """One test: a case of a suite without its `expect`, and what may be expected, the likeliest first."""

    name: str
    place: Place
    case: Object
    expects: tuple[Object, ...]


@dataclass(frozen=True, slots=True)
class Converted:
    """Policies that belong into one folder: documents by file name, in the order they are to be written.

    `what` is the kind and the name of the policy they were made from, whose places they keep, `file` where it stands.
    `differs` is what is told of it if it is imported.
    `suites` are the tests, by the name of their suite; each is of the files that `tested` names, else of all.
    """

    what: str
    name: str
    file: str
    files: dict[str, tuple[Document, ...]]
    differs: tuple[ImportNote, ...] = ()
    suites: dict[str, list[ForeignTest]] = field(default_factory=dict)
    tested: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def mutates(self) -> bool:
        """Whether the policy changes objects."""
        return bool(self.files["policy.yaml"][0].value["kind"] == MUTATING)


@dataclass(frozen=True, slots=True)
class Import:
    """Folders of files, by name, as YAML documents; what is told; and how many policies and tests were met."""

    folders: dict[str, dict[str, list[Object]]]
    told: tuple[ImportNote, ...]
    policies: int = 0
    cases: int = 0
    skipped: int = 0
