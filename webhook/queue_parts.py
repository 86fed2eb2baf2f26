"""The parts of a replica that deal with queues, as its mode asks: each depends on those before it, none runs yet.

What a mode has no use for is None: `embedded` decides, `external` may compare with a Kueue that does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry

from webhook.admission.queue_gate import QueueGate
from webhook.cluster.api.kinds import followed
from webhook.cluster.api.leader import LEASE_NAME, Leader, LeaseTimes
from webhook.cluster.api.view import View
from webhook.cluster.beside_kueue import BesideKueue, ComparisonMetrics
from webhook.cluster.clocks import Clocks
from webhook.cluster.controller import Controller
from webhook.cluster.core.opt_in import left_alone
from webhook.cluster.core.queue_core import HEADS_PER_CALL, QueueCore
from webhook.cluster.core.view_gate import view_gate
from webhook.cluster.failure_recovery import GATE
from webhook.cluster.queues.names import QueueNames
from webhook.cluster.queues.round_metrics import QueueMetrics
from webhook.config import Config, QueueMode, queue_settings
from webhook.journal.compare import ComparingJournal
from webhook.journal.journal import Decider, Journal
from webhook.journal.users import UserHashes, UserNames, read_key
from webhook.journal.writer import JournalLimits, JournalWriter
from webhook.kube.gvk import GroupVersionKind
from webhook.kube.selectors import compile_selector
from webhook.queue.rules import Rules
from webhook.setting_values import labels
from webhook.store.objects import Object, ObjectStore

if TYPE_CHECKING:
    from webhook.telemetry import Traces  # its libraries are an extra


@dataclass(frozen=True, slots=True)
class Reporting:
    """Where the parts report to: metrics, the journal (`decider` says for it who decides), and traces of rounds."""

    registry: CollectorRegistry
    decider: Callable[[], Decider]
    traces: Traces | None


@dataclass(frozen=True, slots=True)
class QueueParts:
    """What decides, or compares (`compared`, `beside_kueue`), in this mode."""

    journal: Journal | None
    core: QueueCore | None
    gate: QueueGate | None
    controller: Controller | None
    compared: QueueCore | None
    beside_kueue: BesideKueue | None


def followed_kinds(config: Config) -> tuple[GroupVersionKind, ...]:
    """Return the kinds that a replica follows in its mode."""
    return followed(
        embedded=_embedded(config),
        external=config.mode is QueueMode.EXTERNAL,
        compares=_compares(config),
        nodes=config.queues.enabled(GATE),
    )


def make_leader(
    config: Config, store: ObjectStore, clocks: Clocks, identity: str, owners: tuple[Object, ...]
) -> Leader | None:
    """Return a candidate for the lease, which goes with its `owners`; None if nothing is led, or without election."""
    if not config.leader_election or not (_embedded(config) or config.keep_registration):
        return None
    duration = config.lease_seconds
    times = LeaseTimes(duration, duration * 0.6, duration / 7.5)
    return Leader(store, identity, config.namespace, LEASE_NAME, times, clocks.monotonic, clocks.now, owners)


def make_queue_parts(
    config: Config, view: View, clocks: Clocks, rules: Rules, leader: Leader | None, reporting: Reporting
) -> QueueParts:
    """Make the parts over a view. Raises OSError or ValueError if the journal cannot be opened."""
    journal = _journal(config, reporting)
    if _compares(config):
        compared = QueueCore(rules, settings=config.queues, journal=journal)
        beside_kueue = BesideKueue(view, compared, clocks.milliseconds)
        return QueueParts(journal, None, None, None, compared, beside_kueue)
    if not _embedded(config):
        return QueueParts(None, None, None, None, None, None)
    settings = queue_settings(config)
    alone = left_alone(labels(config.namespace_selector), settings)
    core = QueueCore(rules, settings=config.queues, journal=journal, left_alone=alone)
    gate = view_gate(view, core, clocks.milliseconds, config.queues, refuses=config.refuse_impossible)
    role, names = "follower" if leader else "standalone", QueueNames(view, settings)
    traced = reporting.traces.round if reporting.traces is not None else None
    report = QueueMetrics(reporting.registry, role, names, traced)
    opted = compile_selector({"matchLabels": labels(config.namespace_selector)})
    controller = Controller(view, core, clocks, report, opted, settings, leader)
    return QueueParts(journal, core, gate, controller, None, None)


def _embedded(config: Config) -> bool:
    return config.mode is QueueMode.EMBEDDED


def _compares(config: Config) -> bool:
    return config.mode is QueueMode.EXTERNAL and config.journal_folder is not None


def _journal(config: Config, reporting: Reporting) -> Journal | None:
    if config.journal_folder is None or not (_embedded(config) or _compares(config)):
        return None
    limits = JournalLimits(int(config.journal_megabytes * 2**20), int(config.journal_days))
    users = None
    if config.journal_users is UserNames.HASH:
        key = read_key(config.journal_users_key) if config.journal_users_key else b""
        users = UserHashes(config.journal_folder, key)
    writer = JournalWriter(config.journal_folder, limits, users=users)
    if not _compares(config):
        return Journal(writer, reporting.decider, HEADS_PER_CALL)
    return ComparingJournal(writer, reporting.decider, HEADS_PER_CALL, ComparisonMetrics(reporting.registry).record)
