"""One law above all: whatever happened, a living state decides, explains and wakes as one that is built anew.

Built anew of objects, time and the declared memory it is the same in all; without the memory it finds nothing to do
where the living one came to rest. By hand: `make living`. Hypothesis ends a life after some 260 events, however many
are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import zip_longest
from math import isclose
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.machines import settings_of
from tests.queue.build import copy_of
from tests.queue.living import (
    HOUR,
    MINUTE,
    SECOND,
    SPACES,
    arrivals,
    clusters,
    edited_local,
    edited_queue,
    flavors,
    outcome,
    rule_names,
    rules_of,
    usages,
)
from tests.queue.random_clusters import QUEUES, groups
from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import Decisions
from webhook.queue.events import (
    AdmissionUnwritten,
    DefinitionChanged,
    DefinitionGone,
    Event,
    WorkloadChanged,
    WorkloadEvicted,
    WorkloadGone,
)
from webhook.queue.explain import pending, position
from webhook.queue.model import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    Flavor,
    LocalQueue,
    Namespace,
    ResourceQuota,
    Snapshot,
    Workload,
)
from webhook.queue.pending.queue import Status
from webhook.queue.state import State
from webhook.queue.workload_facts import facts_of

MONDAY = 1_700_000_000_000
CALLS = 40


class Living(RuleBasedStateMachine):
    """Events in any order; after some of them somebody decides."""

    def __init__(self) -> None:
        super().__init__()
        self.now = MONDAY

    @initialize(world=clusters(), names=rule_names())
    def begin(self, world: Snapshot, names: tuple[str, tuple[str, ...]]) -> None:
        self.rules = rules_of(*names)
        self.state, self.follower = State.from_snapshot(world), State.from_snapshot(world)
        self.state.bind(self.rules, self.now)
        self.follower.bind(self.rules, self.now)

    def tell(self, event: Event) -> None:
        """Let an event happen: every replica hears of it."""
        self.state.apply(event)
        self.follower.apply(event)

    @rule(data=st.data(), number=st.integers(1, 4))
    def arrive(self, data: st.DataObject, number: int) -> None:
        for _ in range(number):
            self.tell(WorkloadChanged(data.draw(arrivals(self.now))))

    @rule(data=st.data(), how=st.sampled_from(("gone", "finished", "evicted", "told", "inactive", "checks", "user")))
    def change(self, data: st.DataObject, how: str) -> None:
        if not self.state.entries:
            return
        key = data.draw(st.sampled_from(sorted(self.state.entries)))
        entry = self.state.entries[key]
        workload = facts_of(entry)
        if how == "gone":
            self.tell(WorkloadGone(key))
        elif how == "evicted" and entry.status == Status.HOLDING:
            self.tell(WorkloadEvicted(key, workload.created, data.draw(st.sampled_from((0, self.now + MINUTE)))))
        else:
            edits: dict[str, Any] = {
                "finished": {"finished": True},
                "inactive": {"active": False},
                "checks": {"checks": {"budget": data.draw(st.sampled_from(("Ready", "Retry")))}},
                "user": {"user": data.draw(st.sampled_from(("ann", "bob")))},
                "told": {"priority": data.draw(st.integers(0, 3))},
            }
            self.tell(WorkloadChanged(replace(workload, **edits.get(how, {}))))

    @rule()
    def give_back(self) -> None:
        for key, entry in sorted(self.state.entries.items()):
            if entry.victim is not None and entry.victim.evicted:
                self.tell(WorkloadEvicted(key, entry.workload.queued_at))

    @rule(data=st.data(), name=st.sampled_from(QUEUES))
    def edit_queue(self, data: st.DataObject, name: str) -> None:
        known = self.state.cluster_queues.get(name, ClusterQueue(name))
        self.tell(DefinitionChanged(data.draw(edited_queue(known))))

    @rule(data=st.data(), space=st.sampled_from(SPACES), name=st.sampled_from(QUEUES))
    def edit_local(self, data: st.DataObject, space: str, name: str) -> None:
        known = self.state.local_queues.get(f"{space}/{name}", LocalQueue(space, name, name))
        self.tell(DefinitionChanged(data.draw(edited_local(known, self.now))))

    @rule(
        definition=st.one_of(
            flavors(),
            st.builds(
                Cohort,
                st.sampled_from(("left", "right", "low")),
                st.sampled_from(("", "left", "right")),
                st.one_of(st.just(()), groups()),
                st.sampled_from((0, 1000, 3000)),
            ),
            st.builds(
                Namespace,
                st.sampled_from(SPACES),
                st.sampled_from(({}, {"tier": "1"})),
                quotas=st.sampled_from(((), (ResourceQuota("most", {"gpu": 2}, {"gpu": 1}),))),
            ),
            st.builds(AdmissionCheck, st.just("budget"), st.just(""), st.booleans()),
        )
    )
    def edit_other(self, definition: Flavor | Cohort | Namespace | AdmissionCheck) -> None:
        self.tell(DefinitionChanged(definition))

    @rule(
        gone=st.sampled_from(
            (
                (ClusterQueue, "a"),
                (LocalQueue, "team/b"),
                (Cohort, "low"),
                (Flavor, "two"),
                (AdmissionCheck, "budget"),
                (Namespace, "lab"),
            )
        )
    )
    def drop(self, gone: tuple[Any, str]) -> None:
        self.tell(DefinitionGone(*gone))

    @rule(names=rule_names())
    def reload(self, names: tuple[str, tuple[str, ...]]) -> None:
        self.rules = rules_of(*names)
        self.state.bind(self.rules, self.now)
        self.follower.bind(self.rules, self.now)

    @rule(by=st.sampled_from((1, 7 * SECOND, MINUTE, 9 * MINUTE, HOUR, 5 * HOUR)))
    def pass_time(self, by: int) -> None:
        self.now += by

    @rule()
    def restart(self) -> None:
        """A restart: of what is remembered, only what stands in objects is left."""
        self.state = State.from_snapshot(self.state.snapshot())
        self.state.bind(self.rules, self.now)

    @rule()
    def change_leader(self) -> None:
        """The leader stops, and who followed it decides: it heard of everything, and reads what was used lately."""
        self.state.bind(self.rules, self.now)
        kept = self.state.snapshot()
        for queue in (*kept.local_queues, *kept.cluster_queues):
            self.follower.apply(DefinitionChanged(queue))
        self.follower.bind(self.rules, self.now)
        assert usages(self.follower) == usages(self.state)
        same(told(self.follower.snapshot()), told(kept))
        self.state, self.follower = self.follower, State.from_snapshot(self.follower.snapshot())
        self.follower.bind(self.rules, self.now)

    @rule(restless=st.booleans())
    def decide_once(self, restless: bool) -> None:
        self.decide(restless=restless)

    @rule(refused=st.integers(0, 3))
    def decide_and_fail_to_write(self, refused: int) -> None:
        """Some admissions are refused by the API server; nobody but the leader hears of them."""
        self.decide(refused=refused)

    @rule()
    def come_to_rest(self) -> None:
        for number in range(CALLS):
            made = self.decide(restless=number % 2 == 1)
            if not (made.admitted or made.preempted or made.evicted or made.ready):
                break
        else:
            return
        fresh = State.from_snapshot(self.state.snapshot())
        found = decide(fresh, self.rules, self.now)
        assert (found.admitted, found.preempted, found.evicted, found.ready) == ((), (), (), ())
        assert [p.workload for p in pending(fresh)] == [p.workload for p in pending(self.state)]

    def decide(self, *, restless: bool = False, refused: int = 0) -> Decisions:
        """Decide, and check all that must be the same in a state built anew, and that no limit is passed.

        `restless`: the one built anew looks into every tree, and finds nothing to do where the living one looks not.
        `refused`: how many of the admissions are not written.
        """
        rebuilt = copy_of(self.state)
        before = usages(self.state)
        assert usages(rebuilt) == before
        same(pending(rebuilt), pending(self.state))
        if restless:
            rebuilt.ready.update(dict.fromkeys(rebuilt.trees))
            rebuilt.changes.by_watch.clear()
        made = decide(self.state, self.rules, self.now)
        assert outcome(decide(rebuilt, self.rules, self.now)) == outcome(made)
        if not restless:
            same(pending(rebuilt), pending(self.state))
        same(objects(rebuilt.snapshot()), objects(self.state.snapshot()))
        self.keeps_quota(before)
        self.knows_positions()
        self.knows_who_is_outside()
        for admitted in made.admitted[:refused]:
            self.state.apply(AdmissionUnwritten(admitted.workload))
        for decision in (*made.admitted[refused:], *made.ready, *made.preempted, *made.evicted):
            written = replace(facts_of(self.state.entries[decision.workload]), first=False)
            self.follower.apply(WorkloadChanged(written))
        self.follower.bind(self.rules, self.now)
        return made

    def knows_positions(self) -> None:
        """Each has the position that a count of all who wait before it gives."""
        for pending_queue in self.state.by_queue.values():
            ordered = sorted(pending_queue.waiting(), key=pending_queue.place_of())
            assert [position(self.state, entry) for entry in ordered] == list(range(1, len(ordered) + 1))
            for most in (1, 3, len(ordered)):
                assert pending_queue.first(pending_queue.heads(), most) == ordered[:most]

    def knows_who_is_outside(self) -> None:
        """Those in no queue, whom a changed definition may let in, are the ones that a look at all finds."""
        for state in (self.state, self.follower):
            found = {key for key, entry in state.entries.items() if entry.status == Status.OUT}
            assert state.outside.keys() == {key for key in found if not state.entries[key].workload.finished}

    def keeps_quota(self, before: dict[str, list[int]]) -> None:
        for tree in self.state.trees:
            old = before[f"{tree.root.is_queue} {tree.root.name}"]
            for cell in tree.cells:
                used = tree.usage[cell.at]
                if used > old[cell.at]:
                    assert not cell.root or used <= cell.subtree
                    assert cell.root or cell.borrowing_limit < 0 or used <= cell.subtree + cell.borrowing_limit


def same(one: Iterable[object], other: Iterable[object]) -> None:
    """Two rows are the same; where not, say which of them differ."""
    pairs = [pair for pair in zip_longest(one, other) if not alike(*pair)]
    assert not pairs, "\n".join(f"built anew: {left}\n    living: {right}" for left, right in pairs)


def alike(left: object, right: object) -> bool:
    """Two values are equal; past usage that has faded in two steps may differ from that of one in its last bit."""
    if left == right or not isinstance(left, LocalQueue | ClusterQueue) or type(left) is not type(right):
        return left == right
    assert isinstance(right, LocalQueue | ClusterQueue)
    one, other = left.history, right.history
    rows = [(one.usage, other.usage), *((one.users.get(user, {}), usage) for user, usage in other.users.items())]
    return (
        replace(left, history=other) == right
        and (one.at, one.users.keys()) == (other.at, other.users.keys())
        and all(a.keys() == b.keys() and all(isclose(a[name], b[name]) for name in a) for a, b in rows)
    )


def objects(snapshot: Snapshot) -> list[object]:
    """All that is in a snapshot."""
    return [*snapshot.local_queues, *snapshot.cluster_queues, *snapshot.workloads]


def told(snapshot: Snapshot) -> list[Workload]:
    """The workloads as every replica hears of them; who waits for victims of its own is the leader's memory."""
    return [replace(workload, first=False) for workload in snapshot.workloads]


TestLiving = Living.TestCase
TestLiving.settings = settings_of(examples=20, events=200)
