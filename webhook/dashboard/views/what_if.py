"""How a workload would stand with fewer GPUs, in another queue, at another priority: decided by the core on a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from webhook.api.amounts import text
from webhook.api.pending_message import message_of, start_unknown_of
from webhook.dashboard.model.workloads import JobRef, Outlook
from webhook.dashboard.views.rows import Named, shortage_rows
from webhook.queue.cycle.until_stable import decide_until_stable
from webhook.queue.decisions import Decisions
from webhook.queue.explain import explain
from webhook.queue.forecast import concerned, facts_at, with_start
from webhook.queue.model import PodSet, Snapshot, Workload
from webhook.queue.pending.queue import Status
from webhook.queue.report import Reporter
from webhook.queue.rules import Rules
from webhook.queue.state import State


class OutOfTime(Exception):
    """What was asked for took longer than it may."""


class Impossible(ValueError):
    """A workload cannot ask for that."""


@dataclass(frozen=True, slots=True)
class WorkloadChange:
    """What is to be otherwise; None: nothing. `amount` is of `resource`, for all pods, in the core's numbers."""

    resource: str = ""
    amount: int | None = None
    queue: str | None = None
    priority: int | None = None

    def told(self) -> str:
        """Return the answer in sentences, built like messages, as the page has them in other languages."""
        parts = []
        if self.amount is not None:
            parts.append(f"{text(self.resource, self.amount)} {self.resource}")
        if self.queue is not None:
            parts.append(f"LocalQueue {self.queue}")
        if self.priority is not None:
            parts.append(f"priority {self.priority}")
        return "; ".join(parts) or "nothing"


def changed(workload: Workload, wish: WorkloadChange) -> Workload:
    """Return the workload as it is wished for, as if it came now. Raises Impossible where it cannot be so."""
    pods = workload.pod_sets
    if wish.amount is not None:
        pods = _smaller(pods, wish.resource, wish.amount)
    return replace(
        workload,
        pod_sets=pods,
        queue_name=workload.queue_name if wish.queue is None else wish.queue,
        priority=workload.priority if wish.priority is None else wish.priority,
        admission=None,
        admitted=False,
    )


def gpu_of(workload: Workload) -> str:
    """Name the resource that GPUs go by in a workload; empty where it asks for none."""
    named = (resource for pods in workload.pod_sets for resource in pods.requests)
    return next((resource for resource in named if "gpu" in resource.rpartition("/")[2].casefold()), "")


def _smaller(pods: tuple[PodSet, ...], resource: str, amount: int) -> tuple[PodSet, ...]:
    """Let the pods that ask for a resource ask for so much in all: fewer pods, or one that asks for less."""
    asking = [one for one in pods if one.requests.get(resource)]
    if len(asking) != 1:
        raise Impossible(f"more than one pod set requests {resource}" if asking else f"no pod set requests {resource}")
    (one,) = asking
    each = one.requests[resource]
    if amount < 1:
        raise Impossible(f"{resource} must be 1 or more")
    if amount % each == 0:
        other = replace(one, count=amount // each)
    elif one.count == 1 or amount < each:
        other = replace(one, count=1, requests={**one.requests, resource: amount})
    else:
        raise Impossible(f"each pod requests {text(resource, each)} {resource}: use a multiple of it")
    return tuple(other if pod_set is one else pod_set for pod_set in pods)


def facts_around(state: State, names: Iterable[str]) -> Snapshot:
    """Return the facts of ClusterQueues and of all that share quota with them; of all where the rules read them."""
    asked = (state.by_queue[name] for name in names if name in state.by_queue)
    queues = {line.queue.name: line for queue in asked for line in concerned(state, queue)}
    work = (e for e in state.entries.values() if e.pending_queue is not None and e.pending_queue.queue.name in queues)
    return facts_at(state, queues.values(), work)


class Deadline(Reporter):
    """Ends a decision when its time is up, or nobody waits for it. `clock` and `until` are in seconds."""

    __slots__ = ("_clock", "_stopped", "_until")

    def __init__(self, clock: Callable[[], float], until: float, stopped: Callable[[], bool] = lambda: False) -> None:
        self._clock, self._until, self._stopped = clock, until, stopped

    def considered(self, workload: str, cluster_queue: str) -> None:
        """Look at the clock."""
        if self._clock() > self._until or self._stopped():
            raise OutOfTime

    def cycle(self, number: int, heads: int) -> None:
        """Look at the clock."""
        self.considered("", "")


def outlook(
    snapshot: Snapshot, rules: Rules, now: int, workload: Workload, deadline: Deadline, named: Named
) -> Outlook:
    """Decide with this version of the workload in place of the current one until nothing changes; say how it stands.

    Raises OutOfTime.
    """
    others = (other for other in snapshot.workloads if other.key != workload.key)
    facts = replace(snapshot, workloads=(*others, workload))
    state = State.from_snapshot(facts)
    made, _ = decide_until_stable(state, rules, now, reporter=deadline)
    entry = state.entries[workload.key]
    if entry.status == Status.HOLDING and entry.admission is not None:
        flavors = {r: flavor for pods in entry.admission.pod_set_assignments for r, flavor in pods.flavors.items()}
        victims = _preempted_for(workload.key, made, named)
        return Outlook(True, entry.admission.cluster_queue, flavors, preempts=victims)
    told = explain(state, workload.key)
    if told is None:
        return Outlook(False, "")
    told = with_start(state, told, now, reporter=deadline)
    return Outlook(
        False,
        told.cluster_queue,
        position=told.position,
        reason=told.reason.value,
        message=message_of(told),
        start=told.start or 0,
        start_unknown=named.start_unknown(start_unknown_of(told.start_unknown, told.start_blocked), told.start_job),
        shortages=shortage_rows(told.shortages, named),
    )


def _preempted_for(key: str, made: list[Decisions], named: Named) -> tuple[JobRef, ...]:
    victims = [p for decisions in made for p in decisions.preempted if p.preemptor == key]
    return tuple(named.ref(victim.workload, victim.cluster_queue) for victim in victims)
