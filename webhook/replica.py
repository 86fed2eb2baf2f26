"""What a replica has in every mode: a name, the kinds that it follows, its candidate for the lease, its queue parts."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webhook.cluster.api.kinds import followed
from webhook.cluster.api.leader import LEASE_NAME, Leader, LeaseTimes
from webhook.cluster.clocks import Clocks
from webhook.cluster.failure_recovery import GATE
from webhook.config import Config, QueueMode
from webhook.kube.gvk import GroupVersionKind
from webhook.store.objects import Object, ObjectStore

if TYPE_CHECKING:  # a replica that only answers reviews does without these modules
    from webhook.admission.queue_gate import QueueGate
    from webhook.cluster.beside_kueue import BesideKueue
    from webhook.cluster.controller import Controller
    from webhook.cluster.core.queue_core import QueueCore
    from webhook.journal.journal import Journal


@dataclass(frozen=True, slots=True)
class QueueParts:
    """What deals with queues; what a mode has no use for is None.

    `embedded` decides; `external` may compare with a Kueue that does (`compared`, `beside_kueue`).
    """

    journal: Journal | None = None
    core: QueueCore | None = None
    gate: QueueGate | None = None
    controller: Controller | None = None
    compared: QueueCore | None = None
    beside_kueue: BesideKueue | None = None


def replica_name(config: Config) -> str:
    """Return the name by which other replicas know this one: in the lease, and in the Secret of certificates."""
    return config.identity or f"{socket.gethostname()}-{os.getpid()}"


def decides(config: Config) -> bool:
    """Return whether a replica decides about queues itself."""
    return config.mode is QueueMode.EMBEDDED


def compares(config: Config) -> bool:
    """Return whether a replica compares what it would decide with a Kueue."""
    return config.mode is QueueMode.EXTERNAL and config.journal_folder is not None


def followed_kinds(config: Config) -> tuple[GroupVersionKind, ...]:
    """Return the kinds that a replica follows in its mode."""
    return followed(
        embedded=decides(config),
        external=config.mode is QueueMode.EXTERNAL,
        compares=compares(config),
        nodes=config.queues.enabled(GATE),
    )


def make_leader(
    config: Config, store: ObjectStore, clocks: Clocks, identity: str, owners: tuple[Object, ...]
) -> Leader | None:
    """Return a candidate for the lease, which goes with its `owners`; None if nothing is led, or without election."""
    if not config.leader_election or not (decides(config) or config.keep_registration):
        return None
    duration = config.lease_seconds
    times = LeaseTimes(duration, duration * 0.6, duration / 7.5)
    return Leader(store, identity, config.namespace, LEASE_NAME, times, clocks.monotonic, clocks.now, owners)
