"""`python -m tests.faults.pending`: many pending Workloads in a real API server, and two replicas of Sluice.

They have the chart's rights alone. Measures what rounds of decisions do to the latency of reviews while a namespace is
created every second, and how long a takeover lasts after a SIGKILL. The Workloads have no Jobs, unless `--jobs` asks
for them, and are served as v1beta2 only, as docs/install.md says for so many. Bars are judged: the exit code is 1 where
one is missed.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.bars import Bar, judge
from tests.controlplane import nodes
from tests.controlplane.cluster import ControlPlane, start
from tests.e2e.sluice import managed
from tests.faults.crowd import ADMISSIONS, TEAM, Admissions, create, definitions, job
from tests.faults.latency import Latency, measured
from tests.faults.two_replicas import LEASE, Replica
from tests.patience import wait

TIMES = 2.0
"""The p99 of reviews at the leader may be so many times what it is with nothing pending, and what it is at the follower
in the same seconds."""
FEW_SECONDS = 5.0
"""After the lease has ended, until the next leader has admitted somebody."""
HOURS = 4 * 3600.0
"""How long it may take at most until each says why it waits: at 50 writes a second that is long."""


def run(plane: ControlPlane, home: Path, given: argparse.Namespace) -> list[Bar]:
    """Measure, print a line for each measure, give the bars."""
    flags = f"--lease-seconds={given.lease}", f"--writes-per-second={given.writes}"
    replicas = [Replica(plane, home, name, *flags, proxied=False) for name in ("first", "second")]
    nodes.add(plane.client, nodes.node("large", {"cpu": "10000", "memory": "10000Gi", "pods": "100000"}))
    replicas[0].install(*(() if given.serve_old else ("--current-only", "Workload")))
    for replica in replicas:
        replica.restrict()
        replica.start()
    for obj in definitions():
        plane.client.apply(obj)
    leader, follower = by_turn(plane, replicas)
    with measured(leader, TEAM, job(0)) as calm, measured(follower, TEAM, job(0)):
        time.sleep(given.seconds)
    calm.show("nothing pending, no round")
    begun = time.monotonic()
    create(plane, given.count, jobs=given.jobs)
    kind = "Jobs" if given.jobs else "Workloads"
    print(f"{given.count:,} {kind} created, {given.count / (time.monotonic() - begun):.0f} a second", flush=True)
    admissions = Admissions(plane, ends=not given.jobs)
    plane.wait("rounds are under way", lambda: len(admissions.times) > 2 * ADMISSIONS)
    bars = []
    for what in ("while each is told why it waits", "once each was told"):
        if what.startswith("once"):
            all_told(admissions, given.count)
            print(f"each says why it waits after {time.monotonic() - begun:.0f} s", flush=True)
        bars += at_work(plane, replicas, admissions, given.seconds, what, calm)
    bars.append(takeover(plane, replicas, admissions, given.lease))
    admissions.close()
    for replica in replicas:
        replica.stop()
        replica.proxy.close()
    refused = len(replicas[0].refusals() + replicas[1].refusals())
    return [*bars, Bar("calls refused for want of a right", refused, 0)]


def at_work(
    plane: ControlPlane, replicas: Sequence[Replica], admissions: Admissions, seconds: float, what: str, calm: Latency
) -> Iterator[Bar]:
    """Measure leader and follower in the same seconds, while namespaces come."""
    leader, follower = by_turn(plane, replicas)
    before = len(admissions.times)
    with namespaces(plane), measured(leader, TEAM, job(0)) as busy, measured(follower, TEAM, job(0)) as beside:
        time.sleep(seconds)
    busy.show(f"leader, {(len(admissions.times) - before) / seconds:.0f} admissions a second, {what}")
    beside.show("follower, in the same seconds")
    yield Bar(f"p99 of the leader {what}, of its own with nothing pending", busy.p99() / calm.p99(), TIMES)
    yield Bar(f"p99 of the leader {what}, of the follower's", busy.p99() / beside.p99(), TIMES)


@contextmanager
def namespaces(plane: ControlPlane) -> Iterator[None]:
    """Create a namespace that opted in every second meanwhile: each may concern every Job there is."""
    over, client = threading.Event(), plane.client_for("admin")

    def one_by_one() -> None:
        while not over.wait(1.0):
            client.apply(managed(f"new-{time.monotonic_ns()}"))

    thread = threading.Thread(target=one_by_one)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        client.close()


def takeover(plane: ControlPlane, replicas: Sequence[Replica], admissions: Admissions, lease: float) -> Bar:
    """Kill the leader, and look how long nobody was admitted."""
    old = leader_of(plane, replicas)
    for replica in replicas:
        print(f"{'leader' if replica is old else 'follower'}: {memory(replica):.0f} MiB")
    old.kill()
    killed, before = time.monotonic(), len(admissions.times)
    plane.wait("another leads", lambda: leader_of(plane, replicas) is not old)
    leads = time.monotonic()
    plane.wait("it admits", lambda: any(at > leads for at in admissions.times[before:]))
    admits = next(at for at in admissions.times[before:] if at > leads)
    print(
        f"after a SIGKILL of the leader another holds the lease of {lease:g} s after {leads - killed:.1f} s", flush=True
    )
    return Bar("seconds from the SIGKILL of the leader to the next admission", admits - killed, lease + FEW_SECONDS)


def memory(replica: Replica) -> float:
    """MiB that a replica has in memory."""
    assert replica.child is not None
    text = Path(f"/proc/{replica.child.process.pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) / 1024


def all_told(admissions: Admissions, count: int) -> None:
    """Wait until each Workload says something of itself; print how many do, every half minute.

    Counted by the watch: a list of so many would cost the machine that is measured.
    """

    def are_told() -> bool:
        print(f"{len(admissions.told):,} say why they wait", flush=True)
        return len(admissions.told) >= count

    wait(are_told, "each that waits says why", seconds=HOURS, pause=30)


def leader_of(plane: ControlPlane, replicas: Sequence[Replica]) -> Replica:
    """The replica that the lease names."""
    holder = plane.wait(
        "somebody leads", lambda: plane.client.request("GET", LEASE).body.get("spec", {}).get("holderIdentity")
    )
    return next(replica for replica in replicas if replica.name == holder)


def by_turn(plane: ControlPlane, replicas: Sequence[Replica]) -> tuple[Replica, Replica]:
    """The leader, and the follower."""
    leader = leader_of(plane, replicas)
    return leader, next(replica for replica in replicas if replica is not leader)


def main() -> int:
    """Start a control plane, measure, stop it."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.pending", description=__doc__)
    parser.add_argument("--count", type=int, default=50_000, help="how many wait")
    parser.add_argument("--jobs", action="store_true", help="create suspended Jobs, whose Workloads Sluice makes")
    parser.add_argument(
        "--serve-old", action="store_true", help="serve Workloads as v1beta1 too: each change is converted"
    )
    parser.add_argument("--writes", type=float, default=50.0, help="writes a second that Sluice allows itself")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long reviews are measured, each time")
    parser.add_argument("--lease", type=float, default=15.0, help="seconds of the lease")
    given = parser.parse_args()
    plane = start()
    try:
        with tempfile.TemporaryDirectory(prefix="sluice-pending-") as home:
            bars = run(plane, Path(home), given)
    finally:
        plane.stop()
    return judge(bars)


if __name__ == "__main__":
    sys.exit(main())
