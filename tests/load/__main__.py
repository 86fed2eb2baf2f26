"""`python -m tests.load KUEUE [NAME ...]`: run Kueue's load runner against each contender, one after the other.

KUEUE is a checkout of kubernetes-sigs/kueue, which is only built from; NAME is `ideal`, `sluice` or `kueue` (all where
none is named). The runner brings its own API server up, creates 15,000 Workloads in 30 queues, ends those that are
admitted after their time, and writes down how long each waited. Sluice runs as the image has it, from the compiled
wheel, with the chart's rights and with leader election. The exit code is 1 where a bar is missed, or a contender did
not come to its end.
"""

import argparse
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path

from tests.bars import Bar, judge
from tests.load.contender import NAMES, Figures, Ring, RunnerError

CONFIG = "test/performance/scheduler/configs/baseline/generator.yaml"
CLASSES = ("large", "medium", "small")
MAKESPAN, WAIT, CPU, MEMORY = 1.25, 1.5, 0.5, 250


def main() -> int:
    """Print a row a contender, what each asked of the API server, and the bars."""
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("kueue", type=Path, help="a checkout of kubernetes-sigs/kueue")
    parser.add_argument("names", nargs="*", choices=(*NAMES, []), help="contenders")
    parser.add_argument("--config", help=f"what is generated (default {CONFIG})")
    parser.add_argument("--keep", type=Path, help="an empty folder for the logs, and the state of each Workload")
    given = parser.parse_args()
    kueue: Path = given.kueue.resolve()
    config = Path(given.config).resolve() if given.config else kueue / CONFIG
    found: dict[str, Figures] = {}
    with nullcontext(given.keep) if given.keep else tempfile.TemporaryDirectory(prefix="sluice-load-") as home:
        ring = Ring(kueue, config, Path(home).resolve())
        print(f"Python {platform.python_version()}, {platform.python_compiler()}")
        print(
            f"{'':10}{'s':>8}{'CPU s':>8}{'all CPU':>9}{'MiB':>7}{''.join(f'{name:>10}' for name in CLASSES)}",
            flush=True,
        )
        for name in given.names or NAMES:
            try:
                found[name] = ring.run(name)
            except (RunnerError, subprocess.CalledProcessError) as error:
                print(f"{name}: {error}", flush=True)
            else:
                show(name, found[name])
    for name, figures in found.items():
        figures.work.show(name, figures.count)
    whole = sum(not figures.left for figures in found.values())
    ended = Bar("contenders that came to their end", whole, len(given.names or NAMES), least=True)
    return judge([ended, *bars(found)])


def show(name: str, figures: Figures) -> None:
    """Print a row."""
    waits = "".join(f"{figures.waits.get(each, 0):>10.1f}" for each in CLASSES)
    left = f"  {figures.left} Workloads had not ended when the runner stopped" if figures.left else ""
    print(f"{name:10}{figures.seconds:>8.0f}{figures.cpu:>8.0f}{figures.machine:>9.0f}{figures.memory:>7.0f}{waits}{left}",
          flush=True)  # fmt: skip


def bars(found: Mapping[str, Figures]) -> Iterator[Bar]:
    """Give the bars of Sluice, beside each contender that ran."""
    sluice, ideal, kueue = (found.get(name) for name in ("sluice", "ideal", "kueue"))
    if sluice is None:
        return
    if ideal is not None:
        yield Bar("makespan, of the ideal controller's", sluice.seconds / ideal.seconds, MAKESPAN)
        for each, seconds in ideal.waits.items():
            yield Bar(
                f"mean time to admission of {each}, of the ideal controller's", sluice.waits[each] / seconds, WAIT
            )
    if kueue is not None:
        yield Bar("CPU seconds, of Kueue's", sluice.cpu / kueue.cpu, CPU)
    yield Bar("MiB at most", sluice.memory, MEMORY)


if __name__ == "__main__":
    sys.exit(main())
