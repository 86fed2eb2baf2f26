"""A QueuePolicy document among those it extends: what the loader of rules works on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from webhook.documents import Document


@dataclass(frozen=True, slots=True, eq=False)
class RuleFile:
    """A QueuePolicy, and the QueuePolicies right below it, which it extends."""

    document: Document
    bases: tuple[RuleFile, ...] = ()

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.document.at(("metadata", "name")))

    @property
    def spec(self) -> dict[str, Any]:
        """What it says; nothing where that is no map."""
        spec = self.document.at(("spec",))
        return spec if isinstance(spec, dict) else {}

    def below(self) -> Iterator[RuleFile]:
        """Yield all that it extends, itself or by way of others; some perhaps twice."""
        for base in self.bases:
            yield base
            yield from base.below()


def in_order(files: Iterable[RuleFile]) -> list[RuleFile]:
    """Return files and all that they extend, each once and behind what it extends: what comes later wins."""
    ordered: dict[RuleFile, None] = {}

    def add(file: RuleFile) -> None:
        for base in file.bases:
            add(base)
        ordered.setdefault(file)

    for file in files:
        add(file)
    return list(ordered)
