"""What happens to work that holds quota without any contest: checks that came ready, evictions that rules ask for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from webhook.queue.cycle.round import Log
from webhook.queue.decisions import Admitted, Evicted, FailedRule
from webhook.queue.model import CheckState, ClusterQueue, LocalQueue, PodSetAssignment, Workload
from webhook.queue.pending.queue import Entry, Status
from webhook.queue.quota.accounting import local_of
from webhook.queue.rules import Departure
from webhook.queue.state import State
from webhook.queue.workload_facts import facts_of

STANDS: Final = frozenset({"workload", "workload.admission", "workload.admitted", "workload.evicted"})
"""What a workload comes to while it is in the state; all else is as its object says."""
NOT_READY: Final = "PodsReadyTimeout"
"""The reason of an eviction after which `requeue` says how long the workload waits."""


def checks_ready(workload: Workload, queue: ClusterQueue, pod_sets: Iterable[PodSetAssignment]) -> bool:
    """Say whether all checks that a queue asks for on these flavors are ready (second phase of admission)."""
    if not (uses := queue.admission_checks_strategy.admission_checks):
        return True
    flavors = {flavor for pod_set in pod_sets for flavor in pod_set.flavors.values()}
    asked = [use.name for use in uses if not use.on_flavors or not flavors.isdisjoint(use.on_flavors)]
    return all(workload.checks.get(name) == CheckState.READY for name in asked)


def settle(state: State, log: Log) -> None:
    """Evict whom the rules of `evict` name, and admit whose checks came ready: all that changed, or whose time came."""
    due, state.due = state.due, {}
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
            again = _back_at(state, entry) if departure.reason == NOT_READY else 0
            queue_name = entry.admission.cluster_queue
            log.evicted.append(Evicted(key, queue_name, departure.reason, departure.message, again))
            continue
        _ask_at(state, entry, departure.at if departure is not None else 0)
        if not entry.admitted:
            queue = state.cluster_queues[entry.admission.cluster_queue]
            if checks_ready(entry.workload, queue, entry.admission.pod_set_assignments):
                entry.admitted = True
                log.ready.append(Admitted(key, queue.name, entry.admission.pod_set_assignments))


def set_alarms(state: State, log: Log) -> None:
    """Note when the rules of `evict` want those that were admitted in this call to go; nobody goes in the same call.

    Who is to go at once is asked in the next call, though no time has passed: so is every holder of a state built anew.
    """
    now, stands = state.changes.now, _reads_what_stands(state)
    for decision in log.admitted:
        entry = state.entries[decision.workload]
        departure = _departure(state, entry, log, stands=stands)
        if departure is None or departure.at > now:
            del state.due[entry.key]
        if departure is not None:
            _ask_at(state, entry, max(departure.at, now + 1))


def _back_at(state: State, entry: Entry) -> int:
    """Give until when a workload waits that is put back once more for not becoming ready."""
    rules, now = state.rules, state.changes.now
    assert rules is not None
    count = entry.workload.requeue_count + 1
    again = replace(entry.workload, requeue_at=0, requeue_count=count, evicted_at=now, evicted_reason=NOT_READY)
    return rules.requeue(again, now)


def _ask_at(state: State, entry: Entry, at: int) -> None:
    """Ask again at a time (milliseconds, 0: never), though nothing changes before."""
    entry.evict_at = at
    if at:
        state.evictions.set(at, entry.key)


def _reads_what_stands(state: State) -> bool:
    """Say whether rules of `evict` read what a workload comes to in the state."""
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
