"""`make soak`: article 003 as written, a Job a second and team for a minute, each running for 10 s.

Prints what was used, how long Jobs waited, and whether the quota held; ends with 1 when a promise was broken. The
queues take a quarter of an hour to run dry; `--minutes` and `--seconds` make it shorter.
"""

import argparse
import itertools
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from statistics import mean

from tests.controlplane import nodes
from tests.controlplane.cluster import ControlPlane, start
from tests.controlplane.fixtures import NODES
from tests.e2e.article003 import CPUS, Setting, submit
from tests.e2e.history import History
from tests.e2e.sluice import Sluice

SETTINGS = [Setting("besteffort", "BestEffortFIFO"), Setting("strict", "StrictFIFO")]


def run(plane: ControlPlane, sluice: Sluice, minutes: float, seconds: float, kill_every: int) -> bool:
    """Run the experiment for both strategies at once and print the figures; give whether every promise was kept.

    With `kill_every`, Sluice is killed and started again that often (seconds) once all Jobs are there.
    """
    for setting in SETTINGS:
        setting.create(plane.client)
    teams = [team for setting in SETTINGS for team in setting.teams]
    history = History(plane, teams)
    began = time.monotonic()
    each = round(minutes * 60)
    submit(plane.client, SETTINGS, each, seconds, 0.5)
    print(f"{4 * each} Jobs submitted in {time.monotonic() - began:.0f} s", flush=True)
    for tick in itertools.count():
        done = history.finished(*teams)
        if tick % 30 == 0:
            print(f"{time.monotonic() - began:5.0f} s: {done} of {4 * each} complete", flush=True)
        if kill_every and tick % kill_every == kill_every - 1:
            sluice.kill()
            sluice.start()
        if done == 4 * each or time.monotonic() - began > 180 + each * 2 * seconds * 3:
            break
        time.sleep(1)
    history.close()
    kept = [report(setting, history, each, time.monotonic() - began) for setting in SETTINGS]
    return all(kept)


def report(setting: Setting, history: History, each: int, took: float) -> bool:
    """Print one strategy's figures; give whether it kept its promises."""
    lives = history.of(*setting.teams)
    for team in setting.teams:
        waits = [wait_of(life.seen) for life in history.of(team) if life.complete]
        print(f"{setting.strategy:15} {team:13} {len(waits):3} complete, "
              f"waited {mean(waits or [0]):5.1f} s on average, {max(waits, default=0):5.1f} s at most")  # fmt: skip
    peaks = {what: history.peaks[what].get(setting.prefix, 0) for what in ("jobs", "pods")}
    busy = sum(life.cpu * run_of(life.seen) for life in lives if life.complete)
    print(f"{setting.strategy:15} peak {peaks['jobs']} CPU by Jobs, {peaks['pods']} by pods, of {CPUS}; "
          f"{100 * busy / (CPUS * took):.0f} % used over {took:.0f} s")  # fmt: skip
    for life in lives:
        if not life.complete or len(life.starts) != 1:
            print(f"{'/'.join(life.name)}: {len(life.starts)} starts, complete: {life.complete}")
    complete = sum(life.complete for life in lives) == 2 * each
    once = all(len(life.starts) == 1 for life in lives)
    return complete and once and max(peaks.values()) <= CPUS


def wait_of(job: dict) -> float:
    """Seconds from a Job's creation to its start."""
    return _between(job["metadata"]["creationTimestamp"], job["status"]["startTime"])


def run_of(job: dict) -> float:
    """Seconds from a Job's start to its completion."""
    return _between(job["status"]["startTime"], job["status"]["completionTime"])


def _between(first: str, second: str) -> float:
    return (datetime.fromisoformat(second) - datetime.fromisoformat(first)).total_seconds()


def main(arguments: list[str]) -> int:
    """Start a control plane with Sluice, run, stop."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="for how long Jobs arrive")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long a Job runs")
    parser.add_argument("--kill-every", type=int, default=0, help="kill Sluice this often, in seconds; 0: never")
    chosen = parser.parse_args(arguments)
    plane = start()
    try:
        nodes.add(plane.client, *NODES)
        with tempfile.TemporaryDirectory() as home:
            sluice = Sluice(plane, Path(home))
            sluice.install()
            sluice.start()
            sluice.register()
            kept = run(plane, sluice, chosen.minutes, chosen.seconds, chosen.kill_every)
            sluice.stop()
    finally:
        plane.stop()
    starts = f"; Sluice was started {sluice.starts} times" if sluice.starts > 1 else ""
    print(("every promise was kept" if kept else "a promise was broken") + starts)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
