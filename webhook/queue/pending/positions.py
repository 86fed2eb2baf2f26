"""Positions in a queue: how many workloads wait before a place, counted in sorted blocks.

Changes are noted and applied at the next question, so a queue whose positions are never asked costs nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable
from operator import itemgetter
from typing import Final, Generic, TypeVar

from webhook.queue.rules import Key

T = TypeVar("T", bound=Hashable)
BLOCK: Final = 512
"""Entries in a block after a full sort; a block of twice as many is split."""
REBUILT: Final = 10
"""All entries are sorted again if a tenth of them moved: a move costs ten times its share of a sort."""

_rank: Final = itemgetter(0)


class SortedBlocks(Generic[T]):
    """Entries sorted by rank; ranks are unique."""

    __slots__ = ("blocks",)

    def __init__(self, pairs: Iterable[tuple[Key, T]] = ()) -> None:
        ordered = sorted(pairs, key=_rank)
        self.blocks = [ordered[at : at + BLOCK] for at in range(0, len(ordered), BLOCK)]

    def add(self, rank: Key, entry: T) -> None:
        """Add an entry."""
        if not self.blocks:
            self.blocks.append([(rank, entry)])
            return
        at = min(self._block(rank, _rank), len(self.blocks) - 1)
        block = self.blocks[at]
        block.insert(bisect_left(block, rank, key=_rank), (rank, entry))
        if len(block) > 2 * BLOCK:
            self.blocks[at : at + 1] = [block[:BLOCK], block[BLOCK:]]

    def remove(self, rank: Key) -> None:
        """Remove the entry that was added with this rank."""
        at = self._block(rank, _rank)
        block = self.blocks[at]
        del block[bisect_left(block, rank, key=_rank)]
        if not block:
            del self.blocks[at]

    def before(self, place: Key, place_of: Callable[[tuple[Key, T]], Key]) -> int:
        """Count those before a place; `place_of` orders them as their ranks do."""
        at = self._block(place, place_of)
        count = sum(map(len, self.blocks[:at]))
        return count + (bisect_left(self.blocks[at], place, key=place_of) if at < len(self.blocks) else 0)

    def _block(self, place: Key, place_of: Callable[[tuple[Key, T]], Key]) -> int:
        """Find the first block that does not end before a place."""
        return bisect_left(self.blocks, place, key=lambda block: place_of(block[-1]))


class Positions(Generic[T]):
    """The entries that wait in a queue, by lane. `where` returns an entry's lane and rank, None if it waits no more."""

    __slots__ = ("_changed", "_known", "_lanes", "_where")

    def __init__(self, waiting: Iterable[T], where: Callable[[T], tuple[str, Key] | None]) -> None:
        self._where = where
        self._changed: dict[T, None] = dict.fromkeys(waiting)
        self._known: dict[T, tuple[str, Key]] = {}
        self._lanes: dict[str, SortedBlocks[T]] = {}

    def note(self, entry: T) -> None:
        """Note that an entry's place changed, or that it waits no longer."""
        self._changed[entry] = None

    def before(self, place: Key, rank: Callable[[T], Key] | None = None) -> int:
        """Count the entries before a place, by the ranks they were added with, or by `rank` over all lanes."""
        self._take_in()
        place_of = _rank if rank is None else lambda pair: rank(pair[1])
        return sum(lane.before(place, place_of) for lane in self._lanes.values())

    def _take_in(self) -> None:
        changed, self._changed = self._changed, {}
        places = ((entry, self._known.get(entry), self._where(entry)) for entry in changed)
        moved = [(entry, before, after) for entry, before, after in places if before != after]
        for entry, _, after in moved:
            if after is None:
                del self._known[entry]
            else:
                self._known[entry] = after
        if len(moved) * REBUILT > len(self._known):
            pairs: dict[str, list[tuple[Key, T]]] = {}
            for entry, (lane, rank) in self._known.items():
                pairs.setdefault(lane, []).append((rank, entry))
            self._lanes = {lane: SortedBlocks(found) for lane, found in pairs.items()}
        else:
            for entry, before, after in moved:
                self._move(entry, before, after)

    def _move(self, entry: T, before: tuple[str, Key] | None, after: tuple[str, Key] | None) -> None:
        if before is not None:
            self._lanes[before[0]].remove(before[1])
        if after is not None:
            if (lane := self._lanes.get(after[0])) is None:
                lane = self._lanes[after[0]] = SortedBlocks()
            lane.add(after[1], entry)
