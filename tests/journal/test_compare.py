"""A Kueue beside a core that only watches: equal where both decide the same, told where they do not."""

import asyncio
import json
from contextlib import asynccontextmanager

from click.testing import CliRunner
from prometheus_client import CollectorRegistry

from tests.cluster.small_cluster import CLOCKS, job, queues, small_cluster
from tests.journal.test_command import MINUTE, MONDAY, stamp, told
from webhook.cli.group import cli
from webhook.cluster.api.kinds import BUILT_IN, QUEUE_KINDS
from webhook.cluster.api.view import View
from webhook.cluster.beside_kueue import BesideKueue, ComparisonMetrics
from webhook.cluster.core.queue_core import HEADS_PER_CALL, QueueCore
from webhook.journal.compare import ComparingJournal
from webhook.journal.heading import Decider
from webhook.journal.writer import JournalWriter
from webhook.offline.plan.rule_sets import rules_of
from webhook.policy.queue_rules.configured import Configured

DECIDER = Decider("replica-1", 0, Configured(), "sha256:0")
RESERVED = (("QuotaReserved", 0), ("Admitted", 0))


def preempted(name):
    """A Workload that is evicted for another, and holds its quota yet."""
    made = told(name, "1", *RESERVED, ("Evicted", 1), admission=True)
    made["status"]["conditions"][-1]["reason"] = "Preempted"
    return made


class Beside:
    """A core beside another queue, told of objects by hand, with its journal and its counters."""

    def __init__(self, folder, cpu="2", **spec):
        self.folder, self.registry, self.now, self.known = folder, CollectorRegistry(), MONDAY, {}
        self.writer = JournalWriter(folder)
        journal = ComparingJournal(
            self.writer, lambda: DECIDER, HEADS_PER_CALL, ComparisonMetrics(self.registry).record
        )
        self.core = QueueCore(rules_of(["kueue"]), journal=journal)
        for obj in queues(cpu, **spec):
            self.core.heard(None, obj)
        self.core.decide(self.now)

    def sees(self, *workloads, minutes=0, seconds=0):
        """A change at a later time: decided about before it counts, as `BesideKueue` does it."""
        self.now += minutes * MINUTE + seconds * 1_000
        self.core.decide(self.now)
        for workload in workloads:
            name = workload["metadata"]["name"]
            self.core.heard(self.known.get(name), workload)
            self.known[name] = workload
        self.core.decide(self.now)

    def goes(self, name):
        """A Workload is deleted."""
        self.core.heard(self.known[name], None)
        self.core.decide(self.now)

    def report(self, *arguments):
        """What `sluice journal compare` says."""
        self.writer.close()
        return CliRunner().invoke(cli, ["journal", "compare", str(self.folder), *arguments])

    def count(self, what, outcome):
        return self.registry.get_sample_value("sluice_compared_decisions_total", {"what": what, "outcome": outcome})


def test_the_same_start_is_equal(tmp_path):
    """Started at once, in the flavor that the core would have given."""
    beside = Beside(tmp_path)
    beside.sees(told("first", "2"))
    beside.sees(told("first", "2", *RESERVED, admission=True))
    done = beside.report()
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[:4] == ["1 starts", "  equal   1", "  better  0", "  worse   0"]
    assert beside.count("start", "equal") == 1


def test_a_start_that_the_core_would_have_made_earlier_is_better(tmp_path):
    """By so many seconds; and what the other queue never started is told once it is deleted, or as waiting."""
    beside = Beside(tmp_path)
    beside.sees(told("late", "1"))
    beside.sees(told("late", "1", *RESERVED, admission=True), minutes=2)
    beside.sees(told("never", "1"))
    beside.sees(minutes=1)
    beside.goes("never")
    beside.sees(told("still", "1"))
    beside.sees(minutes=3)
    rows = [json.loads(line) for line in beside.report("-o", "json").output.splitlines()]
    found = [(row["workload"], row["outcome"], row["seconds"], row["detail"]) for row in rows]
    assert found == [
        ("team-a/late", "better", 120.0, ""),
        ("team-a/never", "better", 60.0, "deleted before it started"),
        ("team-a/still", "better", 180.0, "still waits"),
    ]
    assert beside.count("start", "better") == 2
    assert beside.registry.get_sample_value("sluice_compared_earlier_seconds_total") == 180


def test_what_came_after_the_time_is_not_reported(tmp_path):
    """A minute later it had waited for one minute; that it started a day later is not of this time."""
    beside = Beside(tmp_path)
    beside.sees(told("late", "1"))
    beside.sees(minutes=1)
    beside.sees(told("other", "1"), minutes=9)
    beside.sees(told("late", "1", *RESERVED, admission=True), minutes=9)
    done = beside.report("--until", stamp(5), "-o", "json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["workload"], row["seconds"], row["detail"]) for row in rows] == [("team-a/late", 60, "still waits")]


def test_a_start_that_the_core_would_not_have_made_is_worse(tmp_path):
    """The job does not fit: the other queue admits over the quota. A start of the same round is no excuse."""
    beside = Beside(tmp_path)
    beside.sees(told("first", "2"), told("second", "1"))
    beside.sees(told("first", "2", *RESERVED, admission=True))
    beside.sees(told("second", "1", *RESERVED, admission=True))
    done = beside.report()
    assert done.output.splitlines()[:4] == ["2 starts", "  equal   1", "  better  0", "  worse   1"]
    assert "worse  start  team-a/second  cq  would have waited" in done.output


def test_a_start_decided_a_moment_before_is_equal(tmp_path):
    """The other queue wrote what it had decided before a job ended: the core wanted the same then, and not any more."""
    beside = Beside(tmp_path)
    beside.sees(told("busy", "1", *RESERVED, admission=True))
    beside.sees(told("large", "2"), told("small", "1"), minutes=1)
    beside.sees(told("busy", "1", *RESERVED, ("Finished", 1), admission=True), seconds=1)
    beside.sees(told("small", "1", *RESERVED, admission=True), seconds=1)
    done = beside.report()
    assert done.output.splitlines()[:4] == ["1 starts", "  equal   1", "  better  0", "  worse   0"], done.output


def test_a_start_decided_long_before_is_worse(tmp_path):
    """A minute later the core's wish of then is no excuse."""
    beside = Beside(tmp_path)
    beside.sees(told("busy", "1", *RESERVED, admission=True))
    beside.sees(told("large", "2"), told("small", "1"), minutes=1)
    beside.sees(told("busy", "1", *RESERVED, ("Finished", 1), admission=True))
    beside.sees(told("small", "1", *RESERVED, admission=True), minutes=1)
    assert "worse  start  team-a/small  cq  would have waited" in beside.report().output


def test_an_eviction_for_nobody_is_worse(tmp_path):
    """The other queue preempts where the core would not."""
    beside = Beside(tmp_path)
    running = told("first", "1", *RESERVED, admission=True)
    beside.sees(told("first", "1"))
    beside.sees(running)
    beside.sees(preempted("first"), minutes=1)
    done = beside.report()
    assert "1 preemptions: 0 equal, 1 worse" in done.output
    assert "worse  preemption  team-a/first  cq  would not have been preempted" in done.output


def test_an_eviction_decided_a_moment_before_is_equal(tmp_path):
    """The other queue wrote the eviction after the job had gone for which both would have preempted."""
    beside = Beside(tmp_path, "1", preemption={"withinClusterQueue": "LowerPriority"})
    beside.sees(told("low", "1", *RESERVED, admission=True))
    high = told("high", "1")
    beside.sees({**high, "spec": {**high["spec"], "priority": 10}}, minutes=1)
    beside.goes("high")
    beside.sees(preempted("low"), seconds=1)
    assert "1 preemptions: 1 equal, 0 worse" in beside.report().output


def test_a_round_of_more_heads_than_one_call_takes_is_one_round(tmp_path):
    """Far more jobs wait than the core looks at in a call: each is decided about once, and none is `worse`."""
    beside = Beside(tmp_path, str(2 * HEADS_PER_CALL))
    kueue = BesideKueue(None, beside.core, lambda: beside.now)
    names = [f"w{at:04}" for at in range(HEADS_PER_CALL + 100)]
    for name in names:
        beside.core.heard(None, told(name, "1"))
    for _ in range(2):
        beside.now += MINUTE
        kueue.decide()
    for name in names:
        beside.core.heard(told(name, "1"), told(name, "1", *RESERVED, admission=True))
    beside.now += MINUTE
    kueue.decide()
    assert [beside.count("start", found) for found in ("equal", "better", "worse")] == [0, len(names), 0]


def test_nothing_to_compare(tmp_path):
    """A journal without a start is no report."""
    done = Beside(tmp_path).report()
    assert (done.exit_code, done.stderr) == (3, "sluice journal compare: Kueue admitted nothing in this period\n")


@asynccontextmanager
async def beside_kueue(store, folder, registry):
    """The core beside whoever decides in a store."""
    writer = JournalWriter(folder)
    core = QueueCore(
        rules_of(["kueue"]),
        journal=ComparingJournal(writer, lambda: DECIDER, HEADS_PER_CALL, ComparisonMetrics(registry).record),
    )
    box = []
    view = View(store, (*BUILT_IN, *QUEUE_KINDS), lambda *change: box[0].heard(*change))
    box.append(BesideKueue(view, core, CLOCKS.milliseconds))
    view.start()
    box[0].start()
    await view.wait()
    try:
        yield
    finally:
        await box[0].stop()
        await view.stop()
        writer.close()


def test_beside_itself_the_queue_is_equal(tmp_path):
    """Forty jobs of three sizes through a queue that decides: the core beside it agrees each time.

    Strictly in order: a start is compared when it is written, and more jobs may have ended since it was decided. With
    their quota further jobs start, but none goes first, as a large one would that was passed over for want of it.
    """

    async def go():
        registry = CollectorRegistry()
        async with (
            small_cluster(*queues("4", strategy="StrictFIFO"), seconds=0.02) as cluster,
            beside_kueue(cluster.store, tmp_path, registry),
        ):
            for number in range(40):
                await cluster.create(job(f"j{number}", str(1 + number % 3)))

            async def compared():
                return sum(starts(registry).values()) == 40

            await cluster.until(compared, "the core beside it has seen every start")
        return registry

    def starts(registry):
        rows = ({"what": "start", "outcome": outcome} for outcome in ("equal", "better", "worse"))
        return {r["outcome"]: registry.get_sample_value("sluice_compared_decisions_total", r) for r in rows}

    assert starts(asyncio.run(go())) == {"equal": 40, "better": 0, "worse": 0}
