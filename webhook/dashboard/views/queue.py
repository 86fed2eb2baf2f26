"""One ClusterQueue: who runs, who waits in its order, and what it was like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from webhook.cluster.pace import Pass, every, in_order
from webhook.dashboard.model.queues import FoundWorkloads, QueueHistory, QueueView, WorkloadPage
from webhook.dashboard.sources import Sources
from webhook.dashboard.views.cluster import column_rows, columns_of, queue_node
from webhook.dashboard.views.rows import Named, Rows, Sees, jobs_of
from webhook.queue.explain import Gathered, explain
from webhook.queue.pending.queue import Entry, PendingQueue

EXPLAINED = 10
"""Rows between two pauses."""
FOUND = 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """A part of both lists: so many rows of each from an offset on, of one namespace where one is named."""

    offset: int = 0
    running_offset: int = 0
    limit: int = 100
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class QueuePast:
    """What a queue was like, and who ended in it lately, as `namespace/name`."""

    history: QueueHistory
    ended: Sequence[str] = ()


def queue_view(sources: Sources, name: str, wanted: Wanted, sees: Sees, past: QueuePast) -> Pass[QueueView | None]:
    """Return, in steps, a queue with the part of its lists that is wanted; None where there is none of this name."""
    state = sources.state
    queue = state.by_queue.get(name)
    node = queue_node(state, sources.counts, name)
    if queue is None or node is None:
        return None
    yield
    shown = _shown(sees, wanted.namespace)
    made = Rows(sources, Named(jobs_of(sources), sees))
    running = yield from _running(made, queue, wanted, shown)
    waiting = yield from _waiting(made, queue, wanted, shown)
    finished = yield from _finished(made, past.ended, shown)
    local_queues = tuple(sorted(key for key, queue in state.local_queues.items() if queue.cluster_queue == name))
    seen = tuple(key for key in local_queues if sees(key.partition("/")[0]))
    columns = column_rows(columns_of(state))
    now = sources.now()
    return QueueView(sources.revision, now, columns, node, seen, running, waiting, finished, past.history)


def _shown(sees: Sees, namespace: str) -> Callable[[Entry], bool]:
    if namespace:
        allowed = sees(namespace)
        return lambda entry: allowed and entry.workload.namespace == namespace
    return lambda entry: sees(entry.workload.namespace)


def _running(made: Rows, queue: PendingQueue, wanted: Wanted, shown: Callable[[Entry], bool]) -> Pass[WorkloadPage]:
    holders = yield from in_order(list(queue.holders.values()), lambda entry: (_reserved_at(entry), entry.key))
    found = yield from _chosen(holders, shown)
    rows = []
    for pause, (_, entry) in every(found[wanted.running_offset :][: wanted.limit], EXPLAINED):
        rows.append(made.any(entry, None))
        if pause:
            yield
    return WorkloadPage(len(holders), len(found), wanted.running_offset, tuple(rows))


def waiting_keys(sources: Sources, name: str, wanted: Wanted, sees: Sees) -> Pass[list[str]]:
    """Return, in steps, the pending workloads of the same part of a queue's list, as `namespace/name`."""
    queue = sources.state.by_queue.get(name)
    if queue is None:
        return []
    _, found = yield from _in_order(queue, _shown(sees, wanted.namespace))
    return [entry.key for _, entry in found[wanted.offset :][: wanted.limit]]


def _in_order(queue: PendingQueue, shown: Callable[[Entry], bool]) -> Pass[tuple[int, list[tuple[int, Entry]]]]:
    """Count what waits in a queue, and give what is shown of it, in its order with the positions."""
    place = queue.place_of()
    # one that goes elsewhere between two steps has no place here any more
    entries = yield from in_order(list(queue.waiting()), lambda entry: place(entry) if queue.has_waiting(entry) else ())
    entries = [entry for entry in entries if queue.has_waiting(entry)]
    return len(entries), (yield from _chosen(entries, shown))


def _waiting(made: Rows, queue: PendingQueue, wanted: Wanted, shown: Callable[[Entry], bool]) -> Pass[WorkloadPage]:
    total, found = yield from _in_order(queue, shown)
    gathered, rows = Gathered(), []
    for pause, (position, entry) in every(found[wanted.offset :][: wanted.limit], EXPLAINED):
        if queue.has_waiting(entry):
            rows.append(made.waiting(entry, gathered, position))
        if pause:
            yield
    return WorkloadPage(total, len(found), wanted.offset, tuple(rows))


def _finished(made: Rows, ended: Sequence[str], shown: Callable[[Entry], bool]) -> Pass[WorkloadPage]:
    entries = [entry for key in ended if (entry := made.sources.state.entries.get(key)) is not None]
    rows = []
    for pause, entry in every([entry for entry in entries if shown(entry)], EXPLAINED):
        rows.append(made.any(entry, None))
        if pause:
            yield
    return WorkloadPage(len(entries), len(rows), 0, tuple(rows))


def _chosen(entries: list[Entry], shown: Callable[[Entry], bool]) -> Pass[list[tuple[int, Entry]]]:
    found = []
    for pause, (position, entry) in every(enumerate(entries, 1)):
        if shown(entry):
            found.append((position, entry))
        if pause:
            yield
    return found


def _reserved_at(entry: Entry) -> int:
    return entry.admission.reserved_at if entry.admission is not None else 0


def find(sources: Sources, text: str, sees: Sees) -> Pass[FoundWorkloads]:
    """Find queues and workloads by a part of their names, or of their job's."""
    state, wanted = sources.state, text.casefold()
    queues = [name for name in sorted(state.by_queue) if wanted in name.casefold()][:FOUND]
    gathered, rows = Gathered(), []
    made = Rows(sources, Named(jobs_of(sources), sees))
    for pause, (key, entry) in every(list(state.entries.items())):
        if pause:
            yield
        if wanted not in key.casefold() or not sees(entry.workload.namespace):
            continue
        rows.append(made.any(entry, explain(state, key, gathered)))
        yield
        if len(rows) == FOUND:
            break
    return FoundWorkloads(tuple(queues), tuple(rows))
