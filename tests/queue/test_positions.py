"""Positions are counted exactly, whatever changed since somebody last asked."""

from __future__ import annotations

from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.queue.pending import positions
from webhook.queue.pending.positions import Positions

CHANGES = st.lists(st.tuples(st.integers(0, 40), st.one_of(st.none(), st.integers(0, 9)), st.booleans()), max_size=120)


@settings(deadline=None)
@given(CHANGES, st.integers(1, 3), st.integers(1, 40))
def test_positions_are_those_of_a_sorted_list(
    changes: list[tuple[int, int | None, bool]], lanes: int, rebuilt: int
) -> None:
    """Entries come, move and go; in small blocks, taken in one by one or sorted anew, each has its place."""
    with mock.patch.multiple(positions, BLOCK=2, REBUILT=rebuilt):
        ranks: dict[int, tuple[int, int]] = {n: (n % 7, n) for n in range(10)}
        counted = Positions(list(ranks), lambda n: (str(n % lanes), ranks[n]) if n in ranks else None)
        for entry, rank, asked in changes:
            ranks.pop(entry, None)
            if rank is not None:
                ranks[entry] = (rank, entry)
            counted.note(entry)
            if asked:
                ordered = sorted(ranks.values())
                assert [counted.before(place) for place in ordered] == list(range(len(ordered)))
                assert counted.before((99, 0)) == len(ordered)
                assert counted.before((-1, 0), ranks.__getitem__) == 0
