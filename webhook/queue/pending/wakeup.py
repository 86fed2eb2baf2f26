"""Which kinds that did not fit are worth looking at again, after what changed since.

A kind is woken only when one of the numbers it failed on came within reach, when someone it could evict came, or when
its own queue gave quota back; without that, looking again would give the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from webhook.queue.pending.queue import Entry, Kind, Line
from webhook.queue.quota.tree import Tree
from webhook.queue.rules import Reach, Rules, Variant

Lines = Mapping[Tree, Sequence[Line]]


class Changes:
    """What changed in a state since kinds were last woken. `now` is the latest time heard of."""

    __slots__ = ("always", "arrived", "by_watch", "crossing", "freed", "moved", "now")

    def __init__(self) -> None:
        self.now = 0
        self.freed: dict[Line, None] = {}
        self.moved: dict[Tree, None] = {}
        self.arrived: list[tuple[Entry, Line]] = []
        self.crossing: dict[Tree, dict[Kind, None]] = {}
        self.always: dict[Kind, None] = {}
        self.by_watch: set[Kind] = set()

    def held(self, entry: Entry, line: Line) -> None:
        """Hear that an entry got quota."""
        tree = line.node.tree
        self.moved[tree] = None
        if line.blocked or self.crossing.get(tree):
            self.arrived.append((entry, line))

    def released(self, line: Line) -> None:
        """Hear that a queue gave quota back."""
        self.freed[line] = None
        self.moved[line.node.tree] = None

    def blocked(self, kind: Kind) -> None:
        """Hear that a kind was set aside."""
        if kind.crosses:
            self.crossing.setdefault(kind.line.node.tree, {})[kind] = None

    def wake(self, rules: Rules, lines: Lines) -> Iterator[Line]:
        """Make kinds active that may fit now, and give their lines.

        `by_watch` are those that only quota within reach speaks for: where it is gone again, they need no look.
        """
        woken = dict.fromkeys(self.always)
        for entry, line in self.arrived:
            if entry.victim is not None:
                woken.update(dict.fromkeys(self._hunters(entry, line, rules)))
        sure, self.by_watch = set(woken), set()
        freed = {line.node.tree for line in self.freed}
        above = {node for line in self.freed for node in (line.node, *line.node.path[1:-1])}
        for tree in self.moved:
            free: dict[int, int] = {}
            for line in (line for line in lines[tree] if line.blocked):
                near = tree in freed and not above.isdisjoint(line.node.path)
                try:
                    closer = near and _reaches(line, rules)
                    asked = line.blocked if tree in freed else ()
                    helped = [k for k in asked if not k.volatile and _in_reach(k, tree, free)]
                except rules.failures:
                    # A rule that fails here fails when its kind is looked at, too, and is told of there.
                    closer, helped = True, list(line.blocked)
                for kind in line.blocked:
                    if kind.volatile or (closer and kind.hunts):
                        sure.add(kind)
                        woken[kind] = None
                woken.update(dict.fromkeys(helped))
        self.freed, self.moved, self.arrived, self.always = {}, {}, [], {}
        for kind in woken:
            if kind.blocked:
                if kind not in sure:
                    self.by_watch.add(kind)
                self.crossing.get(kind.line.node.tree, {}).pop(kind, None)
                kind.line.unblock(kind)
                yield kind.line

    def _hunters(self, entry: Entry, line: Line, rules: Rules) -> Iterator[Kind]:
        """Give the kinds that could evict a newcomer."""
        victim = entry.victim
        assert victim is not None
        tree = line.node.tree
        crossing = self.crossing.get(tree) or {}
        for kind in (*line.blocked, *(k for k in crossing if k.line is not line)):
            if not kind.hunts or not kind.blocked or kind.volatile:
                continue
            head = kind.head()
            if head is None:
                continue
            with suppress(*rules.failures):
                if kind.line is not line and not tree.over(line.node, range(tree.width), tree.usage):
                    continue
                if rules.candidate(victim, head.workload, kind.line.queue, False) != Variant.NEVER:
                    yield kind


def _reaches(line: Line, rules: Rules) -> bool:
    """Say whether a queue that uses less than before may look for victims in other queues, at its best."""
    return line.node.parent is not None and rules.reach(line.queue, Reach(True, True, True))


def _in_reach(kind: Kind, tree: Tree, free: dict[int, int]) -> bool:
    """Say whether a number that a kind failed on came within reach; `free` remembers what is available where."""
    for at, amount in kind.watch:
        if at not in free:
            free[at] = tree.available(at, tree.usage)
        if free[at] >= amount:
            return True
    return False
