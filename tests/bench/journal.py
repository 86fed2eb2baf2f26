"""A day of 100,000 decisions: what the journal of it costs, and whether it is decided again the same.

The queue core is driven as the controller drives it: objects are heard, a round decides, its admissions come back as
objects. What the journal takes of the rounds is processor time, so that a busy machine counts for both: its calls are
made again by themselves, as measuring each would cost more than they do. Exit code 1: fewer decisions than a day of
100,000 has, a replay that differs, or a journal that costs a round too much.
"""

from __future__ import annotations

import argparse
import heapq
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from webhook.api.amounts import text
from webhook.cluster.core.queue_core import HEADS_PER_CALL, QueueCore
from webhook.cluster.workloads.conditions import admitted as admitted_status
from webhook.journal.heading import Decider
from webhook.journal.journal import Journal
from webhook.journal.read import journal_files
from webhook.journal.replay import replay
from webhook.journal.writer import MAX_WAITING_RECORDS, JournalWriter
from webhook.offline.plan.rule_sets import rules_of
from webhook.policy.queue_rules.configured import Configured
from webhook.queue.decisions import Admitted, Decisions
from webhook.queue.events import Event
from webhook.queue.rules import Rules
from webhook.queue.state import State

JSON = dict[str, Any]
BEGIN = int(datetime(2026, 11, 2, tzinfo=UTC).timestamp() * 1000)
DAY, TICK = 86_400_000, 5_000
"""Milliseconds: of the day, and between two rounds where something happened."""
QUEUES, CPUS = 20, 165
COUNT, LEAST = 125_000, 100_000
"""Workloads of the day by default, and the decisions that it must have then."""
BATCH = 10_000
"""Calls of the journal that are measured at once."""
MOST = 0.03
"""Of a round's time may be the journal's."""
KUEUE = "kueue.x-k8s.io/v1beta2"


class KeptJournal(Journal):
    """The journal, which keeps its calls, and how long it takes to begin files.

    It waits for the thread that writes: a day passes in a minute here, and more records than may wait would be lost.
    """

    def __init__(self, writer: JournalWriter, who: Callable[[], Decider], budget: int) -> None:
        super().__init__(writer, who, budget)
        self.calls: list[Event | tuple[int, Decisions]] = []
        self.beginning = 0.0

    def round(self, state: State, in_force: Rules, now: int) -> None:
        """Take the time where a file begins."""
        due = self.writer.due(now)
        begun = time.thread_time() if due else 0.0
        super().round(state, in_force, now)
        self.beginning += time.thread_time() - begun if due else 0.0

    def event(self, event: Event) -> None:
        """Keep a change."""
        self.calls.append(event)
        super().event(event)

    def decided(self, now: int, made: Decisions) -> None:
        """Keep a call of the core."""
        self.calls.append((now, made))
        super().decided(now, made)
        while len(self.calls) - self.writer.written - self.writer.dropped > MAX_WAITING_RECORDS // 2:
            time.sleep(0.01)

    def seconds(self, folder: Path, state: State) -> float:
        """Make all calls again, for another folder, and give what they take of their thread."""
        writer = JournalWriter(folder)
        other = Journal(writer, decider, HEADS_PER_CALL)
        other.round(state, rules_of(["kueue"]), BEGIN)
        took, given = self.beginning, 1
        for batch in batches(self.calls):
            begun = time.thread_time()
            for call in batch:
                if isinstance(call, tuple):
                    writer.due(call[0])
                    other.decided(*call)
                else:
                    other.event(call)
            took += time.thread_time() - begun
            given += len(batch)
            while writer.written + writer.dropped < given:  # a day's records at once are more than may wait
                time.sleep(0.01)
        writer.close()
        if writer.dropped:
            raise RuntimeError(f"not measured: {writer.dropped} records were lost: {writer.failure}")
        return took


def batches(calls: list[Event | tuple[int, Decisions]]) -> Iterator[list[Event | tuple[int, Decisions]]]:
    """Give the calls in parts, each of which ends with a call of the core and with all its records handed over."""
    batch = []
    for call in calls:
        batch.append(call)
        if isinstance(call, tuple) and len(batch) >= BATCH:
            yield batch
            batch = []
    yield batch


def decider() -> Decider:
    """Who decides."""
    return Decider("bench", 1, Configured(), "sha256:0")


class Day:
    """Arrivals over a day, their admissions and ends, through one core. `run` gives the seconds that rounds took."""

    def __init__(self, core: QueueCore, count: int) -> None:
        self.core, self.admissions, self.rounds = core, 0, 0
        self._dice = random.Random(16)
        self._objects: dict[str, JSON] = {}
        self._ends: list[tuple[int, str]] = []
        self._arrivals = [(BEGIN + number * DAY // count, number) for number in range(count)]

    def run(self) -> float:
        """Let the day pass."""
        for obj in definitions():
            self.core.heard(None, obj)
        seconds, arrivals = 0.0, iter(self._arrivals)
        coming = next(arrivals, None)
        for now in range(BEGIN, BEGIN + DAY, TICK):
            while coming is not None and coming[0] <= now:
                self._heard(workload(coming[1], coming[0], self._dice))
                coming = next(arrivals, None)
            while self._ends and self._ends[0][0] <= now:
                self._finish(heapq.heappop(self._ends)[1], now)
            seconds += self._round(now)
        return seconds

    def _round(self, now: int) -> float:
        begun = time.thread_time()
        made = self.core.decide(now)
        for decision in made.admitted:
            self._admit(decision, now)
        self.rounds += 1
        self.admissions += len(made.admitted)
        return time.thread_time() - begun

    def _admit(self, decision: Admitted, now: int) -> None:
        obj = self._objects[decision.workload]
        queue = {"kind": "ClusterQueue", "metadata": {"name": decision.cluster_queue}, "spec": {}}
        self._heard({**obj, "status": admitted_status(obj, decision, queue, text, stamp(now))})
        heapq.heappush(self._ends, (now + self._dice.randrange(600_000, 1_200_000), decision.workload))

    def _finish(self, key: str, now: int) -> None:
        obj = self._objects[key]
        row = {
            "type": "Finished",
            "status": "True",
            "reason": "Succeeded",
            "message": "",
            "lastTransitionTime": stamp(now),
        }
        status = {**obj["status"], "conditions": [*obj["status"]["conditions"], row]}
        self._heard({**obj, "status": status})
        self.core.heard(self._objects.pop(key), None)

    def _heard(self, obj: JSON) -> None:
        key = f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
        self.core.heard(self._objects.get(key), obj)
        self._objects[key] = obj


def definitions() -> list[JSON]:
    """One flavor, and queues in one cohort, each with its LocalQueue."""
    quota = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": str(CPUS)}]}
    spec = {
        "cohortName": "all",
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
    }
    found = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {}},
    ]
    for number in range(QUEUES):
        name = f"q{number}"
        found.append({"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec})
        found.append(
            {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": {"name": name, "namespace": "team"},
             "spec": {"clusterQueue": name}}
        )  # fmt: skip
    return found


def workload(number: int, at: int, dice: random.Random) -> JSON:
    """A Workload of one pod of one to four CPUs, for any queue."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(dice.randrange(1, 5))}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    spec = {"queueName": f"q{dice.randrange(QUEUES)}", "podSets": [pods], "priority": dice.randrange(3)}
    metadata = {
        "name": f"job-{number:06}", "namespace": "team", "uid": f"{number:06}", "resourceVersion": str(number + 1),
        "creationTimestamp": stamp(at), "labels": {"team": "research", "kueue.x-k8s.io/job-uid": f"{number:06}"},
    }  # fmt: skip
    return {"apiVersion": KUEUE, "kind": "Workload", "metadata": metadata, "spec": spec}


def stamp(at: int) -> str:
    """A time as Kubernetes writes it."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def main() -> None:
    """Write the day down, replay it, and print what both took. Raises SystemExit where a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.journal", description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="workloads of the day")
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory(prefix="sluice-journal-") as folder:
        day, share = write(Path(folder), count)
        same, other = again(Path(folder))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    least = min(LEAST, count * LEAST // COUNT)
    bars = (
        (f"{day.admissions:,} decisions, at least {least:,}", day.admissions >= least),
        (f"the replay decides the same: {same:,} decisions, {other:,} others", other == 0 and same >= day.admissions),
        (f"the journal costs {share:.1%} of a round, less than {MOST:.0%}", share < MOST),
    )
    for text_, kept in bars:
        print(f"{'ok    ' if kept else 'MISSED'}  {text_}")
    if not all(kept for _, kept in bars):
        raise SystemExit(1)


def write(folder: Path, count: int) -> tuple[Day, float]:
    """Live the day with a journal; give it, and the share of the rounds' time that the journal took."""
    writer = JournalWriter(folder / "journal")
    journal = KeptJournal(writer, decider, HEADS_PER_CALL)
    before, thread = time.process_time(), time.thread_time()
    day = Day(QueueCore(rules_of(["kueue"]), journal=journal), count)
    rounds = day.run()
    writer.close()
    writing = (time.process_time() - before) - (time.thread_time() - thread)
    loop = journal.seconds(folder / "again", day.core.state)
    each = 1000 / day.admissions
    size = sum(file.stat().st_size for file in (folder / "journal").iterdir()) / 2**20
    print(f"{day.admissions:,} admissions in {day.rounds:,} rounds; processor time, and that of an admission:")
    print(f"rounds, journal included    {rounds:6.1f} s  {each * rounds:.3f} ms")
    print(f"journal, in the event loop  {loop:6.1f} s  {each * loop:.3f} ms")
    print(f"journal, in its thread      {writing:6.1f} s  {each * writing:.3f} ms")
    print(f"on the disk {size:.1f} MiB; records {writer.counts()}")
    return day, loop / rounds


def again(folder: Path) -> tuple[int, int]:
    """Replay the journal; give how many decisions were the same, and how many others."""
    begun, same, other = time.process_time(), 0, 0
    for file in journal_files([folder / "journal"], []):
        for call in replay(file.records(), rules_of(file.begin.rules)):
            decided = len(call.then.admitted) + len(call.then.preempted) + len(call.then.evicted)
            same, other = (same + decided, other) if call.same else (same, other + max(1, decided))
    print(f"replayed in {time.process_time() - begun:.1f} s")
    return same, other


if __name__ == "__main__":
    main()
