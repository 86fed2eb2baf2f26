"""Writes that land late, or whose answer never comes, while everything else changes: quota is kept, nobody is lost.

By hand: `make in-flight`, with more lives and others each time.
"""

import asyncio
from collections import deque
from itertools import count
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from prometheus_client import CollectorRegistry

from tests.bench.year.virtual_time import VirtualLoop
from tests.cluster.faulty_api import Fate, FaultyApi, TimedStore
from tests.machines import settings_of
from tests.queue.python_rules import KueueRules
from webhook.api.configuration.sections import QueueSettings
from webhook.cluster import pace
from webhook.cluster.api.kinds import BUILT_IN, CLUSTER_QUEUE, FLAVOR, LOCAL_QUEUE, QUEUE_KINDS, WORKLOAD
from webhook.cluster.api.leader import Leader, LeaseTimes
from webhook.cluster.api.view import View
from webhook.cluster.clocks import Clocks
from webhook.cluster.controller import Controller
from webhook.cluster.core.queue_core import QueueCore
from webhook.cluster.queues.round_metrics import QueueMetrics
from webhook.cluster.workloads.conditions import finished, released
from webhook.jobs.finish import Finish
from webhook.kube.condition_types import EVICTED, FINISHED, QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.store.errors import Expired, StoreError, Unavailable
from webhook.store.objects import copy_json, key_of, version_of

KUEUE = "kueue.x-k8s.io/v1beta2"
SPACE = "team"
QUEUES = ("a", "b")
FLAVORS = ("f", "g")
FATES = st.builds(
    Fate,
    st.sampled_from((0.0, 0.0, 0.03, 1.0, 3.0, 6.0, 20.0, 60.0)),
    st.sampled_from((0.0, 0.0, 0.03, 1.0, 6.0)),
    st.sampled_from((False, False, False, True)),
)
REPLICAS = st.integers(0, 1)
WATCHED = st.sampled_from(("Workload", "ClusterQueue", "LocalQueue"))
TOLD = (
    *("name", "queue_name", "priority", "active", "finished", "admission", "admitted", "evicted", "evicted_reason"),
    *("requeue_at", "requeue_count", "problem", "held"),
)
LONG = 400.0
"""Seconds without faults, after which all has come to rest."""


def flavor(name: str) -> dict[str, Any]:
    return {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {}}


def local(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": SPACE}
    return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": name}}


def cluster_queue(name: str, quotas: tuple[int, int], borrows: int | None, stop: str) -> dict[str, Any]:
    limit = {} if borrows is None else {"borrowingLimit": str(borrows)}
    rows = [
        {"name": each, "resources": [{"name": "cpu", "nominalQuota": str(quota), **limit}]}
        for each, quota in zip(FLAVORS, quotas, strict=True)
    ]
    spec = {
        "cohortName": "all",
        "namespaceSelector": {},
        "stopPolicy": stop,
        "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": rows}],
    }
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}


def workload(name: str, queue: str, cpu: int, priority: int) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    metadata = {"name": name, "namespace": SPACE}
    spec = {"queueName": queue, "active": True, "priority": priority, "podSets": [pods]}
    return {"apiVersion": KUEUE, "kind": "Workload", "metadata": metadata, "spec": spec}


class Replica:
    """A process: its view, core and controller, which end together."""

    def __init__(self, store: TimedStore, fates: deque[Fate], name: str, rate: float) -> None:
        loop, box = asyncio.get_running_loop(), list[Controller]()
        self.api = FaultyApi(store, fates)
        self.view = View(self.api, (*BUILT_IN, *QUEUE_KINDS), lambda *change: box[0].heard(*change))
        self.core = QueueCore(KueueRules())
        clock = lambda: rate * loop.time()  # noqa: E731
        self.leader = Leader(self.api, name, "sluice", "sluice", LeaseTimes(), clock, store.time)
        report, clocks = QueueMetrics(CollectorRegistry()), Clocks(store.time, loop.time)
        self.controller = Controller(
            self.view, self.core, clocks, report, lambda labels: True, QueueSettings(), self.leader
        )
        box.append(self.controller)
        self.view.start()
        self.controller.start()

    async def end(self, *, killed: bool) -> None:
        """End it; one that is killed does not let the lease go."""
        if killed:
            self.leader.release = _nothing
        await self.controller.stop()
        await self.view.stop()


async def _nothing() -> None:
    """What a process that is killed does at its end."""


class WritesInFlight(RuleBasedStateMachine):
    """Two replicas, two queues of a cohort, and somebody who creates, ends and changes all objects."""

    def __init__(self) -> None:
        super().__init__()
        numbers = count()
        self.loop = VirtualLoop(lambda: next(numbers))
        ticks = count()
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr(pace, "perf_counter", lambda: next(ticks) * pace.SLICE_SECONDS)
        self.names = count()
        self.fates = deque[Fate]()
        self.replicas: dict[int, Replica] = {}
        self.rates = {0: 1.0, 1: 1.0}
        self.problems: list[str] = []
        self.loop.set_exception_handler(lambda _, context: self.problems.append(str(context)))

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    @initialize(
        quotas=st.tuples(st.integers(0, 3), st.integers(0, 2)), slow=st.sampled_from((1.0, 1.0, 0.3)), two=st.booleans()
    )
    def begin(self, quotas: tuple[int, int], slow: float, two: bool) -> None:
        self.rates[0] = slow

        async def begin() -> None:
            self.store = TimedStore()
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
            made = [flavor(name) for name in FLAVORS] + [local(name) for name in QUEUES]
            for obj in (space, *made, cluster_queue("a", quotas, None, "None"), cluster_queue("b", (2, 1), 1, "None")):
                await self.store.create(obj)
            self.start(0)
            await asyncio.sleep(1)
            if two:
                self.start(1)

        self.run(begin())

    def start(self, number: int) -> None:
        self.replicas[number] = Replica(self.store, self.fates, f"replica-{number}", self.rates[number])

    def workloads(self) -> list[dict[str, Any]]:
        return list(self.run(self.store.list(WORKLOAD)).items)

    def some(self, data: st.DataObject, found: list[dict[str, Any]]) -> dict[str, Any] | None:
        if not found:
            return None
        by_name = {key_of(obj)[1]: obj for obj in found}
        return by_name[data.draw(st.sampled_from(sorted(by_name)))]

    def patch(self, obj: dict[str, Any], change: dict[str, Any], subresource: str = "") -> None:
        namespace, name = key_of(obj)
        gvk = next(gvk for gvk in QUEUE_KINDS if gvk.kind == obj["kind"])
        self.run(self.store.patch(gvk, name, namespace or None, change, subresource=subresource))

    def stamp(self) -> str:
        return self.store.time().strftime("%Y-%m-%dT%H:%M:%SZ")

    @rule(
        new=st.lists(st.tuples(st.sampled_from(QUEUES), st.integers(1, 3), st.integers(0, 2)), min_size=1, max_size=4)
    )
    def create(self, new: list[tuple[str, int, int]]) -> None:
        for queue, cpu, priority in new:
            self.run(self.store.create(workload(f"w{next(self.names):03}", queue, cpu, priority)))

    @rule(data=st.data(), how=st.sampled_from(("delete", "finish", "finish", "active", "priority", "move", "anew")))
    def change(self, data: st.DataObject, how: str) -> None:
        found = self.some(data, [w for w in self.workloads() if not holds(w, FINISHED)])
        if found is None:
            return
        namespace, name = key_of(found)
        if how in ("delete", "anew"):
            self.run(self.store.delete(WORKLOAD, name, namespace))
            if how == "anew":
                self.run(self.store.create(workload(name, found["spec"]["queueName"], 1, 0)))
        elif how == "finish":
            self.patch(found, {"status": finished(found, Finish("Succeeded", "done"), self.stamp())}, "status")
        elif how == "active":
            self.patch(found, {"spec": {"active": not found["spec"]["active"]}})
        elif how == "priority":
            self.patch(found, {"spec": {"priority": data.draw(st.integers(0, 3))}})
        elif not holds(found, QUOTA_RESERVED):
            self.patch(found, {"spec": {"queueName": data.draw(st.sampled_from(QUEUES))}})

    @rule()
    def give_back(self) -> None:
        """Whoever runs the Workloads has stopped those that were evicted."""
        for found in self.workloads():
            if holds(found, EVICTED) and holds(found, QUOTA_RESERVED) and not holds(found, FINISHED):
                again = found["spec"]["active"]
                self.patch(found, {"status": released(found, self.stamp(), again=again)}, "status")

    @rule(
        name=st.sampled_from(QUEUES),
        quotas=st.tuples(st.integers(0, 4), st.integers(0, 2)),
        borrows=st.sampled_from((None, None, 0, 1)),
        stop=st.sampled_from(("None", "None", "Hold", "HoldAndDrain")),
    )
    def edit(self, name: str, quotas: tuple[int, int], borrows: int | None, stop: str) -> None:
        made = cluster_queue(name, quotas, borrows, stop)
        try:
            found = self.run(self.store.get(CLUSTER_QUEUE, name))
        except StoreError:
            self.run(self.store.create(made))
        else:
            self.run(self.store.update({**found, "spec": made["spec"]}))

    @rule(
        of=st.sampled_from(((CLUSTER_QUEUE, "a"), (LOCAL_QUEUE, "a"), (LOCAL_QUEUE, "b"), (FLAVOR, "f"), (FLAVOR, "g")))
    )
    def drop_or_make(self, of: tuple[Any, str]) -> None:
        gvk, name = of
        namespace = SPACE if gvk == LOCAL_QUEUE else None
        try:
            self.run(self.store.delete(gvk, name, namespace))
        except StoreError:
            made = {FLAVOR: flavor, LOCAL_QUEUE: local, CLUSTER_QUEUE: lambda n: cluster_queue(n, (2, 1), None, "None")}
            self.run(self.store.create(made[gvk](name)))

    @rule(fates=st.lists(FATES, min_size=1, max_size=8))
    def disturb(self, fates: list[Fate]) -> None:
        """The next writes come to this."""
        self.fates.extend(fates)

    @rule(number=REPLICAS, kind=WATCHED, seconds=st.sampled_from((0.5, 3.0, 10.0)))
    def hold(self, number: int, kind: str, seconds: float) -> None:
        if number in self.replicas:
            self.replicas[number].api.hold(kind, seconds)

    @rule(number=REPLICAS, kind=WATCHED, expired=st.booleans())
    def end_watch(self, number: int, kind: str, expired: bool) -> None:
        if number in self.replicas:
            error = Expired("too old") if expired else Unavailable("the connection was lost")
            self.replicas[number].api.end_watch(kind, error)

    @rule(number=REPLICAS, seconds=st.sampled_from((1.0, 8.0, 12.0, 30.0)))
    def cut(self, number: int, seconds: float) -> None:
        if number in self.replicas:
            self.replicas[number].api.cut(seconds)

    @rule(number=REPLICAS, killed=st.booleans(), again=st.booleans())
    def end_replica(self, number: int, killed: bool, again: bool) -> None:
        if number in self.replicas:
            self.run(self.replicas.pop(number).end(killed=killed))
        if again:
            self.run(self.started(number))

    async def started(self, number: int) -> None:
        if number not in self.replicas:
            self.start(number)

    @rule()
    def reload(self) -> None:
        for replica in self.replicas.values():
            replica.core.use(KueueRules())

    @rule(seconds=st.sampled_from((0.01, 0.01, 0.1, 0.5, 2.0, 5.0, 16.0, 40.0)))
    def pass_time(self, seconds: float) -> None:
        self.run(asyncio.sleep(seconds))
        self.kept()

    def kept(self) -> None:
        """Say that no law was broken until now."""
        assert not self.store.judge.faults, "\n".join(self.store.judge.faults)
        assert not self.problems, self.problems

    def teardown(self) -> None:
        try:
            if hasattr(self, "store"):
                self.come_to_rest()
        finally:
            for replica in self.replicas.values():
                self.run(replica.end(killed=True))
            self._patch.undo()
            self.run(self.loop.shutdown_asyncgens())
            self.loop.close()

    def come_to_rest(self) -> None:
        """After the last fault everything that fits is admitted, and the leader knows what the objects say."""
        self.fates.clear()
        if not self.replicas:
            self.run(self.started(0))
        for replica in self.replicas.values():
            replica.api.heal()
        for _ in range(20):
            self.run(asyncio.sleep(LONG / 20))
            self.give_back()
        self.run(asyncio.sleep(LONG))
        self.kept()
        leading = [replica for replica in self.replicas.values() if replica.controller.leads]
        assert len(leading) == 1
        core, now = leading[0].core, leading[0].controller._clocks.milliseconds()
        assert not core.in_flight.keys
        rebuilt = QueueCore(KueueRules())
        for gvk in (*BUILT_IN, *QUEUE_KINDS):
            for obj in sorted(self.run(self.store.list(gvk)).items, key=lambda o: int(version_of(o))):
                rebuilt.heard(None, copy_json(obj))
        made = rebuilt.decide(now)
        assert (made.admitted, made.preempted, made.evicted, made.ready) == ((), (), (), ())
        assert facts(core) == facts(rebuilt)
        assert core.inactive() == rebuilt.inactive()


def facts(core: QueueCore) -> list[tuple[Any, ...]]:
    """What a core knows of each Workload, without the order in which it heard of them."""
    return [tuple(getattr(workload, field) for field in TOLD) for workload in core.state.snapshot().workloads]


TestWritesInFlight = WritesInFlight.TestCase
TestWritesInFlight.settings = settings_of(examples=15, events=40)
