"""Facts that the lines emitted so far guarantee at the next line, on every path that leads there.

A local name is assigned once on each path and its value is not changed after that; so what a line checks about it holds
for all later lines of the same block, and of the blocks within it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import Fold, Ident, Node, Select

Fact = tuple[str, ...]
MARK = "\0"
"""Begins a line that stands for those taken out of the loop behind it."""


@dataclass(frozen=True, slots=True)
class WrittenLoop:
    """A loop that is being written: what was taken out of it stands at `mark`, in the block numbered `block`."""

    mark: str
    block: int
    indent: str
    lines: list[str]


@dataclass(slots=True)
class KnownFacts:
    """Facts by the block that they were found in, the outermost first."""

    blocks: list[dict[Fact, str]] = field(default_factory=lambda: [{}])
    loops: list[WrittenLoop] = field(default_factory=list)
    taken_out: dict[str, list[str]] = field(default_factory=dict)
    homes: dict[str, WrittenLoop] = field(default_factory=dict)
    """The loops that names were taken out of."""

    def find(self, fact: Fact) -> str | None:
        """What was noted with a fact, None where it is not known."""
        return next((block[fact] for block in reversed(self.blocks) if fact in block), None)

    def learn(self, fact: Fact, name: str = "") -> None:
        """Note a fact that the lines written so far make certain."""
        self.blocks[-1][fact] = name

    def begin(self, indent: str) -> str:
        """Begin a loop; gives the line that stands before it."""
        mark = f"{MARK}{len(self.taken_out)}"
        lines = self.taken_out[mark] = []
        self.loops.append(WrittenLoop(mark, len(self.blocks) - 1, indent, lines))
        return mark

    def end(self) -> None:
        """End the loop begun last."""
        self.loops.pop()

    def in_place(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines, with those taken out of loops at their places."""
        for line in lines:
            if line.startswith(MARK):
                yield from self.in_place(self.taken_out[line])
            else:
                yield line

    def outside(self, needed: tuple[Fact, ...]) -> WrittenLoop | None:
        """The outermost loop before which all these facts are known: a line that needs them can stand there."""
        for loop in self.loops:
            if all(any(fact in block for block in self.blocks[: loop.block + 1]) for fact in needed):
                return loop
        return None


@dataclass(frozen=True, slots=True)
class Asked:
    """What a tree asks for more than once: the fields of names, also those in a loop, and the paths of fields."""

    often: frozenset[str]
    shared: frozenset[tuple[str, ...]]


def asked(root: Node) -> Asked:
    """Look through a tree."""
    seen: set[str] = set()
    often: set[str] = set()
    paths: set[tuple[str, ...]] = set()
    shared: set[tuple[str, ...]] = set()
    waiting = [(root, False)]
    while waiting:
        node, looped = waiting.pop()
        if isinstance(node, Select):
            if isinstance(node.operand, Ident):
                (often if looped or node.field in seen else seen).add(node.field)
            if (steps := path(node)) is not None:
                (shared if steps in paths else paths).add(steps)
        if isinstance(node, Fold):
            waiting += [(part, True) for part in (node.condition, node.step)]
            waiting += [(part, looped) for part in (node.range, node.init, node.result)]
        else:
            waiting += [(part, looped) for part in nodes.children(node)]
    return Asked(frozenset(often), frozenset(shared))


def path(node: Node) -> tuple[str, ...] | None:
    """The name that fields are selected from, and the fields; None for anything else."""
    fields: list[str] = []
    while isinstance(node, Select) and not node.test:
        fields.append(node.field)
        node = node.operand
    return (*fields, node.name) if fields and isinstance(node, Ident) else None
