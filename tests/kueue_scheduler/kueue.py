"""Kueue's own scheduler, built with two test files of ours in it, and asked by JSON lines."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from tests.controlplane.build import cache_home
from tests.controlplane.golang import go_command

PACKAGE: Final = "pkg/scheduler"
CYCLES: Final = "TestSluiceCycles"
TRACES: Final = "TestSluiceTraces"


def build(kueue: Path) -> Path:
    """Build the test program of a copy's scheduler. Raises CalledProcessError."""
    for file in (Path(__file__).parent / "go").glob("*.go"):
        shutil.copy(file, kueue / PACKAGE / f"sluice_{file.name}")
    built = kueue / PACKAGE / "sluice.test"
    environment = os.environ | {"GOFLAGS": "-mod=vendor -buildvcs=false -trimpath"}
    command = [go_command(cache_home()), "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", built, f"./{PACKAGE}"]
    subprocess.run(command, cwd=kueue, env=environment, check=True)
    return built


def ask(program: Path, test: str, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the answers of one of the tests, in the order of the cases. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as name:
        asked, answers = Path(name) / "cases.jsonl", Path(name) / "answers.jsonl"
        asked.write_text("".join(f"{json.dumps(each)}\n" for each in cases))
        environment = os.environ | {"SLUICE_CASES": str(asked), "SLUICE_ANSWERS": str(answers)}
        command = [program, f"-test.run={test}", "-test.timeout=0"]
        run = subprocess.run(
            command, cwd=program.parent, env=environment, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        if run.returncode != 0:
            sys.stderr.buffer.write(run.stdout)
            run.check_returncode()
        return [json.loads(line) for line in answers.read_text().splitlines()]
