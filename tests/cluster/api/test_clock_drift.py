"""How far two clocks may drift apart before two replicas lead at once: both sides of it, to a hundredth of a second."""

import asyncio
from datetime import UTC, datetime

import pytest

from webhook.cluster.api.kinds import LEASE
from webhook.cluster.api.leader import Leader, LeaseTimes
from webhook.store.errors import Unavailable
from webhook.store.memory import MemoryStore

TIMES = LeaseTimes(duration=15, deadline=9, retry=2)
"""As `serve` has them: by these the bound is 15/9, five thirds."""
STEP = 0.01


class Cut(MemoryStore):
    """A store that one side is cut off from."""

    cut = False

    async def get(self, gvk, name, namespace=None):
        if self.cut:
            raise Unavailable("no route")
        return await super().get(gvk, name, namespace)


async def times_of_two_leaders(holder: float, other: float) -> list[float]:
    """The real seconds in which both lead, by the rates of their clocks, after the holder was cut off."""
    store, real = Cut(), [0.0]
    now = lambda: datetime(2026, 1, 1, tzinfo=UTC)  # noqa: E731
    old, new = (
        Leader(store, name, "sluice-system", "sluice", TIMES, lambda rate=rate: rate * real[0], now)
        for name, rate in (("old", holder), ("new", other))
    )
    assert await old.renew()
    assert not await new.renew()
    both = []
    while not new.leads:
        real[0] += STEP
        store.cut = True
        await old.renew()
        store.cut = False
        await new.renew()
        if old.leads and new.leads:
            both.append(real[0])
    assert (await store.get(LEASE, "sluice", "sluice-system"))["spec"]["holderIdentity"] == "new"
    assert not await old.claim(["team/late"]), "whoever leads by its clock: nobody is admitted without a claim"
    return both


@pytest.mark.parametrize("holder, other", [(1, 1), (1, 1.66), (0.61, 1), (1.2, 1.9), (3, 1), (1, 0.1)])
def test_within_five_thirds_only_one_leads(holder: float, other: float) -> None:
    """The holder has stopped by its clock before the other may start by his own."""
    assert asyncio.run(times_of_two_leaders(holder, other)) == []


@pytest.mark.parametrize("holder, other", [(1, 1.68), (0.59, 1), (0.1, 1), (1, 30)])
def test_beyond_that_both_may_and_the_claim_keeps_them_apart(holder: float, other: float) -> None:
    """The holder still leads by its clock, and gets no claim any more."""
    assert asyncio.run(times_of_two_leaders(holder, other)) != []
