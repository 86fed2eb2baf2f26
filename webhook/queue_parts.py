"""Makes the parts of a replica that deal with queues: each depends on those before it, none runs yet.

This and all that it imports takes 4 MiB. A replica in a mode without queues does not import it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry

from webhook.cluster.api.leader import Leader
from webhook.cluster.api.view import View
from webhook.cluster.beside_kueue import BesideKueue, ComparisonMetrics
from webhook.cluster.clocks import Clocks
from webhook.cluster.controller import Controller
from webhook.cluster.core.opt_in import left_alone
from webhook.cluster.core.queue_core import HEADS_PER_CALL, QueueCore
from webhook.cluster.core.view_gate import view_gate
from webhook.cluster.queues.names import QueueNames
from webhook.cluster.queues.round_metrics import QueueMetrics
from webhook.config import Config, queue_settings
from webhook.journal.compare import ComparingJournal
from webhook.journal.heading import Decider, UserNames
from webhook.journal.journal import Journal
from webhook.journal.users import UserHashes, read_key
from webhook.journal.writer import JournalLimits, JournalWriter
from webhook.kube.selectors import compile_selector
from webhook.queue.rules import Rules
from webhook.replica import QueueParts, compares
from webhook.setting_values import labels

if TYPE_CHECKING:
    from webhook.telemetry import Traces  # its libraries are an extra


@dataclass(frozen=True, slots=True)
class Reporting:
    """Where the parts report to: metrics, the journal (`decider` says for it who decides), and traces of rounds."""

    registry: CollectorRegistry
    decider: Callable[[], Decider]
    traces: Traces | None


def make_queue_parts(
    config: Config, view: View, clocks: Clocks, rules: Rules, leader: Leader | None, reporting: Reporting
) -> QueueParts:
    """Make the parts of a mode with queues. Raises OSError or ValueError if the journal cannot be opened."""
    journal = _journal(config, reporting)
    if compares(config):
        compared = QueueCore(rules, settings=config.queues, journal=journal)
        beside_kueue = BesideKueue(view, compared, clocks.milliseconds)
        return QueueParts(journal, compared=compared, beside_kueue=beside_kueue)
    settings = queue_settings(config)
    alone = left_alone(labels(config.namespace_selector), settings)
    core = QueueCore(rules, settings=config.queues, journal=journal, left_alone=alone)
    gate = view_gate(view, core, clocks.milliseconds, config.queues, refuses=config.refuse_impossible)
    role, names = "follower" if leader else "standalone", QueueNames(view, settings)
    traced = reporting.traces.round if reporting.traces is not None else None
    report = QueueMetrics(reporting.registry, role, names, traced)
    opted = compile_selector({"matchLabels": labels(config.namespace_selector)})
    controller = Controller(view, core, clocks, report, opted, settings, leader)
    return QueueParts(journal, core, gate, controller)


def _journal(config: Config, reporting: Reporting) -> Journal | None:
    if config.journal_folder is None:
        return None
    limits = JournalLimits(int(config.journal_megabytes * 2**20), int(config.journal_days))
    users = None
    if config.journal_users is UserNames.HASH:
        key = read_key(config.journal_users_key) if config.journal_users_key else b""
        users = UserHashes(config.journal_folder, key)
    writer = JournalWriter(config.journal_folder, limits, users=users)
    if not compares(config):
        return Journal(writer, reporting.decider, HEADS_PER_CALL)
    return ComparingJournal(writer, reporting.decider, HEADS_PER_CALL, ComparisonMetrics(reporting.registry).record)
