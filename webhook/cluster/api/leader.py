"""Leader election by a Lease (coordination.k8s.io/v1) that also records which Workloads its holder may admit.

Only the holder decides and writes. It stops by itself `deadline` seconds after its last successful renewal, well before
another candidate may take the lease after `duration`. Clocks of other machines are never compared: a lease counts as
expired when *this* candidate has seen it unchanged for its duration. Quota does not depend on clocks: a holder writes
the claimed Workloads into the lease before it admits any, and the next holder reads them in the version that it
replaces. So it knows every write that may still be in flight.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from webhook.cluster.api.kinds import LEASE
from webhook.cluster.api.release_owner import owned
from webhook.store.errors import AlreadyExists, Conflict, NotFound, StoreError
from webhook.store.objects import Object, ObjectStore, version_of

log = logging.getLogger(__name__)

LEASE_NAME: Final = "sluice"
"""Name of the lease, in Sluice's own namespace."""
CLAIMED: Final = "sluice.dev/claimed"
"""Annotation of the lease: the Workloads that its holder may admit, as `namespace/name` separated by spaces."""


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """In seconds: how long a lease lasts, when its holder stops without renewal, and how often it is polled."""

    duration: float = 15.0
    deadline: float = 9.0
    retry: float = 2.0


class Leader:
    """One candidate. `leads` is true only while writing is safe; `epoch` is the number of transitions of the lease."""

    def __init__(
        self,
        store: ObjectStore,
        identity: str,
        namespace: str,
        name: str,
        times: LeaseTimes,
        clock: Callable[[], float],
        now: Callable[[], datetime],
        owners: tuple[Object, ...] = (),
    ) -> None:
        """Take the parts. `owners` are the `ownerReferences` of the lease."""
        self._store, self._times, self._clock, self._now = store, times, clock, now
        self.identity, self._namespace, self._name = identity, namespace, name
        self._renewed = float("-inf")
        self._seen, self._expires = "", 0.0
        self._released = False
        self._one_write = asyncio.Lock()
        self._lease_held: Object | None = None
        self.epoch = self._last_epoch = 0
        """The epoch of this holder, and the last one that was seen in the lease."""
        self.lease_made = ""
        """When the lease was created, by the API server's clock; epochs of another lease begin anew."""
        self._annotations: Mapping[str, str] = {}
        self._owners = owners
        self.left: tuple[str, ...] | None = ()
        """Workloads that the previous holder may have admitted by a write still in flight; None if it may be any."""

    @property
    def leads(self) -> bool:
        """Return whether this candidate holds the lease and may write now."""
        return not self._released and self._clock() - self._renewed < self._times.deadline

    def publish(self, annotations: Mapping[str, str]) -> None:
        """Set these annotations on the lease with each renewal from now on."""
        self._annotations = annotations

    async def wait(self) -> None:
        """Wait until this candidate leads; polls the lease every `retry` seconds, and at the moment when it expires."""
        while not await self.renew():
            left = self._expires - self._clock()
            await asyncio.sleep(min(self._times.retry, left) if left > 0 else self._times.retry)

    async def hold(self) -> None:
        """Renew the lease; returns when it is lost."""
        while self.leads:
            await asyncio.sleep(self._times.retry)
            await self.renew()

    async def campaign(self) -> None:
        """Lead whenever that is possible, for ever, where nothing is to be done at the beginning or the end of it."""
        while True:
            await self.wait()
            await self.hold()

    async def renew(self) -> bool:
        """Take or renew the lease if possible; return whether this candidate leads."""
        asked = self._clock()
        try:
            async with self._one_write:
                held = await self._try()
            if held:
                self._renewed, self._released = asked, False
            else:
                self._renewed = float("-inf")
        except (Conflict, AlreadyExists):
            self._renewed = float("-inf")
        except StoreError as error:
            log.warning("the lease cannot be renewed: %s", error)
        return self.leads

    async def claim(self, workloads: Iterable[str]) -> bool:
        """Record the Workloads that this holder may admit from now on; return whether it holds the lease.

        The version of the lease that this holder wrote last is replaced; it is read only if that has changed. Raises
        StoreError if the outcome is unknown: then the previous claim stays in force.
        """
        async with self._one_write:
            if self._lease_held is not None and await self._claim(self._lease_held, workloads):
                return self.leads
            self._lease_held = None  # the lease has changed, perhaps only its annotations
            lease = await self._store.get(LEASE, self._name, self._namespace)
            spec = lease.get("spec") or {}
            if (spec.get("holderIdentity"), spec.get("leaseTransitions")) != (self.identity, self.epoch):
                return False
            if not await self._claim(lease, workloads):
                return False
        return self.leads

    async def _claim(self, lease: Object, workloads: Iterable[str]) -> bool:
        """Write a claim into this version of the lease; return whether it was the current one."""
        self._lease_held = None
        try:
            self._lease_held = await self._store.update(_claiming(lease, workloads))
        except Conflict:
            return False
        return True

    async def release(self) -> None:
        """Release the lease, so that another candidate does not have to wait for it to expire."""
        if not self.leads:
            return
        self._released = True
        try:
            lease = await self._store.get(LEASE, self._name, self._namespace)
            if lease["spec"].get("holderIdentity") == self.identity:
                await self._store.update({**lease, "spec": {**lease["spec"], "holderIdentity": ""}})
        except StoreError as error:
            log.warning("the lease could not be released: %s", error)

    async def _try(self) -> bool:
        self._lease_held = None
        try:
            lease = await self._store.get(LEASE, self._name, self._namespace)
        except NotFound:
            await self._make()
            return True
        spec = lease.get("spec") or {}
        holder, epoch = spec.get("holderIdentity") or "", int(spec.get("leaseTransitions") or 0)
        self._last_epoch = epoch
        if holder == self.identity and epoch == self.epoch:
            self._lease_held = await self._store.update(self._lease(lease, epoch))
            return True
        # A process of the same identity, which held it before, is another holder: its writes have to be fenced too.
        if holder not in ("", self.identity) and not self._expired(lease, spec):
            return False
        held = self._lease_held = await self._store.update(self._lease(lease, epoch + 1))
        self._won(held, epoch + 1, _claimed(lease))
        return True

    async def _make(self) -> None:
        """Create the lease. Where one was seen before, somebody has deleted it, and what it claimed is not known.

        Without the annotation the next holder knows that, too, until this one claims.
        """
        epoch, is_first = self._last_epoch + 1, not self._last_epoch
        lease = self._lease({}, epoch)
        held = self._lease_held = await self._store.create(_claiming(lease, ()) if is_first else lease)
        self._won(held, epoch, () if is_first else None)

    def _won(self, lease: Object, epoch: int, left: tuple[str, ...] | None) -> None:
        self.lease_made = str(lease["metadata"].get("creationTimestamp") or "")
        self.epoch, self._last_epoch, self.left = epoch, epoch, left
        log.info("%s leads (epoch %d)", self.identity, epoch)

    def _expired(self, lease: Object, spec: dict[str, Any]) -> bool:
        now = self._clock()
        if version_of(lease) != self._seen:
            lasts = float(spec.get("leaseDurationSeconds") or self._times.duration)
            self._seen, self._expires = version_of(lease), now + lasts
        return now >= self._expires

    def _lease(self, old: Object, epoch: int) -> Object:
        stamp = self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = dict(old.get("spec") or {})
        if spec.get("holderIdentity") != self.identity:
            spec["acquireTime"] = stamp
        spec |= {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": max(1, round(self._times.duration)),
            "renewTime": stamp,
            "leaseTransitions": epoch,
        }
        meta = old.get("metadata") or {"name": self._name, "namespace": self._namespace}
        annotations = {**(meta.get("annotations") or {}), **self._annotations}
        meta = owned({**meta, **({"annotations": annotations} if annotations else {})}, self._owners)
        return {"apiVersion": LEASE.api_version, "kind": "Lease", "metadata": meta, "spec": spec}


def _claimed(lease: Object) -> tuple[str, ...] | None:
    """Return the claimed Workloads of a lease; None if a holder recorded none (an older Sluice), so it may be any."""
    claimed = (lease["metadata"].get("annotations") or {}).get(CLAIMED)
    if claimed is None:
        return None if (lease.get("spec") or {}).get("holderIdentity") else ()
    return tuple(claimed.split())


def _claiming(lease: Object, workloads: Iterable[str]) -> Object:
    metadata = lease["metadata"]
    annotations = {**(metadata.get("annotations") or {}), CLAIMED: " ".join(workloads)}
    return {**lease, "metadata": {**metadata, "annotations": annotations}}
