"""Applies an event of a workload to a state: it came, changed, left, was evicted, or its admission was not written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from webhook.queue.events import AdmissionUnwritten, WorkloadChanged, WorkloadEvicted, WorkloadGone
from webhook.queue.model import Workload
from webhook.queue.pending.queue import Entry, Status
from webhook.queue.workload_facts import facts_of, requeued, retries_parked, stays_first, unwritten

if TYPE_CHECKING:
    from webhook.queue.state import State


def told(state: State, event: WorkloadChanged | WorkloadGone | AdmissionUnwritten | WorkloadEvicted) -> None:
    """Change the state by one event of a workload."""
    if isinstance(event, WorkloadChanged):
        _changed(state, event.workload)
    elif (entry := state.entries.get(event.key)) is not None:
        match event:
            case WorkloadGone():
                state.withdraw(entry)
                state.remove(entry)
            case WorkloadEvicted(_, queued_at, requeue_at):
                _wait_again(state, entry, requeued(entry.workload, queued_at, requeue_at))
            case AdmissionUnwritten():
                _undo_admission(state, entry)


def _changed(state: State, workload: Workload) -> None:
    entry = state.entries.get(workload.key)
    waited = entry is not None and entry.status == Status.WAITING
    if entry is not None and stays_first(entry, workload):
        workload = replace(workload, first=True)
    if entry is None:
        entry = Entry(workload, workload.key)
    elif facts_of(entry) == workload:
        return
    else:
        state.withdraw(entry, retry=retries_parked(entry, workload))
        state.remove(entry)
        entry.verdict = None
    entry.workload, entry.admission, entry.admitted = workload, None, False
    state.add(entry)
    state.enter(entry)
    if waited and workload.admission is not None and entry.status == Status.HOLDING:
        state.accounting.charge(workload, workload.admission)


def _undo_admission(state: State, entry: Entry) -> None:
    """Let a workload wait as if it had not been admitted; who was denied because of its charge is looked at again."""
    if entry.admission is not None:
        state.accounting.take_back(entry.workload, entry.admission)
        state.changes.always.update(dict.fromkeys(state.changes.denied))
        _wait_again(state, entry, unwritten(entry.workload))


def _wait_again(state: State, entry: Entry, workload: Workload) -> None:
    state.withdraw(entry)
    entry.workload, entry.admission, entry.admitted = workload, None, False
    entry.verdict, entry.preemptor = None, ""
    state.enter(entry)
