"""Leader election with a clock of the test's own: one leads, nobody else does while it may still write."""

import asyncio
from datetime import UTC, datetime

import pytest

from webhook.cluster.api.kinds import LEASE
from webhook.cluster.api.leader import Leader, LeaseTimes
from webhook.store.errors import Unavailable
from webhook.store.memory import MemoryStore

TIMES = LeaseTimes(duration=15, deadline=9, retry=2)


class Clock:
    """Seconds that only pass when the test says so."""

    def __init__(self):
        self.at = 1000.0

    def __call__(self):
        return self.at


class Cut(MemoryStore):
    """A store that can be cut off from one side."""

    def __init__(self):
        super().__init__()
        self.cut = False

    async def get(self, gvk, name, namespace=None):
        if self.cut:
            raise Unavailable("no route")
        return await super().get(gvk, name, namespace)


def leader(store, clock, identity):
    now = lambda: datetime(2026, 1, 1, tzinfo=UTC)  # noqa: E731
    return Leader(store, identity, "sluice-system", "sluice", TIMES, clock, now)


def test_the_first_leads_and_the_second_waits():
    """The lease goes to who asks first; another sees it held."""

    async def go():
        store, clock = MemoryStore(), Clock()
        a, b = leader(store, clock, "a"), leader(store, clock, "b")
        assert await a.renew()
        assert not await b.renew()
        spec = (await store.get(LEASE, "sluice", "sluice-system"))["spec"]
        assert (spec["holderIdentity"], spec["leaseTransitions"], spec["leaseDurationSeconds"]) == ("a", 1, 15)
        assert (a.epoch, a.left) == (1, ())

    asyncio.run(go())


def test_a_candidate_looks_at_the_moment_when_the_lease_expires(monkeypatch):
    """Not up to `retry` seconds later: so long nobody would decide."""
    slept = []

    async def go():
        store, clock = MemoryStore(), Clock()

        async def sleep(seconds):
            slept.append(seconds)
            clock.at += seconds

        monkeypatch.setattr("webhook.cluster.api.leader.asyncio.sleep", sleep)
        await leader(store, clock, "a").renew()
        await leader(store, clock, "b").wait()

    asyncio.run(go())
    assert slept == [2, 2, 2, 2, 2, 2, 2, 1]


def test_a_holder_that_cannot_renew_stops_before_another_starts():
    """Cut off, the holder gives up at its deadline; another takes over only after the whole duration: never both."""

    async def go():
        store, clock = Cut(), Clock()
        a, b = leader(store, clock, "a"), leader(store, clock, "b")
        await a.renew()
        lead = []
        for _ in range(20):
            clock.at += 1
            store.cut = True
            await a.renew()
            store.cut = False
            await b.renew()
            lead.append((a.leads, b.leads))
        assert (True, True) not in lead
        assert lead[5] == (True, False)
        assert lead[9] == (False, False), "nobody may write between deadline and duration"
        assert lead[-1] == (False, True)
        assert (b.epoch, b.left) == (2, ())

    asyncio.run(go())


def test_time_is_counted_from_what_was_seen():
    """A lease that is renewed is never expired, however old its times look to another machine's clock."""

    async def go():
        store, clock = MemoryStore(), Clock()
        a, b = leader(store, clock, "a"), leader(store, clock, "b")
        await a.renew()
        for _ in range(10):
            clock.at += 8
            stored = await store.get(LEASE, "sluice", "sluice-system")
            await store.update({**stored, "spec": {**stored["spec"], "renewTime": f"2000-01-01T00:00:{clock.at}Z"}})
            assert not await b.renew()

    asyncio.run(go())


def test_a_released_lease_is_free_at_once():
    """A holder that goes in good order need not be waited for, and leads no more itself."""

    async def go():
        store, clock = MemoryStore(), Clock()
        a, b = leader(store, clock, "a"), leader(store, clock, "b")
        await a.renew()
        await a.release()
        assert not a.leads
        assert await b.renew()
        assert b.left == (), "nothing of the former holder can be on its way"

    asyncio.run(go())


def test_the_same_identity_goes_on():
    """A replica that was restarted under its name takes its own lease up again at once, as another holder."""

    async def go():
        store, clock = MemoryStore(), Clock()
        await leader(store, clock, "a").renew()
        again = leader(store, clock, "a")
        assert await again.renew()
        assert again.epoch == 2
        assert await again.renew()
        assert again.epoch == 2

    asyncio.run(go())


def test_who_takes_over_knows_whom_the_former_holder_may_admit():
    """The last claim is what the new holder is told; the former one can claim nothing any more."""

    async def go():
        store, clock = MemoryStore(), Clock()
        a, b = leader(store, clock, "a"), leader(store, clock, "b")
        await a.renew()
        assert await a.claim(["team/x"])
        assert await a.claim(["team/y", "team/z"])
        await b.renew()
        clock.at += 16
        await b.renew()
        assert (b.epoch, b.left) == (2, ("team/y", "team/z"))
        assert not await a.claim(["team/late"])
        clock.at += 16
        c = leader(store, clock, "c")
        await c.renew()
        clock.at += 16
        await c.renew()
        assert c.left == ("team/y", "team/z"), "b claimed nothing: what a may have sent is still unknown"

    asyncio.run(go())


class Counted(MemoryStore):
    """Counts reads of the lease."""

    reads = 0

    async def get(self, gvk, name, namespace=None):
        self.reads += 1
        return await super().get(gvk, name, namespace)


def test_a_claim_reads_the_lease_only_after_a_write_of_somebody_else():
    """Somebody else's note on it is kept; a lease that was taken over or deleted in between is claimed by nobody."""

    async def go():
        store, clock = Counted(), Clock()
        a, b = leader(store, clock, "a"), leader(store, clock, "b")
        reads = []

        async def claims(*workloads):
            before = store.reads
            claimed = await a.claim(workloads)
            reads.append(store.reads - before)
            return claimed

        assert await a.renew()
        assert await claims("team/x")
        assert await claims("team/y")
        await store.patch(LEASE, "sluice", "sluice-system", {"metadata": {"annotations": {"note": "1"}}})
        assert await claims("team/z")
        annotations = (await store.get(LEASE, "sluice", "sluice-system"))["metadata"]["annotations"]
        assert (annotations["note"], annotations["sluice.dev/claimed"]) == ("1", "team/z")
        assert await claims("team/z")
        assert not await b.renew()
        clock.at += TIMES.duration
        assert await b.renew()
        assert not await claims("team/late")
        assert b.left == ("team/z",)
        return reads

    assert asyncio.run(go()) == [0, 0, 1, 0, 1]


def test_a_holder_that_starts_again_is_told_its_own_claim():
    """A process of the same name that comes back while the lease lasts: what it sent before may be on its way."""

    async def go():
        store, clock = MemoryStore(), Clock()
        first = leader(store, clock, "a")
        await first.renew()
        await first.claim(["team/x"])
        second = leader(store, clock, "a")
        await second.renew()
        assert (second.epoch, second.left) == (2, ("team/x",))
        assert not await first.claim(["team/late"])

    asyncio.run(go())


def test_an_older_holder_named_nobody():
    """A lease without the annotation: anybody who waits may be admitted by a late write, unless it was let go."""

    async def go():
        lefts = []
        for holder in ("old", ""):
            store, clock = MemoryStore(), Clock()
            spec = {"holderIdentity": holder, "leaseTransitions": 4, "leaseDurationSeconds": 15}
            metadata = {"name": "sluice", "namespace": "sluice-system"}
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
            await store.create(lease)
            b = leader(store, clock, "b")
            await b.renew()
            clock.at += 16
            await b.renew()
            lefts.append((b.epoch, b.left))
        assert lefts == [(5, None), (5, ())]

    asyncio.run(go())


@pytest.mark.parametrize("maker", ["a", "b"])
def test_of_a_lease_that_was_deleted_nobody_knows_the_claim(maker):
    """Whoever makes it anew, its holder too, goes on counting: all that wait are to be fenced, also by the next one."""

    async def go():
        store, clock = MemoryStore(), Clock()
        candidates = {name: leader(store, clock, name) for name in "abc"}
        await candidates["a"].renew()
        await candidates["a"].claim(["team/x"])
        await candidates["b"].renew()
        await store.delete(LEASE, "sluice", "sluice-system")
        assert await candidates[maker].renew()
        await candidates["c"].renew()
        clock.at += 16
        assert await candidates["c"].renew()
        return [(candidates[name].epoch, candidates[name].left) for name in (maker, "c")]

    assert asyncio.run(go()) == [(2, None), (3, None)]


def test_the_lease_says_what_its_holder_says():
    """Annotations are written with a renewal, beside those of others; who takes over writes its own."""

    async def go():
        store, clock = MemoryStore(), Clock()
        a, b = leader(store, clock, "a"), leader(store, clock, "b")
        a.publish({"rules": "kueue"})
        b.publish({"rules": "fifo"})
        await a.renew()
        await store.patch(LEASE, "sluice", "sluice-system", {"metadata": {"annotations": {"other": "1"}}})
        await a.claim(["team-a/w"])
        said = [(await store.get(LEASE, "sluice", "sluice-system"))["metadata"]["annotations"]]
        a.publish({"rules": "kueue-fair"})
        await a.renew()
        said.append((await store.get(LEASE, "sluice", "sluice-system"))["metadata"]["annotations"])
        await b.renew()
        clock.at += 20
        await b.renew()
        said.append((await store.get(LEASE, "sluice", "sluice-system"))["metadata"]["annotations"])
        claimed = {"other": "1", "sluice.dev/claimed": "team-a/w"}
        assert said == [{**claimed, "rules": rules} for rules in ("kueue", "kueue-fair", "fifo")]

    asyncio.run(go())
