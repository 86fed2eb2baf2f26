"""Runs the targets in turn for a number of seconds; exit 1 and the case's number at the first finding.

A case is its target and its number: `--only TARGET --seed N --cases 1` runs one again.
"""

import argparse
import itertools
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from types import FrameType

from tests.fuzz.targets import TARGETS

MEMORY = 2 * 1024**3
REPORT_SECONDS = 30.0
CASE_SECONDS = 5.0
"""Processor time that one case may take; the largest take about a second on a busy machine."""


class TooLong(BaseException):
    """A case took more than its processor time."""


def _alarm(_signal: int, _frame: FrameType | None) -> None:
    raise TooLong


def run(target: str, number: int) -> float:
    """Run one case, and give the processor time that it took. Raises what the target should not have raised."""
    rng = random.Random(f"{target}-{number}")
    signal.setitimer(signal.ITIMER_PROF, CASE_SECONDS)
    start = time.process_time()
    try:
        TARGETS[target](rng)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return time.process_time() - start


def report(began: float, done: Counter[str], number: int) -> None:
    """Print how far a run is, so that it proves something even when it is cut short."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    counts = ", ".join(f"{name} {count}" for name, count in sorted(done.items()))
    spent = time.monotonic() - began
    print(f"{spent:4.0f} s: {counts}; at seed {number}, peak {peak:.0f} MiB, nothing found", flush=True)


def main() -> int:
    """Run cases until the time is over."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("seconds", type=float, nargs="?", default=60.0)
    parser.add_argument("--seed", type=int, default=0, help="The number of the first case.")
    parser.add_argument("--cases", type=int, default=0, help="Stop after this many cases (0: by time only).")
    parser.add_argument("--only", choices=sorted(TARGETS))
    chosen = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, _alarm)
    began = told = time.monotonic()
    done, slowest = Counter[str](), (0.0, "", 0)
    names = [chosen.only] if chosen.only else list(TARGETS)
    for number in itertools.count(chosen.seed):
        for name in names:
            try:
                slowest = max(slowest, (run(name, number), name, number))
            except BaseException:
                traceback.print_exc()
                print(f"finding: --only {name} --seed {number} --cases 1")
                return 1
            done[name] += 1
        now = time.monotonic()
        if now - told > REPORT_SECONDS:
            report(began, done, number)
            told = now
        if now - began > chosen.seconds or 0 < chosen.cases <= number - chosen.seed + 1:
            break
    report(began, done, number)
    longest = f"the longest took {slowest[0]:.2f} s {slowest[1:]}"
    print(f"{done.total()} cases from seed {chosen.seed}, nothing found; {longest}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
