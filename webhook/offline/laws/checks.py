"""The laws that a rule file may promise: each checks a cluster and returns how it is broken, or nothing.

A law is checked on the decisions of the core, call after call; the table has its sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final, TypeVar

from webhook.api.snapshot.reader import snapshot
from webhook.offline.laws.clusters import NOW, Object, lone_queue, pod_set, random_cluster, workload
from webhook.policy.queue_rules.file_rules import FileRules
from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import Decisions
from webhook.queue.events import WorkloadChanged, WorkloadEvicted, WorkloadGone
from webhook.queue.model import Snapshot, Workload
from webhook.queue.quota.tree import Tree, Usage
from webhook.queue.rules import Rules
from webhook.queue.state import State

ROUNDS: Final = 60
"""After so many rounds of evictions a cluster is held not to come to rest."""
SECOND: Final = 1000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class QueueLaw:
    """A law: its sentence, the clusters it is tried on, and what says how a cluster breaks it ("" where it does not).

    `settled`: the cluster is one in which half of the Workloads run already.
    """

    sentence: str
    cluster: Callable[[Random], list[Object]]
    broken: Callable[[Sequence[Object], Rules], str]
    settled: bool = True


def give_back(state: State, decisions: Decisions) -> None:
    """Let who was preempted or evicted give its quota back at once, and wait again where it stood."""
    for key in (*(p.workload for p in decisions.preempted), *(e.workload for e in decisions.evicted)):
        state.apply(WorkloadEvicted(key, state.entries[key].workload.queued_at))


def rounds(state: State, rules: Rules, most: int) -> Iterator[Decisions]:
    """Decide and carry evictions out until nothing changes any more, or so many times."""
    for at in range(most):
        decisions = decide(state, rules, NOW + at * SECOND)
        yield decisions
        if not decisions.admitted and not decisions.preempted:
            return
        give_back(state, decisions)


def without_victims(state: State, tree: Tree) -> Usage:
    """Return what a tree uses when all who are being evicted are gone: as in Kueue, what fits then starts at once."""
    usage = tree.usage.copy()
    for pending_queue in state.by_tree[tree]:
        for entry in pending_queue.holders.values():
            if entry.victim is not None and entry.victim.evicted:
                tree.remove(pending_queue.node, entry.amounts, usage)
    return usage


def quota_kept(objects: Sequence[Object], rules: Rules) -> str:
    """Look at each number of each tree: where it rose it is within the limits."""
    state = State.from_snapshot(snapshot(objects))
    state.bind(rules, NOW)
    before = [tree.usage.copy() for tree in state.trees]
    for _ in rounds(state, rules, 5):
        for tree, was in zip(state.trees, before, strict=True):
            usage = without_victims(state, tree)
            for cell in tree.cells:
                used, most = usage[cell.at], cell.subtree
                if cell.borrowing_limit >= 0 and not cell.root:
                    most += cell.borrowing_limit
                if used > max(was[cell.at], most) and (cell.root or cell.borrowing_limit >= 0):
                    node = tree.nodes[cell.at // tree.width].name
                    return f"{node} uses {used} {cell.resource} of {cell.flavor}, its limit is {most}"
        before = [tree.usage.copy() for tree in state.trees]
    return ""


def work_conserving(objects: Sequence[Object], rules: Rules) -> str:
    """At rest, try each Workload that waits with nobody else waiting: none starts, whatever `admit` says."""
    state = State.from_snapshot(snapshot(objects))
    if len(list(rounds(state, rules, ROUNDS))) == ROUNDS:
        return ""
    open_to_all = replace(rules, conditions=()) if isinstance(rules, FileRules) else rules
    now = state.snapshot()
    for waiting in _waiting(now):
        if _fits(now, waiting.key, (), open_to_all):
            return f"{waiting.key} is pending, although it fits in free quota"
    return ""


def minimal_preemption(objects: Sequence[Object], rules: Rules) -> str:
    """Put each victim of each preemptor back: the preemptor does not fit beside it."""
    now = snapshot(objects)
    for waiting in _waiting(now):
        made = decide(State.from_snapshot(_only(now, waiting.key, ())), rules, NOW)
        victims = {p.workload for p in made.preempted if p.preemptor == waiting.key}
        if victims and not any(_needs(shown, waiting.key, victims, rules) for shown in (now, _alone(now, waiting))):
            return f"{waiting.key} evicts {', '.join(sorted(victims))}, but not all of them are needed"
    return ""


def no_back_and_forth(objects: Sequence[Object], rules: Rules) -> str:
    """Carry evictions out until nothing changes: nobody is evicted twice, and it comes to an end."""
    evicted: set[str] = set()
    taken = 0
    for decisions in rounds(State.from_snapshot(snapshot(objects)), rules, ROUNDS):
        taken += 1
        for key in (p.workload for p in decisions.preempted):
            if key in evicted:
                return f"{key} is evicted again, although no workload arrived or finished"
            evicted.add(key)
    return "admissions and evictions never stop" if taken == ROUNDS else ""


def order_independent(objects: Sequence[Object], rules: Rules) -> str:
    """Hand the same objects over in another order: the decisions are the same."""
    given = snapshot(objects)
    one, other = State.from_snapshot(given), State.from_snapshot(_shuffled(given))
    for at in range(3):
        made, again = decide(one, rules, NOW + at * SECOND), decide(other, rules, NOW + at * SECOND)
        if difference := _difference(made, again):
            return f"with the objects in a different order, {difference}"
        give_back(one, made)
        give_back(other, again)
    return ""


def same_after_restart(objects: Sequence[Object], rules: Rules) -> str:
    """Let Workloads arrive one by one and running ones end: one built from the objects decides the same."""
    given = snapshot(objects)
    arrivals = _waiting(given)
    state = State.from_snapshot(replace(given, workloads=tuple(w for w in given.workloads if w not in arrivals)))
    for at, arrival in enumerate(arrivals):
        state.apply(WorkloadChanged(arrival))
        if at % 3 == 2 and (held := _held(state.snapshot())):
            state.apply(WorkloadGone(held[0].key))
        now = NOW + at * SECOND
        state.bind(rules, now)
        fresh = decide(State.from_snapshot(state.snapshot()), rules, now)
        made = decide(state, rules, now)
        if difference := _difference(made, fresh):
            return f"after {arrival.key} arrived, in a state rebuilt from the objects, {difference}"
        give_back(state, made)
    return ""


def starvation_free(objects: Sequence[Object], rules: Rules) -> str:
    """Let running Workloads end one by one, and two small ones come each time: what waited before them starts."""
    given = snapshot(objects)
    held = [w.key for w in _held(given)]
    waiting = {w.key for w in _waiting(given) if held and _fits(given, w.key, held, rules)}
    state = State.from_snapshot(given)
    small = snapshot([workload("late", "a", [pod_set("main", 1, 1)], hour=9)]).workloads[0]
    for at in range(3 * len(given.workloads)):
        now = NOW + at * SECOND
        for number in range(2):
            name = f"late-{at:02}-{number}"
            state.apply(WorkloadChanged(replace(small, name=name, uid=name, queued_at=now, created=now)))
        made = decide(state, rules, now)
        waiting -= {a.workload for a in made.admitted}
        if not waiting:
            return ""
        give_back(state, made)
        if ending := _held(state.snapshot()):
            state.apply(WorkloadGone(ending[0].key))
    ended = 3 * len(given.workloads)
    return f"{min(waiting)} is still pending after {ended} others finished: smaller workloads overtake it"


def _waiting(given: Snapshot) -> list[Workload]:
    return sorted((w for w in given.workloads if w.admission is None), key=lambda w: (w.queued_at, w.key))


def _held(given: Snapshot) -> list[Workload]:
    held = ((w.admission.reserved_at, w.key, w) for w in given.workloads if w.admission is not None)
    return [w for _, _, w in sorted(held, key=lambda row: row[:2])]


def _only(given: Snapshot, key: str, gone: Sequence[str]) -> Snapshot:
    """Leave only one Workload waiting, and some that run out."""
    kept = (w for w in given.workloads if w.key not in gone and (w.admission is not None or w.key == key))
    return replace(given, workloads=tuple(kept))


def _fits(given: Snapshot, key: str, gone: Sequence[str], rules: Rules) -> bool:
    """Return whether a Workload starts at once, taking nothing from anybody, when some that run are gone."""
    made = decide(State.from_snapshot(_only(given, key, gone)), rules, NOW)
    return not made.preempted and key in {a.workload for a in made.admitted}


def _needs(given: Snapshot, key: str, victims: set[str], rules: Rules) -> bool:
    others = (victims - {kept} for kept in victims)
    return _fits(given, key, sorted(victims), rules) and not any(_fits(given, key, sorted(o), rules) for o in others)


def _alone(given: Snapshot, waiting: Workload) -> Snapshot:
    """Forbid the queue of a Workload to borrow: victims may be what it needs to start without."""
    names = {
        q.cluster_queue for q in given.local_queues if (q.namespace, q.name) == (waiting.namespace, waiting.queue_name)
    }
    queues = []
    for queue in given.cluster_queues:
        groups = tuple(
            replace(g, flavors=tuple(
                replace(f, resources={r: replace(q, borrowing_limit=0) for r, q in f.resources.items()})
                for f in g.flavors
            )) for g in queue.resource_groups
        )  # fmt: skip
        queues.append(replace(queue, resource_groups=groups) if queue.name in names and queue.cohort_name else queue)
    return replace(given, cluster_queues=tuple(queues))


def _shuffled(given: Snapshot) -> Snapshot:
    return replace(
        given,
        flavors=_in_another_order(given.flavors),
        cluster_queues=_in_another_order(given.cluster_queues),
        cohorts=_in_another_order(given.cohorts),
        local_queues=_in_another_order(given.local_queues),
        workloads=_in_another_order(given.workloads),
    )


def _in_another_order(items: Sequence[T]) -> tuple[T, ...]:
    return tuple(Random(7).sample(items, len(items)))  # noqa: S311  nothing is kept secret by it


def _difference(made: Decisions, again: Decisions) -> str:
    """Return what differs in the second of two decisions."""
    for what, one, other in (
        ("are admitted", {str(a) for a in made.admitted}, {str(a) for a in again.admitted}),
        ("are evicted", {str(p) for p in made.preempted}, {str(p) for p in again.preempted}),
    ):
        if one != other:
            return f"other workloads {what}: {', '.join(sorted(_names(one ^ other)))}"
    return ""


def _names(shown: set[str]) -> set[str]:
    return {text.partition("workload='")[2].partition("'")[0] for text in shown}


LAWS: Final[dict[str, QueueLaw]] = {
    "QuotaKept": QueueLaw(
        "No decision raises usage above the quota of a tree, or a borrowing limit. Evicted workloads do not count.",
        random_cluster,
        quota_kept,
    ),
    "WorkConserving": QueueLaw(
        "When nothing is left to decide, no pending workload of a BestEffortFIFO queue fits in free quota.",
        lambda random: random_cluster(random, strict=False),
        work_conserving,
    ),
    "MinimalPreemption": QueueLaw(
        "Every victim is needed: if one of them stayed, the preemptor would not fit.",
        lambda random: random_cluster(random, flavors=1, whole=True),
        minimal_preemption,
    ),
    "NoBackAndForth": QueueLaw(
        "While no workload arrives or finishes, none is evicted twice, and evictions stop.",
        random_cluster,
        no_back_and_forth,
    ),
    "OrderIndependent": QueueLaw(
        "The same objects in a different order give the same decisions.", random_cluster, order_independent
    ),
    "SameAfterRestart": QueueLaw(
        "After a restart of Sluice, when it knows only the objects, the same decisions follow.",
        random_cluster,
        same_after_restart,
    ),
    "StarvationFree": QueueLaw(
        "In a queue without a cohort, a large workload is admitted even if smaller ones keep arriving.",
        lone_queue,
        starvation_free,
        settled=False,
    ),
}
"""Every law by its name in `laws.keeps`."""
