"""`python -m tests.kueue_scheduler KUEUE`: random clusters, decided by Kueue's own scheduler and by ours.

KUEUE is a checkout of kubernetes-sigs/kueue; test files of ours are put beside its scheduler, and nothing else is
changed. Each cluster is asked for one cycle; with `--traces` it lives for some steps, with events before each cycle.
`--record` writes Kueue's answers to the first clusters into the file that `make test` compares with.
The exit code is 1 where an answer differs and the difference has no name; the case or the trace is printed.
"""

import argparse
import gzip
import json
import sys
from collections import Counter
from pathlib import Path

from tests.kueue_scheduler import kueue
from tests.kueue_scheduler.answers import decided, known, ours, ours_of_trace, steps_of
from tests.kueue_scheduler.cases import case
from tests.kueue_scheduler.recorded import CASES, KEPT, KEPT_TRACES, TRACES
from tests.kueue_scheduler.traces import trace


def cycles(program: Path, seeds: range, *, record: bool) -> Counter[str]:
    """Compare one cycle of each cluster; count the differences by name."""
    differences: Counter[str] = Counter()
    kept = []
    cases = [case(seed) for seed in seeds]
    for each, theirs in zip(cases, kueue.ask(program, kueue.CYCLES, cases), strict=True):
        mine = ours(each)
        if mine == decided(theirs):
            kept.append({"id": each["id"], **mine})
            continue
        name = known(each, mine, theirs)
        differences[name] += 1
        if not name:
            print(json.dumps(each))
    if record:
        CASES.write_text("".join(f"{json.dumps(row)}\n" for row in kept[:KEPT]))
    return differences


def traces(program: Path, seeds: range, *, record: bool) -> Counter[str]:
    """Compare the steps of each cluster that lives; count the differences by name."""
    differences: Counter[str] = Counter()
    kept = []
    for lived in kueue.ask(program, kueue.TRACES, [trace(seed) for seed in seeds]):
        if ours_of_trace(lived) == steps_of(lived):
            kept.append(lived)
            continue
        differences[""] += 1
        print(json.dumps(lived))
    if record:
        lines = "".join(f"{json.dumps(lived)}\n" for lived in kept[:KEPT_TRACES])
        TRACES.write_bytes(gzip.compress(lines.encode(), mtime=0))
    return differences


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.kueue_scheduler", description=__doc__)
    parser.add_argument("kueue", type=Path, help="a checkout of kubernetes-sigs/kueue, which gets two files more")
    parser.add_argument("--traces", action="store_true", help="clusters that live")
    parser.add_argument("--first", type=int, default=0, help="seed of the first cluster")
    parser.add_argument("--count", type=int, default=0, help="clusters (2,000, and 200 that live)")
    parser.add_argument("--record", action="store_true", help="write the answers to the first clusters down")
    given = parser.parse_args()
    program = kueue.build(given.kueue.resolve())
    seeds = range(given.first, given.first + (given.count or (200 if given.traces else 2000)))
    differences = (traces if given.traces else cycles)(program, seeds, record=given.record)
    print(f"{len(seeds)} clusters, {len(seeds) - differences.total()} decided as by Kueue", file=sys.stderr)
    for name, number in differences.most_common():
        print(f"{number:6} {name or 'DIFFERENCES WITHOUT A NAME'}", file=sys.stderr)
    return int(differences[""] > 0)


if __name__ == "__main__":
    sys.exit(main())
