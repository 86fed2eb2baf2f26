"""`python -m tests.load KUEUE [NAME ...]`: run Kueue's load runner against each contender, one after the other.

KUEUE is a checkout of kubernetes-sigs/kueue, which is only built from; NAME is `ideal`, `sluice` or `kueue` (the first
two without a name). The runner brings its own API server up, creates 15,000 Workloads in 30 queues, ends those that are
admitted after their time, and writes down how long each waited.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.controlplane.build import binary, cache_home
from tests.controlplane.golang import go_command
from tests.shared import ROOT

CONFIG = "test/performance/scheduler/configs/baseline/generator.yaml"
CLASSES = ("large", "medium", "small")
SLUICE = "serve --policies policies/queue --listen 127.0.0.1:0 --no-leader-election --writes-per-second 10000"
TIMEOUT = "20m"


@dataclass(frozen=True, slots=True)
class Figures:
    """What one contender took: seconds from its start to its end, processor seconds, MiB, mean waits in seconds."""

    seconds: float
    cpu: float
    memory: float
    waits: dict[str, float]


def main() -> int:
    """Print a row a contender, and each one's ratio to the ideal one."""
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("kueue", type=Path, help="a checkout of kubernetes-sigs/kueue")
    parser.add_argument("names", nargs="*", choices=("ideal", "sluice", "kueue", []), help="contenders")
    parser.add_argument("--config", help=f"what is generated (default {CONFIG})")
    given = parser.parse_args()
    kueue: Path = given.kueue.resolve()
    config = Path(given.config).resolve() if given.config else kueue / CONFIG
    print(f"{'':10}{'s':>8}{'CPU s':>8}{'MiB':>7}{''.join(f'{name:>10}' for name in CLASSES)}", flush=True)
    found: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory(prefix="sluice-load-") as home:
        runner = _go_build(kueue, "./test/performance/scheduler/runner", Path(home))
        assets = _assets(Path(home))
        for name in given.names or ["ideal", "sluice"]:
            figures = found[name] = _run(name, runner, kueue, config, assets, Path(home))
            waits = "".join(f"{figures.waits.get(each, 0):>10.1f}" for each in CLASSES)
            print(f"{name:10}{figures.seconds:>8.0f}{figures.cpu:>8.0f}{figures.memory:>7.0f}{waits}", flush=True)
    floor = found.get("ideal")
    for name, figures in found.items():
        if floor is not None and name != "ideal":
            waits = ", ".join(f"{each} {figures.waits[each] / floor.waits[each]:.2f}" for each in floor.waits)
            print(f"{name} of ideal: makespan {figures.seconds / floor.seconds:.2f}, mean wait {waits}")
    return 0


def _run(name: str, runner: Path, kueue: Path, config: Path, assets: Path, home: Path) -> Figures:
    out = home / name
    out.mkdir()
    contender = home / f"{name}.sh"
    contender.write_text(f'#!/bin/sh\ncd "{ROOT}"\nexec {_command(name, kueue, home)} "$@"\n')
    contender.chmod(0o755)
    crds = kueue / "config/components/crd/bases"
    command: list[str | Path] = [runner, "-o", out, "--crds", crds, "--generatorConfig", config]
    environment = os.environ | {"PROJECT_DIR": f"{kueue}/", "KUBEBUILDER_ASSETS": str(assets), "PYTHONPATH": str(ROOT)}
    begun = time.monotonic()
    with (out / "runner.log").open("wb") as log:
        done = subprocess.run(
            [*command, "--minimalKueue", contender, "--timeout", TIMEOUT],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    if done.returncode or not (out / "summary.yaml").exists():
        tail = (out / "runner.log").read_text(errors="replace").splitlines()[-20:]
        sys.exit(
            f"{name}: the runner ended with {done.returncode} after {time.monotonic() - begun:.0f} s\n"
            + "\n".join(tail)
        )
    stats = yaml.safe_load((out / f"{name}.sh.stats.yaml").read_text())
    classes = yaml.safe_load((out / "summary.yaml").read_text())["workloadClasses"]
    with (out / "wlStates.csv").open(newline="") as states:
        unfinished = sum(row["ms to finish"] == "0" for row in csv.DictReader(states))
    if unfinished:
        sys.exit(f"{name}: the runner stopped before {unfinished} workloads had ended: its figures mean nothing")
    waits = {each: row["averageTimeToAdmissionMs"] / 1000 for each, row in classes.items()}
    return Figures(stats["wallMs"] / 1000, (stats["userMs"] + stats["sysMs"]) / 1000, stats["maxrss"] / 1024, waits)


def _command(name: str, kueue: Path, home: Path) -> str:
    if name == "kueue":
        return str(_go_build(kueue, "./test/performance/scheduler/minimalkueue", home))
    if name == "ideal":
        return f"{sys.executable} -m tests.load.ideal"
    subprocess.run([sys.executable, "-m", "webhook.cli.main", "certs", "--dir", home / "certs"], cwd=ROOT, check=True,
                   capture_output=True)  # fmt: skip
    return f"{sys.executable} -m webhook.cli.main {SLUICE} --cert-dir {home}/certs"


def _go_build(kueue: Path, package: str, home: Path) -> Path:
    built = home / package.rpartition("/")[2]
    flags = "-mod=vendor -buildvcs=false"
    environment = os.environ | {"GOFLAGS": flags}
    subprocess.run([go_command(cache_home()), "build", "-o", built, package], cwd=kueue, env=environment, check=True)
    return built


def _assets(home: Path) -> Path:
    """Give a folder with the API server and etcd of the tests, as the runner wants them."""
    folder = home / "assets"
    folder.mkdir()
    for name in ("etcd", "kube-apiserver"):
        (folder / name).symlink_to(binary(name))
    (folder / "kubectl").symlink_to("/bin/false")  # looked for, and not called
    return folder


if __name__ == "__main__":
    sys.exit(main())
