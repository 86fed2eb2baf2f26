"""Days of two CPUs as the queue core wrote them: steps in minutes after noon, and what it was told in each."""

from contextlib import closing
from pathlib import Path

from tests.cluster.small_cluster import queues
from tests.journal.test_command import MINUTE, MONDAY, told
from webhook.cluster.core.queue_core import HEADS_PER_CALL, QueueCore
from webhook.journal.heading import Decider
from webhook.journal.journal import Journal
from webhook.journal.writer import JournalWriter
from webhook.offline.plan.rule_sets import rules_of
from webhook.policy.queue_rules.configured import Configured

MIDNIGHT = 12 * 60
RELOAD = "reload"
"""The rules change: the file ends."""
TAKEOVER = "takeover"
"""Another replica leads; the rest of the day is its own."""
OTHER = "other"
"""The journal of another cluster, whose lease was created later: the rest of the day is its own."""


def held(name, cpu, at=0):
    """A Workload that was admitted at a minute."""
    return told(name, cpu, ("QuotaReserved", at), ("Admitted", at), admission=True)


def finished(name, cpu, at, since=0):
    """A Workload that has run."""
    return told(name, cpu, ("QuotaReserved", since), ("Admitted", since), ("Finished", at))


def gone(obj):
    """An object that is deleted."""
    return (obj, None)


def live(folder: Path, *steps) -> QueueCore:
    """Write a day; a step is a minute with what is told before its round, `RELOAD`, `TAKEOVER` or `OTHER`."""
    epoch, lease = 1, "2026-01-01"
    while ends := [step for step in steps if step in (TAKEOVER, OTHER)]:
        border = steps.index(ends[0])
        _lead(folder, epoch, lease, steps[:border])
        steps, epoch, lease = steps[border + 1 :], epoch + 1, lease if ends[0] == TAKEOVER else "2026-01-02"
    return _lead(folder, epoch, lease, steps)


def _lead(folder: Path, epoch: int, lease: str, steps) -> QueueCore:
    with closing(JournalWriter(folder / f"replica-{epoch}", clock=lambda: MONDAY / 1000)) as writer:
        decider = Decider(f"replica-{epoch}", epoch, Configured(), "sha256:0", lease)
        core = QueueCore(rules_of(["kueue"]), journal=Journal(writer, lambda: decider, HEADS_PER_CALL))
        for obj in queues("2"):
            core.heard(None, obj)
        for step in steps:
            if step == RELOAD:
                core.use(rules_of(["kueue"]))
                continue
            minute, *objects = step
            for obj in objects:
                core.heard(*(obj if isinstance(obj, tuple) else (None, obj)))
            core.decide(MONDAY + minute * MINUTE)
    return core
