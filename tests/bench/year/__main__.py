"""`python -m tests.bench.year`: a year of a journal's trace through the store in memory and the real controller.

Without a trace, the generator of `sluice simulate` makes one. Time is virtual. At the end four bars are judged: memory
and the time of a round are flat, nothing is lost, no quota is passed. Exit code 1: a bar was missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import median

from tests.bench.year.load import Load, from_files, synthetic
from tests.bench.year.run import Month, Year, live
from webhook.offline.plan.rule_sets import rules_of

JOBS = 50_000
DAYS = 365.0
FLAT = 1.25
"""Times as long as in the first third a round may take in the last; the machine does other work as well."""
GROWTH = 1.05
"""Times as much memory as in the first third."""
COLUMNS = ("month", "ended", "pending", "evicted", "MiB", "objects", "ms/round", "ms/job")


def main() -> int:
    """Live the year, print it, judge it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.year", description=__doc__)
    parser.add_argument("--trace", type=Path, help="a trace of `sluice journal export`")
    parser.add_argument("--queues", type=Path, action="append", default=[], help="files of the trace's queues")
    parser.add_argument("--jobs", type=int, default=JOBS, help="jobs that are made where no trace is given")
    parser.add_argument("--days", type=float, default=DAYS, help="a shorter trace is repeated until they are over")
    parser.add_argument("--rules", action="append", default=[], help="rules by name or file; default: kueue")
    given = parser.parse_args()
    if bool(given.trace) != bool(given.queues):
        parser.error("--trace and --queues belong together")
    load = from_files(given.trace, given.queues, given.days) if given.trace else synthetic(given.jobs, given.days)
    began, used = time.monotonic(), time.process_time()
    year = live(load, rules_of(given.rules or ["kueue"]))
    show(year.months)
    took, cpu = time.monotonic() - began, time.process_time() - used
    ended = year.judge.ended.total()
    each = 1000 * cpu / max(1, ended)
    print(f"{ended:,} jobs in {given.days:g} days: {took:,.0f} s, {cpu:,.0f} CPU s, {each:.1f} ms each")
    return judged(year, load)


def show(months: list[Month]) -> None:
    """Print a row for each month."""
    print("".join(f"{name:>11}" for name in COLUMNS))
    for number, month in enumerate(months, 1):
        values = (getattr(month, name) for name in Month.__slots__)
        cells = (f"{value:.2f}" if isinstance(value, float) else f"{value:,}" for value in values)
        print(f"{number:>11}" + "".join(f"{cell:>11}" for cell in cells))


def judged(year: Year, load: Load) -> int:
    """Print each bar with what was measured; give 1 where one was missed."""
    first, last = year.months[: len(year.months) // 3], year.months[-(len(year.months) // 3) :]
    memory, rounds = (
        median(getattr(month, name) for month in last) / median(getattr(month, name) for month in first)
        for name in ("mib", "round_ms")
    )
    ended, count = year.judge.ended.total(), load.count
    bars = (
        (f"memory is flat: last third / first third {memory:.3f}, at most {GROWTH}", memory <= GROWTH),
        (f"a round's time is flat: last third / first third {rounds:.3f}, at most {FLAT}", rounds <= FLAT),
        (f"nothing is lost: {ended:,} of {count:,} jobs ended, nothing left", ended == count and not year.lost),
        (f"quota is kept: {year.judge.events:,} changes judged", not year.judge.broken),
    )
    for text, kept in bars:
        print(f"{'ok    ' if kept else 'MISSED'}  {text}")
    for line in [*year.lost[:10], *year.judge.broken[:10]]:
        print(f"        {line}")
    return 0 if all(kept for _, kept in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
