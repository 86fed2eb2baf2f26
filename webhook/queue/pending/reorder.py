"""Entries take the place that the rules give them now: `order` may look at the time, and at what was used lately."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from webhook.queue.pending.queue import Entry, Status

if TYPE_CHECKING:
    from webhook.queue.state import State


def follow_usage(state: State) -> None:
    """Put LocalQueues in order again whose decayed usage is another than before.

    Where usage is a key of its own there is nothing to do: it is looked at when LocalQueues are compared.
    """
    assert state.rules is not None
    changed, state.accounting.changed = state.accounting.changed, {}
    if not state.rules.usage_apart:
        for local in changed:
            reorder(state, state.by_local.get(local, {}).values())


def reorder(state: State, entries: Iterable[Entry]) -> None:
    """Ask `order` again about waiting entries, and about those that a rule failed on."""
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
