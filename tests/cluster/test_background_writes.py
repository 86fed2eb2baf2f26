"""Rounds go on while decisions of the one before are being written, and what those admit counts."""

import asyncio
import logging

import pytest

from tests.cluster.small_cluster import JOB, in_virtual_time, job, queues, small_cluster
from tests.patience import until
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.api.leader_writer import NotLeading
from webhook.cluster.background_writes import CONCURRENT_WRITES, BackgroundWrites
from webhook.cluster.core.writes_in_flight import WritesInFlight
from webhook.store.errors import Refused, Unavailable
from webhook.store.memory import MemoryStore
from webhook.store.objects import key_of, merge

OTHER = [
    merge(queues("1")[2], {"metadata": {"name": "other"}}),
    merge(queues()[3], {"metadata": {"name": "other"}, "spec": {"clusterQueue": "other"}}),
]


class Held(MemoryStore):
    """The first admission of the job `slow` is written when `go` is set; who is admitted is noted in order."""

    def __init__(self):
        super().__init__()
        self.reached, self.go = asyncio.Event(), asyncio.Event()
        self.admitted = {}

    async def patch(self, gvk, name, namespace, patch, **options):
        admits = "admission" in (patch.get("status") or {})
        if admits and name.startswith("job-slow") and not self.reached.is_set():
            self.reached.set()
            await self.go.wait()
        written = await super().patch(gvk, name, namespace, patch, **options)
        if admits:
            self.admitted[name.rpartition("-")[0].removeprefix("job-")] = None
        return written


def test_another_queue_does_not_wait_for_a_slow_write():
    """One that comes meanwhile is admitted; who would need what the slow write may give away is not."""

    async def go():
        store = Held()
        async with small_cluster(*queues("1"), *OTHER, store=store, seconds=None) as w:
            await w.create(job("slow"))
            await store.reached.wait()
            await w.create(job("behind"), job("beside", queue="other"))
            await w.until_condition("beside", "Admitted")
            await w.until_condition("behind", "QuotaReserved", "False")
            before = list(store.admitted)
            store.go.set()
            await w.until_condition("slow", "Admitted")
            await w.until_runs("slow")
            await w.kubelet.end("slow")
            await w.until_condition("behind", "Admitted")
            return before, list(store.admitted)

    before, admitted = asyncio.run(go())
    assert before == ["beside"]
    assert admitted == ["beside", "slow", "behind"]


def test_the_log_tells_of_a_decision_when_it_is_written(caplog):
    """Not before: a write may fail, or the Workload may have changed."""

    async def go():
        store = Held()
        async with small_cluster(*queues("2"), store=store, seconds=None) as w:
            await w.create(job("slow"))
            await store.reached.wait()
            before = list(caplog.messages)
            store.go.set()
            await w.until_condition("slow", "Admitted")
            await w.until(lambda: caplog.messages, "it is logged")
            return before, "/".join(key_of(await w.workload("slow")))

    with caplog.at_level(logging.INFO, logger="webhook.cluster.decision_writer"):
        before, key = asyncio.run(go())
    assert (before, caplog.messages) == ([], [f"{key} admitted in cq"])


async def deleted_while_written(w, store):
    """The job `slow` is deleted while its admission has no answer yet, and `behind` waits for its quota."""
    await w.create(job("slow"))
    await store.reached.wait()
    await w.create(job("behind"))
    await w.until_condition("behind", "QuotaReserved", "False")
    await store.delete(JOB, "slow", "team-a")

    async def gone():
        return await w.workload("slow") is None

    await w.until(gone, "the Workload is gone")


def test_quota_of_a_write_that_fails_is_free_again():
    """The job is deleted while its admission is on its way: the next one starts."""

    async def go():
        store = Held()
        async with small_cluster(*queues("1"), store=store, seconds=None) as w:
            await deleted_while_written(w, store)
            store.go.set()
            await w.until_condition("behind", "Admitted")
            return list(store.admitted)

    assert asyncio.run(go()) == ["behind"]


class AnsweredLate(Held):
    """The first admission of the job `slow` is written at once, and answered when `go` is set."""

    async def patch(self, gvk, name, namespace, patch, **options):
        written = await MemoryStore.patch(self, gvk, name, namespace, patch, **options)
        admits = "admission" in (patch.get("status") or {})
        if admits and name.startswith("job-slow") and not self.reached.is_set():
            self.reached.set()
            await self.go.wait()
        return written


def test_what_is_heard_before_the_answer_is_decided_on_at_once_after_it(monkeypatch):
    """A watch may be faster than the answer to a write: the job is gone by then, and nothing else happens after it."""

    async def go():
        store = AnsweredLate()
        async with small_cluster(*queues("1"), store=store, seconds=None) as w:
            await deleted_while_written(w, store)
            await asyncio.sleep(1)
            store.go.set()
            answered = asyncio.get_running_loop().time()
            await w.until_condition("behind", "Admitted")
            return asyncio.get_running_loop().time() - answered

    assert in_virtual_time(monkeypatch, go) < 1


class AllHeld(MemoryStore):
    """Admissions are written when `go` is set; `admitted` are the names, in order."""

    def __init__(self):
        super().__init__()
        self.go, self.begun, self.admitted = asyncio.Event(), 0, []

    async def patch(self, gvk, name, namespace, patch, **options):
        if "admission" not in (patch.get("status") or {}):
            return await super().patch(gvk, name, namespace, patch, **options)
        self.begun += 1
        await self.go.wait()
        written = await super().patch(gvk, name, namespace, patch, **options)
        self.admitted.append(name)
        return written


def test_one_that_changes_before_its_admission_is_written_is_decided_on_anew():
    """As many writes as fit are on their way; one who was decided on behind them is deactivated meanwhile."""

    async def go():
        store = AllHeld()
        async with small_cluster(*queues(str(CONCURRENT_WRITES + 1)), store=store, seconds=None) as w:
            await w.create(*(job(f"j{number}") for number in range(CONCURRENT_WRITES)))
            await w.until(lambda: store.begun == CONCURRENT_WRITES, "as many writes as fit have begun")
            await w.create(job("last"))
            holding = lambda: len([e for e in state().entries.values() if e.admission]) == CONCURRENT_WRITES + 1  # noqa: E731
            state = lambda: w.controller._core.state  # noqa: E731
            await w.until(holding, "the last one is decided on")
            last = await w.workload("last")
            name = last["metadata"]["name"]
            await store.patch(WORKLOAD, name, "team-a", {"spec": {"active": False}})
            seen = lambda: not w.view.informer(WORKLOAD).get(name, "team-a")["spec"]["active"]  # noqa: E731
            await w.until(seen, "the change is seen")
            store.go.set()
            await w.until(lambda: len(store.admitted) == CONCURRENT_WRITES, "the others are admitted")
            await w.until(lambda: not holding(), "its quota is free again")
            return name in store.admitted

    assert asyncio.run(go()) is False


def run(scenario):
    """Give what a scenario does with the writes, and how often something has to be decided again."""

    async def go():
        again = []
        writes = BackgroundWrites(WritesInFlight(), lambda: again.append(1))
        return await scenario(writes, again), len(again)

    return asyncio.run(go())


async def ended(writes):
    """Wait until every write has its outcome."""
    await until(lambda: not writes.in_flight.keys, "all writes have ended")


def fails(error):
    """A write that fails so."""

    async def write():
        await asyncio.sleep(0)
        raise error

    return write


@pytest.mark.parametrize(("error", "rounds"), [(Refused("no"), 0), (Unavailable("away"), 1)])
def test_a_write_that_fails_stops_no_other(error, rounds):
    async def scenario(writes, again):
        done = []

        async def write():
            done.append(1)

        await writes.begin("a", fails(error))
        await writes.begin("b", write)
        await ended(writes)
        return done, set(writes.in_flight.keys)

    assert run(scenario) == (([1], set()), rounds)


def test_what_is_outdated_is_decided_anew_once_it_counts_no_more():
    """Without that, what it did not use would be free only with the next change of an object."""

    async def go():
        counted = []
        writes = BackgroundWrites(WritesInFlight(), lambda: counted.append(set(writes.in_flight.keys)))

        async def write():
            writes.in_flight.outdated.add("a")

        await writes.begin("a", write)
        await until(lambda: counted, "the write has ended")
        return counted

    assert asyncio.run(go()) == [set()]


def test_any_other_error_is_raised_by_the_next_check():
    async def scenario(writes, again):
        await writes.begin("a", fails(NotLeading()))
        await ended(writes)
        with pytest.raises(NotLeading):
            writes.check()
        writes.check()

    assert run(scenario) == (None, 1)


def test_there_is_room_for_some_and_one_a_workload():
    """No more than fit begin, and the second of a Workload begins when the first has ended."""

    async def scenario(writes, again):
        most, now, order, go = [0], [0], [], asyncio.Event()

        async def write(name="", wait=True):
            now[0] += 1
            most[0] = max(most[0], now[0])
            order.append(f"{name} begins")
            if wait:
                await go.wait()
            order.append(f"{name} ends")
            now[0] -= 1

        await writes.begin("a", lambda: write("first"))
        second = asyncio.create_task(writes.begin("a", lambda: write("second", wait=False)))
        rest = asyncio.create_task(_begin_all(writes, write))
        await until(lambda: now[0] == CONCURRENT_WRITES, "as many as fit have begun")
        go.set()
        await second
        await rest
        await ended(writes)
        return most[0], [line for line in order if line.startswith(("first", "second"))]

    most, order = run(scenario)[0]
    assert most == CONCURRENT_WRITES
    assert order == ["first begins", "first ends", "second begins", "second ends"]


async def _begin_all(writes, write):
    for number in range(2 * CONCURRENT_WRITES):
        await writes.begin(f"w-{number}", write)


def test_one_without_an_answer_counts_until_it_is_settled():
    async def scenario(writes, again):
        async def write():
            writes.unknown["a"] = {}
            raise Unavailable("away")

        await writes.begin("a", write)
        await until(lambda: again, "the write has ended")
        before = set(writes.in_flight.keys)
        writes.settled("a")
        return before, set(writes.in_flight.keys)

    assert run(scenario) == (({"a"}, set()), 1)


def test_writes_that_are_given_up_are_nobodys():
    async def scenario(writes, again):
        await writes.begin("a", asyncio.Event().wait)
        await writes.stop()
        return set(writes.in_flight.keys)

    assert run(scenario) == (set(), 0)


class Slow(MemoryStore):
    """Who creates a Workload waits a little; how many there are when a job starts is noted."""

    def __init__(self):
        super().__init__()
        self.made, self.started = 0, {}

    async def create(self, obj, **options):
        if obj["kind"] == WORKLOAD.kind:
            await asyncio.sleep(0.02)  # eight at a time: ten rounds, and more, until all are made
            self.made += 1
        return await super().create(obj, **options)

    async def update(self, obj, **options):
        if obj["kind"] == JOB.kind and obj["spec"]["suspend"] is False:
            self.started.setdefault(obj["metadata"]["name"], self.made)
        return await super().update(obj, **options)


def test_an_admitted_job_does_not_wait_for_those_that_are_new(monkeypatch):
    """Of many jobs at once each has a Workload to be made; who has quota meanwhile starts before.

    In virtual time: how many are made until then would depend on the machine.
    """

    async def go():
        store = Slow()
        async with small_cluster(*queues("2"), store=store, seconds=None) as w:
            await w.create(*(job(f"j{number}") for number in range(200)))
            await w.until_runs("j0")
            await w.kubelet.end("j0")
            await w.until(lambda: store.made == 200, "each job has a Workload")
            return store.started

    first = list(in_virtual_time(monkeypatch, go).values())[:3]
    assert len(first) == 3
    assert max(first) < 100
