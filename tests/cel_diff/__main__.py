"""By hand: `python -m tests.cel_diff 1000000 --seed 7` compares so many pairs, and says how far it is every 10 seconds.

Of 20 chunks 17 are generated expressions, 2 are neighbours of rows (of the shared tables, where they are there) and one
is mutations. What differs is printed with both answers; exit code 1 says that something did.
"""

import argparse
import resource
import sys
import time
from collections.abc import Iterator

from tests.cel_diff import expressions, mutations, neighbours
from tests.cel_diff.duel import duel
from tests.cel_diff.ours import JSON, watch

SIZE = 500
_SHOWN = 200


def chunks(pairs: int, seed: int) -> Iterator[list[JSON]]:
    """Chunks of rows, `pairs` in all, that follow from the seed."""
    known = neighbours.seeds()
    for number in range((pairs + SIZE - 1) // SIZE):
        size, kind = min(SIZE, pairs - number * SIZE), number % 20
        if kind in (5, 15):
            yield neighbours.batch(seed + number, size, known)
        elif kind == 10:
            yield mutations.batch(seed + number, size)
        else:
            yield expressions.batch(seed + number, size)


def main() -> int:
    """Run, and give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.cel_diff", description=__doc__)
    parser.add_argument("pairs", type=int, help="how many pairs to compare")
    parser.add_argument("--seed", type=int, default=1, help="where the seeds begin; chunk n has seed + n")
    given = parser.parse_args()
    watch()
    began = said = time.monotonic()
    done = differing = 0
    for count, found in duel(chunks(given.pairs, given.seed)):
        done += count
        for difference in found:
            differing += 1
            if differing <= _SHOWN:
                print(difference, flush=True)
        if time.monotonic() - said >= 10:
            said = time.monotonic()
            print(_line(done, differing, said - began), file=sys.stderr, flush=True)
    print(_line(done, differing, time.monotonic() - began), flush=True)
    return 1 if differing else 0


def _line(done: int, differing: int, seconds: float) -> str:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return (
        f"{done:,} pairs, {differing} differ; {seconds:.0f} s, {done / max(seconds, 1e-9):.0f} a second, {memory} MiB"
    )


if __name__ == "__main__":
    sys.exit(main())
