"""The queue core alone: no API server, one process. Every figure stands beside the reference loop of the same run.

Bounds (issue 5) hold on a machine where the loop takes 0.5 s, and scale with it.
"""

from __future__ import annotations

import gc
import heapq
import resource
import sys
import time
from dataclasses import dataclass, replace

from tests.bench.queue.rules import rule_sets
from webhook.documents import Document
from webhook.queue.cycle.decide import decide
from webhook.queue.events import WorkloadChanged, WorkloadEvicted, WorkloadGone
from webhook.queue.model import BorrowWithinCohort, Preemption, Snapshot, Workload
from webhook.queue.rules import Rules
from webhook.queue.state import State
from webhook.simulate.generate import Generated, generate
from webhook.simulate.simulation import pod_sets_of, with_local_queues, workload_of

REFERENCE = 0.5
"""Seconds of the reference loop that the bounds are given for."""
STEPS = 10_000_000


def reference() -> float:
    """Time 10,000,000 increments of a value in a dict."""
    counts = {"a": 0}
    start = time.process_time()
    for _ in range(STEPS):
        counts["a"] += 1
    return time.process_time() - start


@dataclass(frozen=True)
class Work:
    """Queues, and workloads with their arrival and run time in milliseconds."""

    snapshot: Snapshot
    arrivals: tuple[tuple[int, int, Workload], ...]


@dataclass(frozen=True)
class Figures:
    """One run: CPU seconds in the core and in feeding it, of them for arrivals that came at once; what it did."""

    seconds: float
    arriving: float
    admissions: int
    preemptions: int
    end: int
    calls: int

    @property
    def rate(self) -> float:
        return self.admissions / self.seconds


def classes() -> list[dict]:
    """The three classes of Kueue's published baseline."""
    return [
        {
            "class": "small",
            "count": 350,
            "every": "100ms",
            "run": "200ms",
            "priority": 50,
            "requests": {"cpu": 1},
        },
        {
            "class": "medium",
            "count": 100,
            "every": "500ms",
            "run": "500ms",
            "priority": 100,
            "requests": {"cpu": 5},
        },
        {
            "class": "large",
            "count": 50,
            "every": "1200ms",
            "run": "1s",
            "priority": 200,
            "requests": {"cpu": 20},
        },
    ]


def shape(cohorts: int, queues: int, workloads: list[dict]) -> Work:
    """Cohorts of equal queues: nominal 20 CPU, borrowing limit 100, reclaim from any, preempt lower priorities."""
    queue = {
        "count": queues,
        "quota": {"cpu": {"nominal": 20, "borrowingLimit": 100}},
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        "workloads": workloads,
    }
    return work(generate(Document({"cohorts": [{"count": cohorts, "queues": [queue]}]}, "bench")))


def work(generated: Generated) -> Work:
    """Make the workloads of a generated trace; equal pod sets are one object, as they are from a snapshot."""
    pods: dict = {}
    arrivals = []
    for a in generated.arrivals:
        shared = pods.setdefault((a.count, tuple(a.requests.items())), pod_sets_of(a))
        arrivals.append((a.at, a.run, workload_of(a, shared)))
    return Work(with_local_queues(generated.snapshot, generated.arrivals), tuple(arrivals))


def in_virtual_time(load: Work, rules: Rules) -> Figures:
    """Let work arrive and run for its time; the evicted start again. Time is that of this process."""
    state = State.from_snapshot(load.snapshot)
    state.bind(rules, 0)
    run = {w.key: r for _, r, w in load.arrivals}
    born = {w.key: at for at, _, w in load.arrivals}
    events: list[tuple[int, int, str, Workload | None]] = [(at, 0, w.key, w) for at, _, w in load.arrivals]
    heapq.heapify(events)
    epoch: dict[str, int] = {}
    admissions = preemptions = calls = now = 0
    gc.collect()
    start = time.process_time()
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, tick, key, arrived = heapq.heappop(events)
            if arrived is not None:
                state.apply(WorkloadChanged(arrived))
            elif epoch.get(key) == tick:
                state.apply(WorkloadGone(key))
        while True:
            calls += 1
            made = decide(state, rules, now)
            for admitted in made.admitted:
                admissions += 1
                epoch[admitted.workload] = admissions
                heapq.heappush(events, (now + run[admitted.workload], admissions, admitted.workload, None))
            for victim in made.preempted:
                preemptions += 1
                epoch[victim.workload] = -1
                state.apply(WorkloadEvicted(victim.workload, born[victim.workload]))
            if not made.preempted:
                break
    return Figures(time.process_time() - start, 0.0, admissions, preemptions, now, calls)


def at_once(load: Work, rules: Rules, most: int = 10**9) -> Figures:
    """Let everything wait from the start, and finish what is admitted at once; end after `most` admissions."""
    state = State.from_snapshot(load.snapshot)
    state.bind(rules, 0)
    gc.collect()
    start = time.process_time()
    for _, _, workload in load.arrivals:
        state.apply(WorkloadChanged(workload))
    arrived = time.process_time() - start
    admissions = calls = 0
    while admissions < most:
        calls += 1
        made = decide(state, rules, calls)
        if not made.admitted:
            break
        for admitted in made.admitted:
            admissions += 1
            state.apply(WorkloadGone(admitted.workload))
    return Figures(time.process_time() - start, arrived, admissions, 0, 0, calls)


def one_queue(pending: int, shapes: int) -> Work:
    """One queue with room for 100 of them: `pending` workloads of `shapes` distinct requests, all there at once."""
    workloads = [
        {
            "class": f"s{i}",
            "count": pending // shapes,
            "run": "1s",
            "requests": {"cpu": f"{1000 + i}m", "memory": i + 1},
        }
        for i in range(shapes)
    ]
    quota = {"cpu": 150, "memory": "1Ti"}
    return work(generate(Document({"cohorts": [{"queues": [{"quota": quota, "workloads": workloads}]}]}, "bench")))


def preempting(queues: int, each: int) -> Work:
    """Waves of rising priority: every wave finds the queue full of the one before it."""
    workloads = [
        {"class": f"w{i}", "count": each, "start": f"{100 * i}ms", "run": "10s", "priority": i, "requests": {"cpu": 2}}
        for i in range(6)
    ]
    made = shape(1, queues, workloads)
    strict = Preemption("LowerPriority", "Any", BorrowWithinCohort("LowerPriority"))
    changed = tuple(replace(q, preemption=strict) for q in made.snapshot.cluster_queues)
    return Work(replace(made.snapshot, cluster_queues=changed), made.arrivals)


class Table:
    """Prints rows as they come."""

    def __init__(self, loop: float) -> None:
        self.scale = loop / REFERENCE
        self.loop = loop
        print(f"reference loop: {loop:.2f} s ({STEPS:,} dict increments); bounds are for {REFERENCE} s and scale")
        print(f"{'run':<44}{'admitted':>9}{'evicted':>8}{'CPU s':>8}{'/ loop':>8}{'adm/s':>9}{'scaled':>9}  bound")

    def row(self, name: str, f: Figures, bound: str = "") -> None:
        scaled = f.rate * self.scale
        line = f"{name:<44}{f.admissions:>9,}{f.preemptions:>8,}{f.seconds:>8.2f}{f.seconds / self.loop:>8.2f}"
        print(f"{line}{f.rate:>9,.0f}{scaled:>9,.0f}  {bound}", flush=True)


def main() -> None:
    """Print the table of all runs."""
    table = Table(min(reference() for _ in range(2)))
    large = shape(10, 100, [{**c, "count": n} for c, n in zip(classes(), (35, 10, 5), strict=True)])
    sets = rule_sets()
    for form, rules in sets["kueue"].items():
        table.row(f"(b) 1,000 queues, 50,000 workloads, {form}", at_once(large, rules), ">= 10,000")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 2**20)
    print(f"    memory of the whole process so far: {used:,.0f} MB (< 600)")
    del large
    for name, forms in sets.items():
        baseline(table, name, forms)
    waves = preempting(10, 100)
    for form, rules in sets["kueue"].items():
        table.row(f"(d) six waves of preemption, {form}", in_virtual_time(waves, rules))
    growth(table, next(iter(sets["kueue"].values())))


def baseline(table: Table, name: str, forms: dict[str, Rules]) -> None:
    """(a) Kueue's published baseline, and (e) what the rule file costs against the same in Python."""
    load = shape(5, 6, classes())
    timed = {form: in_virtual_time(load, rules) for form, rules in forms.items()}
    once = {form: at_once(load, rules) for form, rules in forms.items()}
    for form, figures in timed.items():
        table.row(f"(a) baseline, virtual time, {name} {form}", figures, ">= 10,000")
    end = next(iter(timed.values())).end
    print(f"    makespan {end / 1000:.1f} s: {end / 66_000:.2f} times the capacity bound of 66 s (<= 1.25)")
    for form, figures in once.items():
        table.row(f"(a) baseline, finished at once, {name} {form}", figures, ">= 15,000")
    for what, runs in (("virtual time", timed), ("finished at once", once)):
        if len(runs) == 2:
            file, python = runs["file"].seconds, runs["python"].seconds
            print(f"(e) {name}, {what}: the rule file takes {file / python:.2f} times as long as Python (< 1.5)")


def growth(table: Table, rules: Rules) -> None:
    """(c): what an admission costs must grow no faster than log n; arrivals are left out of the cost."""
    for pending in (10_000, 30_000, 100_000):
        f = at_once(one_queue(pending, 1_000), rules, most=1_000)
        f = replace(f, seconds=f.seconds - f.arriving)
        table.row(f"(c) one queue, {pending:,} pending, 1,000 shapes", f)


if __name__ == "__main__":
    main()
