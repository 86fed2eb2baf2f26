"""How a new leader keeps the former one from admitting anything more, however late its writes come.

A leader writes into the lease whom it may admit before it admits anybody (`api/leader.py`). Whoever takes the lease
over stamps those Workloads: a status write that was made for an older version of one is then refused.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Final, TypeVar

from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.api.view import View
from webhook.cluster.api.writer import LeaderWriter, NotLeading
from webhook.cluster.jobs.steps import EPOCH
from webhook.cluster.pace import Pass, in_slices
from webhook.cluster.workloads.conditions import FINISHED, QUOTA_RESERVED
from webhook.jobs.describe import at
from webhook.kube.conditions import holds
from webhook.store.errors import Conflict, NotFound, StoreError, Unavailable
from webhook.store.objects import Object, version_of

log = logging.getLogger(__name__)

AT_ONCE: Final = 8
"""Writes under way at the same time."""
CATCH_UP: Final = 2.0
"""Seconds that the watch has to tell a new leader of its own write; after that it lists."""
CLAIMS: Final = 256
"""Workloads that are claimed ahead: as many writes keep a new leader from deciding, and so rarely is one made."""
SOON: Final = 0.1
T = TypeVar("T")
Claim = Callable[[Sequence[str]], Awaitable[bool]]


async def insist(call: Callable[[], Awaitable[T]]) -> T:
    """Do what must be done before anything else, again while the API server is away; whose lease ends is cancelled."""
    while True:
        try:
            return await call()
        except Unavailable as error:
            log.warning("tried again: %s", error)
            await asyncio.sleep(max(SOON, error.after))


class Fence:
    """What this replica has claimed, and what it does about the claims of the one before."""

    def __init__(self, view: View, writer: LeaderWriter, claim: Claim | None) -> None:
        """Take `claim`, which writes down whom this replica may admit; None where no other may take over."""
        self._view, self._writer, self._claim = view, writer, claim
        self._claimed: dict[str, str] = {}

    async def claim(self, wanted: set[str], unsettled: Iterable[str], front: Callable[[int], Pass[list[str]]]) -> None:
        """Have those claimed whom this round admits, before any of that is written; those in front as well.

        So one write lasts for some rounds, until another leader has stamped one of them. Raises NotLeading, StoreError.
        """
        if self._claim is None or all(self.is_claimed(key) for key in wanted):
            return
        claimed = {key: self._stamp(key) for key in (*wanted, *unsettled, *await in_slices(front(CLAIMS)))}
        claim, names = self._claim, sorted(claimed)
        if not await insist(lambda: claim(names)):
            raise NotLeading
        self._claimed = claimed

    def is_claimed(self, key: str) -> bool:
        """Say whether a Workload may be admitted by the claim: nobody has stamped it since.

        A leader whose clock is slow sees the versions that the fence of the next one makes, and must not use them.
        """
        return self._claim is None or self._claimed.get(key) == self._stamp(key)

    async def catch_up(self, epoch: int, left: Sequence[str] | None) -> bool:
        """Let the watch tell of all that was written to Workloads before this call; say whether it did in time.

        One that waits is stamped, of those that a former leader claimed where there are any: what was written before
        that is told before that. Where nothing waits, or the write or the watch fails, they have to be read instead.
        """
        mirror = self._view.mirror(WORKLOAD)
        # The last claimed are those that the former leader was least likely to admit meanwhile.
        known = chain(map(self._find, reversed(left or ())), mirror.all())
        waiting = next((w for w in known if w and not holds(w, QUOTA_RESERVED) and not holds(w, FINISHED)), None)
        if waiting is None:
            return False
        try:
            written = await self._writer.metadata(waiting, {"annotations": {EPOCH: str(epoch)}})
            if version_of(written) == version_of(waiting):  # it bore that stamp already: nothing was written now
                return False
            async with asyncio.timeout(CATCH_UP):
                await mirror.reach(version_of(written))
        except (StoreError, TimeoutError):
            return False
        return True

    async def keep_out(self, epoch: int, left: Sequence[str] | None) -> None:
        """Write to the Workloads that a former leader may still admit, so that such a write can no longer land.

        `left` is None where it may be any that waits. Raises StoreError where one is refused: then nothing may be
        decided.
        """
        self._claimed = {}
        if left is None:
            waiting = [w for w in self._view.mirror(WORKLOAD).all() if not holds(w, FINISHED)]
        else:
            waiting = [workload for key in left if (workload := self._find(key)) is not None]
        for start in range(0, len(waiting), AT_ONCE):
            await asyncio.gather(*(self.stamp(w, epoch) for w in waiting[start : start + AT_ONCE]))

    async def stamp(self, workload: Object, epoch: int) -> None:
        """Write to one Workload that waits, so that no write made for an older version of it can land any more."""
        found: Object | None = workload
        while found is not None and not holds(found, QUOTA_RESERVED):
            write = partial(self._writer.metadata, found, {"annotations": {EPOCH: str(epoch)}})
            try:
                await insist(write)
            except NotFound:
                return
            except Conflict:  # somebody wrote to it since: it may have been the former leader
                found = await insist(partial(self._writer.refresh_workload, found))
            else:
                return

    def _find(self, key: str) -> Object | None:
        namespace, _, name = key.partition("/")
        return self._view.mirror(WORKLOAD).get(name, namespace)

    def _stamp(self, key: str) -> str:
        """Give what the fence of a leader wrote to a Workload, or an empty string."""
        return str(at(self._find(key) or {}, ("metadata", "annotations", EPOCH)) or "")
