"""Evictions that the `evict` rules ask for, of workloads that hold quota.

The back-off of a workload that is evicted because its pods were not ready in time is computed here, by `requeue`. Both
rules are in `policies/queue/kueue/policy.yaml`; `policies/queue/pods-ready/policy.yaml` evicts such workloads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from webhook.queue.cycle.round import Log
from webhook.queue.decisions import Evicted, FailedRule
from webhook.queue.definitions import local_of
from webhook.queue.model import BY_PODS_READY_TIMEOUT, LocalQueue
from webhook.queue.pending.queue import Entry, Status
from webhook.queue.rules import Departure
from webhook.queue.state import State
from webhook.queue.workload_facts import facts_of

STANDS: Final = frozenset({"workload", "workload.admission", "workload.admitted", "workload.evicted"})
"""Workload fields that the core itself changes; all others are as the object has them."""


def evict(state: State, due: Iterable[str], log: Log) -> None:
    """Evict what the `evict` rules name among the workloads with the keys `due`: they changed, or their time came."""
    now, stands = state.changes.now, _reads_what_stands(state)
    for key in due:
        entry = state.entries.get(key)
        if entry is None or entry.status != Status.HOLDING or entry.admission is None or entry.victim is None:
            continue
        if entry.victim.evicted:
            continue
        departure = _departure(state, entry, log, stands=stands)
        if departure is not None and departure.at <= now:
            entry.victim.evicted, entry.evict_at = True, 0
            again = _back_at(state, entry) if departure.reason == BY_PODS_READY_TIMEOUT else 0
            queue_name = entry.admission.cluster_queue
            log.evicted.append(Evicted(key, queue_name, departure.reason, departure.message, again))
        else:
            _ask_at(state, entry, departure.at if departure is not None else 0)


def schedule_evictions(state: State, log: Log) -> None:
    """Schedule the evictions that `evict` rules ask for among workloads admitted in this call.

    None is evicted in the call that admitted it: an eviction that is due at once happens in the next call, even at the
    same time. The same holds for every holder of quota in a rebuilt state.
    """
    now, stands = state.changes.now, _reads_what_stands(state)
    for decision in (*log.admitted, *(log.ready if stands else ())):
        entry = state.entries[decision.workload]
        departure = _departure(state, entry, log, stands=stands)
        if departure is None or departure.at > now:
            state.due.pop(entry.key, None)
        else:
            state.due[entry.key] = None
        if departure is not None:
            _ask_at(state, entry, max(departure.at, now + 1))


def _back_at(state: State, entry: Entry) -> int:
    """Return the end of the back-off (milliseconds) of a workload that is evicted because its pods were not ready."""
    rules, now = state.rules, state.changes.now
    assert rules is not None
    count = entry.workload.requeue_count + 1
    again = replace(
        entry.workload, requeue_at=0, requeue_count=count, evicted_at=now, evicted_reason=BY_PODS_READY_TIMEOUT
    )
    return rules.requeue(again, now)


def _ask_at(state: State, entry: Entry, at: int) -> None:
    """Ask the `evict` rules again at a time (milliseconds; 0: never), even if nothing changes before."""
    entry.evict_at = at
    if at:
        state.evictions.set(at, entry.key)


def _reads_what_stands(state: State) -> bool:
    """Return whether `evict` rules read fields that the core itself changes (`STANDS`)."""
    assert state.rules is not None
    return not STANDS.isdisjoint(state.rules.reads.get("evict", ()))


def _departure(state: State, entry: Entry, log: Log, *, stands: bool) -> Departure | None:
    rules, workload, admission = state.rules, entry.workload, entry.admission
    assert rules is not None
    assert admission is not None
    queue = state.cluster_queues[admission.cluster_queue]
    local = state.local_queues.get(local_of(workload))
    local = local or LocalQueue(workload.namespace, workload.queue_name, queue.name)
    try:
        return rules.evict(facts_of(entry) if stands else workload, queue, local, state.changes.now)
    except rules.failures as error:
        log.failed.append(FailedRule(entry.key, rules.failed(error)))
        return None
