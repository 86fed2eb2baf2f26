"""One contender in Kueue's load runner: how it is built and started, and what it took."""

import csv
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.bench import compiled
from tests.bench.admission import with_bytecode
from tests.chart.helm import helm
from tests.controlplane.build import binary, cache_home
from tests.controlplane.golang import go_command
from tests.load.api_server import Work, followed
from tests.shared import ROOT

NAMES = ("ideal", "sluice", "kueue")
TIMEOUT = "60m"
SERVE = "serve --policies policies/queue --listen 127.0.0.1:0 --identity load --writes-per-second 10000"


class RunnerError(Exception):
    """The runner did not come to its end: figures of it mean nothing."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What one contender took. Seconds of processor are its own, and those of all that ran for it."""

    seconds: float
    cpu: float
    machine: float
    """Processor seconds of contender, runner, API server and etcd together."""
    memory: float
    """MiB at most."""
    waits: dict[str, float]
    """Mean seconds until admission, by class."""
    count: int
    """Workloads."""
    left: int
    """Those of them that had not ended when the runner stopped: it stops when the queues' status says that none is."""
    work: Work


class Ring:
    """Everything that all contenders need: the runner, its API server, and the place for their files."""

    def __init__(self, kueue: Path, config: Path, home: Path) -> None:
        """Build the runner from a checkout of Kueue."""
        self.kueue, self.config, self.home = kueue, config, home
        self.runner = self.build("./test/performance/scheduler/runner")
        self.assets = home / "assets"
        self.assets.mkdir()
        for name in ("etcd", "kube-apiserver"):
            (self.assets / name).symlink_to(binary(name))
        (self.assets / "kubectl").symlink_to("/bin/false")  # looked for, and not called

    def build(self, package: str) -> Path:
        """Build a command of Kueue's checkout. Raises CalledProcessError."""
        built = self.home / package.rpartition("/")[2]
        command = [go_command(cache_home()), "build", "-o", built, package]
        environment = os.environ | {"GOFLAGS": "-mod=vendor -buildvcs=false"}
        subprocess.run(command, cwd=self.kueue, env=environment, check=True)
        return built

    def run(self, name: str) -> Figures:
        """Let one contender do all of it. Raises RunnerError, CalledProcessError."""
        out = self.home / name
        out.mkdir()
        contender = self.home / f"{name}.sh"
        own = out / "contender.log"
        contender.write_text(f'#!/bin/sh\nset -e\nexec > "{own}" 2>&1\ncd "{ROOT}"\n{self._script(name)} "$@"\n')
        contender.chmod(0o755)
        command: list[str | Path] = [self.runner, "-o", out, "--crds", self.kueue / "config/components/crd/bases"]
        command += ["--generatorConfig", self.config, "--minimalKueue", contender, "--timeout", TIMEOUT]
        environment = {"PROJECT_DIR": f"{self.kueue}/", "KUBEBUILDER_ASSETS": str(self.assets), "PYTHONPATH": str(ROOT)}
        begun, before = time.monotonic(), _children()
        with (out / "runner.log").open("wb") as log, followed(out / "kubeconfig") as work:
            done = subprocess.run(command, env=os.environ | environment, stdout=log, stderr=subprocess.STDOUT)
        machine = _children() - before
        tails = [_tail(path) for path in (out / "runner.log", own)]
        if done.returncode or not (out / "summary.yaml").exists():
            ended = f"the runner ended with {done.returncode} after {time.monotonic() - begun:.0f} s"
            raise RunnerError("\n".join([ended, *tails[0], *tails[1]]))
        return self._figures(name, machine, work)

    def _states(self, name: str) -> list[dict[str, str]]:
        with (self.home / name / "wlStates.csv").open(newline="") as states:
            return list(csv.DictReader(states))

    def _figures(self, name: str, machine: float, work: Work) -> Figures:
        out = self.home / name
        stats = yaml.safe_load((out / f"{name}.sh.stats.yaml").read_text())
        classes = yaml.safe_load((out / "summary.yaml").read_text())["workloadClasses"]
        waits = {each: row["averageTimeToAdmissionMs"] / 1000 for each, row in classes.items()}
        cpu = (stats["userMs"] + stats["sysMs"]) / 1000
        states = self._states(name)
        left = sum(row["ms to finish"] == "0" for row in states)
        return Figures(stats["wallMs"] / 1000, cpu, machine, stats["maxrss"] / 1024, waits, len(states), left, work)

    def _script(self, name: str) -> str:
        """Give the lines of a shell that become the contender; it is called with `--kubeconfig FILE`."""
        if name == "kueue":
            return f"exec {self.build('./test/performance/scheduler/minimalkueue')}"
        if name == "ideal":
            return f"exec {sys.executable} -m tests.load.ideal"
        certificates, restricted = self.home / "certs", self.home / "sluice.kubeconfig"
        made = [sys.executable, "-m", "webhook.cli.main", "certs", "--cert-dir", certificates]
        subprocess.run(made, cwd=ROOT, check=True, capture_output=True)
        helm()  # built before the runner starts: it would end while the account is made
        source = compiled.unpacked() or ROOT  # what the image holds
        with_bytecode(source)
        serve = f"{sys.executable} -P -m webhook.cli.main {SERVE} --cert-dir {certificates}"
        return (
            f'{sys.executable} -m tests.load.account "$@" {restricted}\nset -- --kubeconfig {restricted}\n'
            f'export PYTHONPATH="{source}"\nexec {serve}'
        )


def _tail(log: Path) -> list[str]:
    """The last lines of a log, cut where they are long."""
    return [line[:300] for line in log.read_text(errors="replace").splitlines()[-20:]]


def _children() -> float:
    """Processor seconds of all processes that have ended and were started from here."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
