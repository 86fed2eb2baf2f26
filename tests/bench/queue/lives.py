"""The queue that lives: a year of jobs, an edit beside 100,000 pending, an order by what was used lately, a plan."""

from __future__ import annotations

import gc
import heapq
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import orjson

from tests.bench.queue.decisions import Table, one_queue, reference, shape
from tests.bench.queue.rules import rule_sets
from tests.queue.load_rules import load_rules
from webhook.queue.cycle.decide import decide
from webhook.queue.events import DefinitionChanged, WorkloadChanged, WorkloadGone
from webhook.queue.model import LocalQueue, PodSet, Snapshot, Workload
from webhook.queue.quota.usage_by_owner import USAGE_BASED
from webhook.queue.rules import Rules
from webhook.queue.state import State

JOBS: Final = 1_000_000
YEAR: Final = 365 * 24 * 3_600_000
USERS: Final = 200
FAIR: Final = """apiVersion: sluice.dev/v1alpha1
kind: QueuePolicy
metadata: {name: bench}
spec:
  extends: [kueue, user-caps, gpu-budget]
  parameters: {workloads: 400}
  history: {halfLife: 168h, samplingInterval: 5m}
"""


def memory() -> float:
    """The most memory that this process had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 2**20)


def jobs(snapshot: Snapshot, count: int) -> Iterator[tuple[int, int, Workload]]:
    """Arrivals over a year, with their run times: a hundred shapes, ten priorities, two hundred users."""
    chance = random.Random(7)
    doors = snapshot.local_queues
    shapes = [(PodSet("main", 1, {"cpu": 1000 * cpus, "nvidia.com/gpu": 0}),) for cpus in range(1, 11)]
    for number in range(count):
        at, door = number * YEAR // count, chance.choice(doors)
        name, user = f"j{number}", f"u{chance.randrange(USERS)}"
        pods, priority = chance.choice(shapes), chance.randrange(10)
        job = Workload(door.namespace, name, door.name, pods, priority, at, uid=name, queued_at=at, user=user)
        yield at, chance.randrange(300_000, 4_500_000), job


@dataclass
class Life:
    """A state, and what runs and waits there: when it ends, and how long it will run."""

    state: State
    rules: Rules
    ends: list[tuple[int, str]] = field(default_factory=list)
    run: dict[str, int] = field(default_factory=dict)

    def live(self, load: Iterable[tuple[int, int, Workload]]) -> float:
        """Let jobs come, run and go; the CPU seconds that took."""
        start = time.process_time()
        for at, lasts, job in load:
            while self.ends and self.ends[0][0] <= at:
                self.state.apply(WorkloadGone(heapq.heappop(self.ends)[1]))
            self.run[job.key] = lasts
            self.state.apply(WorkloadChanged(job))
            made = decide(self.state, self.rules, at)
            for admitted in made.admitted:
                heapq.heappush(self.ends, (at + self.run.pop(admitted.workload), admitted.workload))
            for victim in made.preempted:
                self.state.apply(WorkloadGone(victim.workload))
        return time.process_time() - start


def year(table: Table, rules: Rules) -> None:
    """A year with 1,000,000 jobs: memory at a tenth and at the end, and the state beside a fresh one."""
    snapshot = shape(5, 6, [{"class": "c", "count": 1, "run": "1s", "requests": {"cpu": 1}}]).snapshot
    state = State.from_snapshot(snapshot)
    state.bind(rules, 0)
    load, old = jobs(snapshot, JOBS), Life(state, rules)
    tenth = old.live(next(load) for _ in range(JOBS // 10))
    early = memory()
    rest = old.live(load)
    gc.collect()
    print(f"(f) a year, {JOBS:,} jobs: {tenth + rest:,.0f} CPU s, {(tenth + rest) / table.loop:,.0f} loops")
    print(f"    memory after a tenth {early:,.0f} MB, at the end {memory():,.0f} MB; {len(state.entries)} jobs left")
    new = State.from_snapshot(state.snapshot())
    new.bind(rules, YEAR)
    fresh = Life(new, rules, old.ends.copy(), old.run.copy())
    more = [(YEAR + at, lasts, replace(j, name=f"x{j.name}")) for at, lasts, j in jobs(snapshot, 20_000)]
    living, anew = (life.live(more) for life in (old, fresh))
    print(f"    20,000 more jobs: living {living:.2f} s, fresh {anew:.2f} s: {living / anew:.2f} times (~ 1)")


def one_edit(table: Table, rules: Rules) -> None:
    """An edit of the one queue that 100,000 wait in."""
    load = one_queue(100_000, 1_000)
    state = State.from_snapshot(load.snapshot)
    state.bind(rules, 0)
    for _, _, workload in load.arrivals:
        state.apply(WorkloadChanged(workload))
    decide(state, rules, 1)
    (queue,) = state.cluster_queues.values()
    start = time.process_time()
    for number in range(10):
        state.apply(DefinitionChanged(replace(queue, labels={"edit": str(number)})))
        state.bind(rules)
    each = 100 * (time.process_time() - start)
    print(f"(g) an edit of a queue with 100,000 pending: {each:.1f} ms, {each / table.loop:.1f} ms / loop")


def fair_admission(table: Table) -> None:
    """2,000 pending in 20 LocalQueues of a queue that goes by what they used lately: all admitted, one by one."""
    rules = load_rules(FAIR)
    load = one_queue(2_000, 500)
    queue = replace(load.snapshot.cluster_queues[0], admission_mode=USAGE_BASED)
    (space,) = {q.namespace for q in load.snapshot.local_queues}
    doors = tuple(LocalQueue(space, f"door-{i}", queue.name) for i in range(20))
    state = State.from_snapshot(replace(load.snapshot, cluster_queues=(queue,), local_queues=doors))
    state.bind(rules, 0)
    start = time.process_time()
    for number, (_, _, workload) in enumerate(load.arrivals):
        state.apply(WorkloadChanged(replace(workload, queue_name=f"door-{number % 20}")))
    admitted = 0
    for now in range(10_000):
        made = decide(state, rules, now)
        for one in made.admitted:
            state.apply(WorkloadGone(one.workload))
        admitted += len(made.admitted)
        if not made.admitted:
            break
    taken = time.process_time() - start
    print(f"(h) order by usage, {admitted:,} of 2,000 admitted: {taken:.2f} s, {taken / table.loop:.2f} loops")


def waiting_cluster(pending: int) -> bytes:
    """A List as kubectl prints it: 30 queues in five cohorts, and Workloads of a few hundred shapes that wait there."""
    resources = {"cpu": "100", "memory": "1Ti", "nvidia.com/gpu": "16"}
    quotas = [{"name": name, "nominalQuota": quota} for name, quota in resources.items()]
    group = {"coveredResources": list(resources), "flavors": [{"name": "gpu", "resources": quotas}]}
    preemption = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    items = [_object("ResourceFlavor", "gpu", {}), {**_object("Namespace", "team", {}), "apiVersion": "v1"}]
    for number in range(30):
        spec = {"cohortName": f"c{number % 5}", "namespaceSelector": {}, "preemption": preemption}
        items.append(_object("ClusterQueue", f"q{number}", {**spec, "resourceGroups": [group]}))
        items.append(_object("LocalQueue", f"q{number}", {"clusterQueue": f"q{number}"}, namespace="team"))
    for number in range(pending):
        asked = {"cpu": f"{1 + number % 10}", "memory": f"{1 + number % 7}Gi", "nvidia.com/gpu": f"{number % 3}"}
        container = {"name": "c", "image": "train:1", "resources": {"requests": asked}}
        pods = {"name": "main", "count": 1 + number % 4, "template": {"spec": {"containers": [container]}}}
        spec = {"queueName": f"q{number % 30}", "priority": number % 5, "podSets": [pods]}
        created = f"2026-01-{1 + number % 20:02}T{number % 24:02}:{number % 60:02}:00Z"
        items.append(_object("Workload", f"w{number}", spec, namespace="team", creationTimestamp=created))
    return orjson.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def _object(kind: str, name: str, spec: dict[str, Any], **metadata: str) -> dict[str, Any]:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def plan(table: Table) -> None:
    """`sluice plan` as a user calls it, over 100,000 waiting workloads: a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.json"
        file.write_bytes(waiting_cluster(100_000))
        size = file.stat().st_size / 1e6
        for output in ("table", "json"):
            asked = [sys.executable, "-m", "webhook.cli.main", "plan", "-f", str(file), "-o", output]
            with subprocess.Popen([*asked, "--now", "2026-02-01T00:00:00Z"], stdout=subprocess.DEVNULL) as process:
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            seconds, most = (
                used.ru_utime + used.ru_stime,
                used.ru_maxrss / (1024 if sys.platform != "darwin" else 2**20),
            )
            scaled = seconds / table.scale
            print(
                f"(i) plan -o {output}, 100,000 pending, {size:.0f} MB: exit {process.returncode}, {seconds:.2f} CPU s,"
            )
            print(f"    scaled {scaled:.2f} s (< 10), {most:,.0f} MB (< 600)", flush=True)


def main() -> None:
    """Print the rows of all of them."""
    table = Table(min(reference() for _ in range(2)))
    plan(table)
    rules = rule_sets()["kueue"]["file"]
    one_edit(table, rules)
    fair_admission(table)
    year(table, rules)


if __name__ == "__main__":
    main()
