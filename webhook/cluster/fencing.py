"""Fencing: a new leader makes sure that no write of the former one can still admit a Workload.

A leader records in the lease which Workloads it may admit before it admits any (`api/leader.py`). The next leader
stamps these Workloads: a status write for an older version of one then fails.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Final, TypeVar

from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.api.leader_writer import LeaderWriter, NotLeading
from webhook.cluster.api.view import View
from webhook.cluster.jobs.steps import EPOCH
from webhook.cluster.pace import Pass, in_slices
from webhook.kube.condition_types import FINISHED, QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.kube.fields import at
from webhook.store.errors import Conflict, NotFound, StoreError, Unavailable
from webhook.store.objects import Object, version_of

log = logging.getLogger(__name__)

AT_ONCE: Final = 8
"""Writes in flight at the same time."""
CATCH_UP: Final = 2.0
"""Seconds for the watch to deliver a new leader's own write; after that it lists."""
CLAIMS: Final = 256
"""Workloads claimed in advance. A new leader has to write to all of them; fewer would need claims more often."""
SHORTEST_WAIT_SECONDS: Final = 0.1
T = TypeVar("T")
Claim = Callable[[Sequence[str]], Awaitable[bool]]


async def insist(call: Callable[[], Awaitable[T]]) -> T:
    """Call until the API server is available. It is cancelled when the lease is lost."""
    while True:
        try:
            return await call()
        except Unavailable as error:
            log.warning("the API server is unavailable; retrying: %s", error)
            await asyncio.sleep(max(SHORTEST_WAIT_SECONDS, error.after))


class Fence:
    """The claims of this replica, and the fencing of the previous leader's."""

    def __init__(self, view: View, writer: LeaderWriter, claim: Claim | None) -> None:
        """Take `claim`, which records the Workloads that this replica may admit; None if there is no other replica."""
        self._view, self._writer, self._claim = view, writer, claim
        self._claimed: dict[str, str] = {}
        self._caught_up = ""
        """The version that this replica's stamp made of the Workload by which it caught up."""

    async def claim(self, wanted: set[str], unsettled: Iterable[str], front: Callable[[int], Pass[list[str]]]) -> None:
        """Claim the Workloads that this round admits, before any of that is written, and the next candidates.

        So one write lasts for several rounds, until another leader has stamped one of them. Raises NotLeading,
        StoreError.
        """
        if self._claim is None or all(self.is_claimed(key) for key in wanted):
            return
        claimed = {key: self._stamp(key) for key in (*wanted, *unsettled, *await in_slices(front(CLAIMS)))}
        claim, names = self._claim, sorted(claimed)
        if not await insist(lambda: claim(names)):
            raise NotLeading
        self._claimed = claimed

    def is_claimed(self, key: str) -> bool:
        """Return whether a Workload may be admitted: it is claimed and has not been stamped since.

        A leader with a slow clock sees the versions stamped by the next one, and must not use them.
        """
        return self._claim is None or self._claimed.get(key) == self._stamp(key)

    async def catch_up(self, epoch: int, left: Sequence[str] | None) -> bool:
        """Wait until the watch has delivered all writes to Workloads before this call; return whether it did.

        A pending Workload is stamped, preferably one that the former leader claimed: the watch delivers earlier writes
        first. If none is pending, or the write or the watch fails, the Workloads have to be listed instead.
        """
        informer = self._view.informer(WORKLOAD)
        # The last claimed are those that the former leader was least likely to admit meanwhile.
        known = chain(map(self._view.workload, reversed(left or ())), informer.all())
        waiting = next((w for w in known if w and not holds(w, QUOTA_RESERVED) and not holds(w, FINISHED)), None)
        if waiting is None:
            return False
        try:
            written = await self._writer.metadata(waiting, {"annotations": {EPOCH: str(epoch)}})
            if version_of(written) == version_of(waiting):  # it already had that stamp, so nothing was written
                return False
            self._caught_up = version_of(written)
            async with asyncio.timeout(CATCH_UP):
                await informer.reach(version_of(written))
        except (StoreError, TimeoutError):
            return False
        return True

    async def keep_out(self, epoch: int, left: Sequence[str] | None) -> None:
        """Stamp the Workloads that a former leader may still admit, so that its writes fail.

        `left` is None if it may be any pending one. Raises StoreError if a write is refused: then nothing may be
        decided.
        """
        self._claimed = {}
        if left is None:
            waiting = [w for w in self._view.informer(WORKLOAD).all() if not holds(w, FINISHED)]
        else:
            waiting = [workload for key in left if (workload := self._view.workload(key)) is not None]
        waiting = [workload for workload in waiting if version_of(workload) != self._caught_up]
        for start in range(0, len(waiting), AT_ONCE):
            await asyncio.gather(*(self.stamp(w, epoch) for w in waiting[start : start + AT_ONCE]))

    async def stamp(self, workload: Object, epoch: int) -> None:
        """Stamp a Workload unless it has quota, so that writes for an older version of it fail.

        Under another lease, after one was deleted, epochs come again: the same stamp would change no version.
        """
        current: Object | None = workload
        while current is not None and not holds(current, QUOTA_RESERVED):
            again = str(at(current, ("metadata", "annotations", EPOCH)) or "") == str(epoch)
            stamp = f"{epoch}.{version_of(current)}" if again else str(epoch)
            write = partial(self._writer.metadata, current, {"annotations": {EPOCH: stamp}})
            try:
                await insist(write)
            except NotFound:
                return
            except Conflict:  # somebody wrote to it since, perhaps the former leader
                current = await insist(partial(self._writer.refresh_workload, current))
            else:
                return

    def _stamp(self, key: str) -> str:
        """Return the stamp of a Workload, "" if none."""
        return str(at(self._view.workload(key) or {}, ("metadata", "annotations", EPOCH)) or "")
