"""One compiled expression of a policy: its text, where it stands in the file, and what it reads. Data only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from webhook.cel.program import Program
from webhook.documents import Path
from webhook.policy.dependencies import reads

Values = tuple[Any, ...]
"""What an expression sees, in the order of its environment's variables."""


class OutOfBudget(Exception):
    """The expressions of a policy together cost more than a policy may. No operator of CEL absorbs it."""


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A CEL expression of a policy. `path` leads to its text in the document, `reads` to what it reads of `object`."""

    text: str
    program: Program = field(repr=False)
    path: Path = ()
    reads: tuple[reads.Path, ...] = reads.EVERYTHING
