"""`python -m tests.faults.endurance`: Jobs without a pause for an hour, at the rate that the API server stands.

Some Jobs are unfinished at any time; each that ends is followed by another, and deleted by its TTL. Every law is judged
at every event; memory, watches and the time of a round are printed as a table. The exit code is 1 where a law was
broken, where fewer than 100,000 Jobs ended in the hour, or where one of these grew in its second half.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression, mean

from tests.bars import Bar
from tests.bars import judge as judged
from tests.controlplane.client import ApiError, Client
from tests.controlplane.cluster import ControlPlane, start
from tests.controlplane.metrics import metrics_of, samples
from tests.faults.judge import JOBS, WORKLOADS, Judge
from tests.faults.pending import memory
from tests.faults.two_replicas import TEAMS, Replica, TwoReplicas, job_of

CREATORS = 4
SAMPLES = 60
"""Rows of the table."""
AN_HOUR = 100_000
"""Jobs that have to end in an hour."""
GROWTH = {"leader": 0.05, "follower": 0.05, "watches": 0.05, "round_ms": 0.2}
"""The share by which each may grow over the second half, along the line that fits its values best."""
COLUMNS = ("s", "created", "ended", "ended/s", "Jobs", "Workloads", "leader MiB", "follower MiB", "watches", "round ms")


@dataclass(slots=True)
class Sample:
    """One row."""

    seconds: float
    created: int
    ended: int
    rate: float
    jobs: int
    workloads: int
    leader: float
    follower: float
    watches: int
    round_ms: float


class Stream:
    """Creates Jobs as others end, by some threads, until `close`."""

    def __init__(self, plane: ControlPlane, judge: Judge, unfinished: int, ttl: int) -> None:
        self._plane, self._judge, self._unfinished, self._ttl = plane, judge, unfinished, ttl
        self.names: set[str] = set()
        self._number, self._lock, self._closed = 0, threading.Lock(), threading.Event()
        self._threads = [threading.Thread(target=self._create, daemon=True) for _ in range(CREATORS)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Create no more."""
        self._closed.set()
        for thread in self._threads:
            thread.join()

    def _create(self) -> None:
        client = self._plane.client_for("admin")
        while not self._closed.is_set():
            if len(self.names) - self._judge.ended > self._unfinished:
                time.sleep(0.02)
                continue
            with self._lock:
                number, self._number = self._number, self._number + 1
            self._one(client, number)
        client.close()

    def _one(self, client: Client, number: int) -> None:
        team = TEAMS[number % 2]
        job = job_of(team, f"e-{number}", 1 + number % 3, 0.1)
        job["spec"]["ttlSecondsAfterFinished"] = self._ttl
        while True:
            try:
                client.create(job)
            except ApiError as error:
                if error.status != 409:
                    time.sleep(0.2)
                    continue
            with self._lock:
                self.names.add(f"{team}/e-{number}")
            return


def run(two_replicas: TwoReplicas, minutes: float, unfinished: int, ttl: int) -> list[Bar]:
    """Let Jobs come and go, print the table, give the bars."""
    judge = Judge(two_replicas.plane)
    stream = Stream(two_replicas.plane, judge, unfinished, ttl)
    rows: list[Sample] = []
    begun = time.monotonic()
    print("".join(f"{name:>13}" for name in COLUMNS), flush=True)
    while time.monotonic() - begun < minutes * 60:
        time.sleep(minutes * 60 / SAMPLES)
        rows.append(sample(two_replicas, stream, judge, begun, rows))
        show(rows[-1])
    ended = judge.ended
    stream.close()
    two_replicas.plane.wait("the last Job is complete", lambda: judge.complete(stream.names) == len(stream.names))
    judge.close()
    print(f"{len(stream.names):,} Jobs created and ended; {judge.events:,} events judged, {judge.gaps} gaps")
    for line in judge.broken[:10]:
        print(f"broken: {line}")
    return [
        Bar("laws broken", len(judge.broken), 0),
        Bar("events that the judge may have missed", judge.gaps, 0),
        Bar(f"Jobs that ended in {minutes:g} minutes", ended, AN_HOUR * minutes / 60, least=True),
        *(Bar(f"growth of {name} over the second half", growth(rows, name), most) for name, most in GROWTH.items()),
    ]


def growth(rows: Sequence[Sample], name: str) -> float:
    """By which share a column grew over the second half of the rows, along the line that fits it best."""
    half = rows[len(rows) // 2 :]
    times, values = [row.seconds for row in half], [getattr(row, name) for row in half]
    line = linear_regression(times, values)
    return line.slope * (times[-1] - times[0]) / mean(values)


def sample(two_replicas: TwoReplicas, stream: Stream, judge: Judge, begun: float, rows: Sequence[Sample]) -> Sample:
    """Look at everything once."""
    leader, follower = two_replicas.leader, two_replicas.follower
    now, ended = time.monotonic() - begun, judge.ended
    last = rows[-1] if rows else None
    rate = (ended - (last.ended if last else 0)) / (now - (last.seconds if last else 0.0))
    running = samples(metrics_of(two_replicas.plane.client), "apiserver_longrunning_requests")
    watches = sum(each.value for each in running if each.labels["verb"] == "WATCH")
    counts = [judge.count(path) for path in (JOBS, WORKLOADS)]
    return Sample(
        now, len(stream.names), ended, rate, *counts, memory(leader), memory(follower), int(watches), round_time(leader)
    )


_rounds: dict[str, tuple[float, float]] = {}


def round_time(leader: Replica) -> float:
    """Milliseconds of a round on average since the last sample of this replica."""
    metrics = leader.state("/metrics")
    seconds, count = (
        sum(each.value for each in samples(metrics, f"kueue_admission_attempt_duration_seconds_{part}"))
        for part in ("sum", "count")
    )
    before = _rounds.get(leader.name, (0.0, 0.0))
    _rounds[leader.name] = seconds, count
    return 1000 * (seconds - before[0]) / max(1.0, count - before[1])


def show(row: Sample) -> None:
    """Print a row."""
    cells = (f"{value:.1f}" if isinstance(value, float) else f"{value:,}" for value in vars_of(row))
    print("".join(f"{cell:>13}" for cell in cells), flush=True)


def vars_of(row: Sample) -> list[float]:
    """The values of a row."""
    return [getattr(row, name) for name in Sample.__slots__]


def main() -> int:
    """Start a control plane with two replicas, run, stop."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.endurance", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long Jobs are created")
    parser.add_argument("--unfinished", type=int, default=200, help="Jobs that wait or run at any time")
    parser.add_argument("--ttl", type=int, default=30, help="seconds after which an ended Job is deleted")
    given = parser.parse_args()
    plane = start()
    try:
        with tempfile.TemporaryDirectory(prefix="sluice-endurance-") as home:
            two_replicas = TwoReplicas(plane, Path(home), lease=15, proxied=False)
            two_replicas.open()
            bars = run(two_replicas, given.minutes, given.unfinished, given.ttl)
            two_replicas.close()
    finally:
        plane.stop()
    return judged(bars)


if __name__ == "__main__":
    sys.exit(main())
