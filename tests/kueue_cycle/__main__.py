"""`python -m tests.kueue_cycle KUEUE`: random clusters, each asked of Kueue's own scheduler and of ours for one cycle.

KUEUE is a checkout of kubernetes-sigs/kueue; one test file of ours is put beside its scheduler, and nothing else is
changed. `--record` writes Kueue's answers to the first cases into the file that `make test` compares with.
The exit code is 1 where an answer differs and `answers.known` has no name for it; the case is printed as a file for
`sluice plan --batch`.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.controlplane.build import cache_home
from tests.controlplane.golang import go_command
from tests.kueue_cycle.answers import decided, known, ours
from tests.kueue_cycle.cases import case

HERE: Final = Path(__file__).resolve().parent
RECORDED: Final = HERE / "recorded.jsonl"
PACKAGE: Final = "pkg/scheduler"
KEPT: Final = 400
"""Cases whose answers are recorded."""


def build(kueue: Path) -> Path:
    """Build the test program of Kueue's scheduler with our test in it. Raises CalledProcessError."""
    shutil.copy(HERE / "go/cycle_test.go", kueue / PACKAGE / "sluice_cycle_test.go")
    built = kueue / PACKAGE / "sluice.test"
    environment = os.environ | {"GOFLAGS": "-mod=vendor -buildvcs=false -trimpath"}
    command = [go_command(cache_home()), "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", built, f"./{PACKAGE}"]
    subprocess.run(command, cwd=kueue, env=environment, check=True)
    return built


def kueues(program: Path, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give Kueue's answers. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as name:
        asked, answers = Path(name) / "cases.jsonl", Path(name) / "answers.jsonl"
        asked.write_text("".join(f"{json.dumps(each)}\n" for each in cases))
        environment = os.environ | {"SLUICE_CASES": str(asked), "SLUICE_ANSWERS": str(answers)}
        command = [program, "-test.run=TestSluiceCycles", "-test.timeout=0"]
        run = subprocess.run(
            command, cwd=program.parent, env=environment, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        if run.returncode != 0:
            sys.stderr.buffer.write(run.stdout)
            run.check_returncode()
        return [json.loads(line) for line in answers.read_text().splitlines()]


def compared(cases: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Yield each case with the name of its difference: None for none, "" for one without a name."""
    for each, answer in zip(cases, theirs, strict=True):
        mine = ours(each)
        yield each, None if mine == decided(answer) else known(each, mine, answer)


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.kueue_cycle", description=__doc__)
    parser.add_argument("kueue", type=Path, help="a checkout of kubernetes-sigs/kueue, which gets one file more")
    parser.add_argument("--first", type=int, default=0, help="seed of the first case")
    parser.add_argument("--count", type=int, default=2000, help="cases")
    parser.add_argument("--record", action="store_true", help=f"write the answers to the first {KEPT} cases")
    given = parser.parse_args()
    program = build(given.kueue.resolve())
    cases = [case(seed) for seed in range(given.first, given.first + given.count)]
    theirs = kueues(program, cases)
    differences: Counter[str] = Counter()
    for each, name in compared(cases, theirs):
        if name is not None:
            differences[name] += 1
        if name == "":
            print(json.dumps(each))
    if given.record:
        kept = zip(cases[:KEPT], theirs[:KEPT], strict=True)
        rows = ({"id": each["id"], **decided(answer)} for each, answer in kept if ours(each) == decided(answer))
        RECORDED.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    print(f"{len(cases)} cases, {len(cases) - differences.total()} answered as by Kueue", file=sys.stderr)
    for name, number in differences.most_common():
        print(f"{number:6} {name or 'DIFFERENCES WITHOUT A NAME'}", file=sys.stderr)
    return int(differences[""] > 0)


if __name__ == "__main__":
    sys.exit(main())
