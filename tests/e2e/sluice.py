"""Sluice as a child process beside a control plane: CRDs, certificates, registration and `sluice serve`."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.controlplane.client import Client
from tests.controlplane.cluster import API_SERVER, ControlPlane
from tests.controlplane.processes import Child, free_ports
from tests.e2e.crds import install
from tests.e2e.rights import SYSTEM, grant, lacks, token
from tests.patience import PATIENCE
from tests.shared import ROOT

POLICIES = ROOT / "policies"
MANAGED = "sluice.dev/managed=true"
_COMMAND = [sys.executable, "-P", "-m", "webhook.cli.main"]


class Sluice:
    """One replica of Sluice. `install` once, then `start`, `kill`, `stop` as often as wanted.

    It has the rights of an administrator until `restrict` gives it those of the chart.
    """

    program: Sequence[str] = _COMMAND
    """What `start` runs."""

    def __init__(
        self,
        plane: ControlPlane,
        home: Path,
        policies: Sequence[Path] = (POLICIES,),
        flags: Sequence[str] = (),
        source: Path = ROOT,
        name: str = "sluice",
    ) -> None:
        """Nothing runs yet; certificates go to `home`, logs beside the control plane's, by `name`.

        `flags` are for `serve`, which runs from `source`: these sources, or an unpacked wheel.
        """
        self.name = name
        self.plane = plane
        self.home = home
        self.policies = policies
        self.flags = flags
        self.environment = {**os.environ, "PYTHONPATH": str(source)}
        self.port, self.state_port = free_ports(2)
        self.url = f"https://127.0.0.1:{self.port}"
        self.certificates = home / "certs"
        self.kubeconfig = self.registrar = plane.kubeconfig
        self.starts = 0
        self.child: Child | None = None

    def install(self, *flags: str) -> None:
        """Certificates, namespace and CRDs, with flags of `sluice crds`. The webhooks come with `register`, after the
        start."""
        self.prepare()
        install(self.plane, *json.loads(self.crds("-o", "json", *flags))["items"])

    def prepare(self) -> None:
        """Certificates and namespace."""
        self.command("certs", "--cert-dir", str(self.certificates), "--name", "127.0.0.1")
        self.plane.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}})

    def crds(self, *arguments: str) -> str:
        """Run `sluice crds` for CRDs that convert here, with an administrator's rights."""
        where = ("--url", self.url, "--ca-file", str(self.authority), "--kubeconfig", str(self.plane.kubeconfig))
        return self.command("crds", *where, *arguments)

    def restrict(self) -> None:
        """Serve and register from now on as the ServiceAccounts of the chart, with the rights that it renders."""
        grant(self.plane.client)
        self.kubeconfig = self._kubeconfig("sluice")
        self.registrar = self._kubeconfig("sluice-registration")

    def account(self, namespace: str, name: str) -> Client:
        """A client with the rights of a ServiceAccount; the caller closes it."""
        return Client(self.plane.url, str(self.plane.ca), token(self.plane.client, name, namespace))

    def _kubeconfig(self, account: str) -> Path:
        path = self.home / f"{self.name}-{account}.kubeconfig"
        self.plane.write_kubeconfig(path, token(self.plane.client, account))
        return path

    @property
    def authority(self) -> Path:
        """The CA that the API server has to trust."""
        return self.certificates / "ca.crt"

    def start(self) -> None:
        """Run `sluice serve` and wait until it is ready; raises RuntimeError with the tail of its log."""
        child = self.launch()

        def ready() -> bool:
            if not child.running:
                raise RuntimeError(f"sluice serve ended:\n{child.tail(40)}")
            return self.ready()

        try:
            self.plane.wait("sluice is ready", ready)
        except TimeoutError as error:
            raise RuntimeError(f"{error}\n{self.state('/readyz?verbose')}\n{child.tail(40)}") from None

    def launch(self) -> Child:
        """Run `sluice serve`, and wait for nothing."""
        self.starts += 1
        arguments = [
            *(f"--policies={path}" for path in self.policies),
            f"--listen=127.0.0.1:{self.port}",
            f"--state-listen=127.0.0.1:{self.state_port}",
            f"--cert-dir={self.certificates}",
            f"--client-ca={self.plane.clients.bundle}",
            f"--client-names={API_SERVER}",
            f"--kubeconfig={self.kubeconfig}",
            f"--namespace-selector={MANAGED}",
            "--identity=sluice-of-the-tests",
            "--lease-seconds=15",
            "--writes-per-second=500",
            *self.flags,
        ]
        command = [*self.program, "serve", *arguments]
        self.child = Child(f"{self.name}-{self.starts}", command, self.plane.logs, self.environment)
        return self.child

    def refusals(self) -> list[str]:
        """What the API server refused it for want of rights, as its logs tell, and would refuse now."""
        logs = [path.read_text(encoding="utf-8") for path in self.plane.logs.glob(f"{self.name}-*.log")]
        found = [line for text in logs for line in text.splitlines() if "is forbidden: User" in line]
        return [line for line in found if lacks(self.plane.client, line)]

    def register(self) -> None:
        """Tell the API server of the webhooks."""
        self.command(
            "register",
            *(f"--policies={path}" for path in self.policies),
            f"--url={self.url}",
            f"--ca-file={self.authority}",
            f"--namespace-selector={MANAGED}",
            f"--kubeconfig={self.registrar}",
            "--timeout=30",
            *(flag for flag in self.flags if flag.startswith("--mode=")),
        )

    def unregister(self) -> None:
        """Take the webhooks away, so that nobody waits for a Sluice that is gone."""
        self.command("register", "--remove", f"--kubeconfig={self.registrar}")

    def kill(self) -> None:
        """SIGKILL."""
        assert self.child is not None
        self.child.kill()

    def stop(self) -> None:
        """End it in good order."""
        if self.child is not None:
            self.child.stop()

    def ready(self) -> bool:
        """Whether `/readyz` says yes."""
        return self.state("/readyz").startswith("200")

    def state(self, path: str) -> str:
        """`STATUS body` of its plain HTTP port; empty when it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.state_port}{path}", timeout=PATIENCE) as answer:
                return f"{answer.status} {answer.read().decode()}"
        except urllib.error.HTTPError as error:
            with error:
                return f"{error.code} {error.read().decode()}"
        except OSError:
            return ""

    def command(self, *arguments: str) -> str:
        """Run another of Sluice's commands and give what it prints; raises RuntimeError with its errors."""
        call = [*_COMMAND, *arguments]
        done = subprocess.run(call, capture_output=True, text=True, cwd=ROOT, env=self.environment, check=False)
        if done.returncode:
            raise RuntimeError(f"sluice {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout


def managed(name: str, **labels: str) -> dict[str, Any]:
    """A namespace that opted in."""
    key, _, value = MANAGED.partition("=")
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {key: value, **labels}}}
