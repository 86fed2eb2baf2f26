"""Reordering of waiting entries whose keys changed: `order` rules may read the time and decayed usage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from webhook.queue.pending.queue import Entry, Status

if TYPE_CHECKING:
    from webhook.queue.state import State


def follow_usage(state: State) -> None:
    """Reorder the entries of LocalQueues whose decayed usage changed.

    Where usage is a key of its own, nothing is done: it is read when LocalQueues are compared.
    """
    assert state.rules is not None
    changed, state.accounting.changed = state.accounting.changed, {}
    if not state.rules.usage_apart:
        for local in changed:
            reorder(state, state.by_local.get(local, {}).values())


def reorder(state: State, entries: Iterable[Entry]) -> None:
    """Ask `order` again for all waiting entries, and for those that a rule failed on."""
    assert state.rules is not None
    for entry in list(entries):
        if entry.status == Status.WAITING:
            try:
                rank = state.rank(entry)
            except state.rules.failures as error:
                state.fail(entry, error)
                continue
            if rank != entry.rank:
                entry.rank = rank
                if entry.seq >= 0:
                    state.move(entry)
        elif entry.failed:
            state.enter(entry)
