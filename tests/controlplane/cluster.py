"""Starts and stops one control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok.

Everything listens on free loopback ports and lives in a temporary folder; keys and tokens are made at the start.
"""

import atexit
import base64
import json
import secrets
import shutil
import sys
import tempfile
import urllib.parse
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests import patience
from tests.controlplane.build import binary, build, find
from tests.controlplane.client import Client
from tests.controlplane.processes import Child, free_ports
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure, issue_client

CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "deployment-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "persistentvolume-binder-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "statefulset-controller",
    "ttl-after-finished-controller",
    "validatingadmissionpolicy-status-controller",
)
USERS = {
    "admin": ("admin", "system:masters"),
    "manager": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
    "kubelet": ("kwok", "system:masters"),
}
API_SERVER = "kube-apiserver"
"""The common name by which webhooks know the API server."""
_PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
_QPS = ["--kube-api-qps=1000", "--kube-api-burst=2000"]


class ControlPlane:
    """A running control plane. Made by `start`; `stop` ends it and removes its folder."""

    def __init__(self, home: Path) -> None:
        """Prepare files under `home`; nothing runs yet."""
        self.home = home
        self.logs = home / "logs"
        self.logs.mkdir()
        self.etcd_port, self.etcd_peer, self.port, self.kwok_port = free_ports(4)
        self.url = f"https://127.0.0.1:{self.port}"
        self.ca = home / "tls" / "apiserver.crt"
        self.tokens = {name: secrets.token_hex(16) for name in USERS}
        self.token = self.tokens["admin"]
        self.kubeconfig = home / "admin.kubeconfig"
        self.clients = Folder(home / "clients")
        """The certificate that the API server shows to admission webhooks, and its authority."""
        self.children: list[Child] = []
        self._write_credentials()

    @cached_property
    def client(self) -> Client:
        """A client with the rights of system:masters; any thread may use it."""
        return self.client_for("admin")

    def client_for(self, user: str) -> Client:
        """A client of one of `USERS`; the caller closes it."""
        return Client(self.url, str(self.ca), self.tokens[user])

    def start(self) -> None:
        """Start all programs and wait until they serve; raises RuntimeError with the tail of a log."""
        self._run("etcd", self._etcd())
        self._run("kube-apiserver", self._apiserver())
        self._wait("kube-apiserver is ready", self._ready)
        for user in USERS:
            self.write_kubeconfig(self.home / f"{user}.kubeconfig", self.tokens[user])
        self._run("kube-controller-manager", self._manager())
        self._run("kube-scheduler", self._scheduler())
        self._run("kwok", self._kwok())
        self._wait("the default ServiceAccount is there", self._has_account)

    def stop(self, *, keep_logs: bool = False) -> None:
        """End every program and remove the folder; with `keep_logs` the logs stay and their place is printed."""
        if "client" in vars(self):
            self.client.close()
        for child in reversed(self.children):
            child.stop(2 if child.name != "kube-apiserver" else 0.5)
        self.children.clear()
        atexit.unregister(self.stop)
        if keep_logs:
            for path in (p for p in self.home.iterdir() if p != self.logs):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            print(f"control plane logs: {self.logs}", file=sys.stderr, flush=True)
        else:
            shutil.rmtree(self.home, ignore_errors=True)

    def child(self, name: str) -> Child:
        """The running program of this name."""
        return next(child for child in self.children if child.name == name)

    def restart_api_server(self) -> None:
        """Kill the API server, as a power cut would, start it again on its port, and wait until it is ready."""
        old = self.child("kube-apiserver")
        old.kill()
        self.children.remove(old)
        self._run("kube-apiserver", self._apiserver())
        self._wait("kube-apiserver is ready again", self._ready)

    def wait(self, what: str, condition: Callable[[], Any]) -> Any:
        """Ask `condition` until it gives something true, and give that; raises TimeoutError naming `what`."""
        return patience.wait(condition, what)

    def write_kubeconfig(self, path: Path, token: str) -> None:
        """Write a kubeconfig (as JSON, which is YAML) with `token`."""
        cluster = {"server": self.url, "certificate-authority": str(self.ca)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "tests",
            "clusters": [{"name": "tests", "cluster": cluster}],
            "users": [{"name": "tests", "user": {"token": token}}],
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
        }
        path.write_text(json.dumps(config, indent=1))
        path.chmod(0o600)

    def _run(self, name: str, arguments: list[str]) -> None:
        self.children.append(Child(name, [str(binary(name)), *arguments], self.logs))

    def _wait(self, what: str, condition: Callable[[], Any]) -> None:
        def checked() -> bool:
            for child in self.children:
                if not child.running:
                    raise RuntimeError(f"{child.name} ended while starting:\n{child.tail()}")
            return bool(condition())

        try:
            self.wait(what, checked)
        except TimeoutError as error:
            raise RuntimeError(f"{error}\n{self.children[-1].tail()}") from None

    def _ready(self) -> bool:
        if not self.ca.exists():
            return False
        try:
            return self.client.request("GET", "/readyz").status == 200
        except OSError:
            return False

    def _has_account(self) -> bool:
        return self.client.request("GET", "/api/v1/namespaces/default/serviceaccounts/default").status == 200

    def _write_credentials(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
        (self.home / "accounts.key").write_bytes(pem)
        rows = (
            f'{self.tokens[name]},{user},{name},"{groups}"\n' if groups else f"{self.tokens[name]},{user},{name}\n"
            for name, (user, groups) in USERS.items()
        )
        (self.home / "tokens.csv").write_text("".join(rows))

    def _write_admission(self) -> Path:
        """Tell the API server what to show to admission webhooks, as docs/server.md says."""
        now = datetime.now(UTC)
        ensure(self.clients, ("clients",), now)
        issue_client(self.clients, API_SERVER, now)
        user = {
            "client-certificate-data": _base64(self.clients.client_certificate),
            "client-key-data": _base64(self.clients.client_key),
        }
        kubeconfig = self.home / "webhooks.kubeconfig"
        kubeconfig.write_text(
            json.dumps({"apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": user}]})
        )
        group = "apiserver.config.k8s.io/v1"
        webhooks = {"apiVersion": group, "kind": "WebhookAdmissionConfiguration", "kubeConfigFile": str(kubeconfig)}
        plugins = [
            {"name": name, "configuration": webhooks}
            for name in ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
        ]
        file = self.home / "admission.json"
        file.write_text(json.dumps({"apiVersion": group, "kind": "AdmissionConfiguration", "plugins": plugins}))
        return file

    def _etcd(self) -> list[str]:
        clients, peers = (f"http://127.0.0.1:{p}" for p in (self.etcd_port, self.etcd_peer))
        return [
            f"--data-dir={self.home / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--log-level=warn",
        ]

    def _apiserver(self) -> list[str]:
        key = self.home / "accounts.key"
        return [
            f"--etcd-servers=http://127.0.0.1:{self.etcd_port}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--request-timeout={patience.PATIENCE:.0f}s",  # a large policy needs more than a minute
            f"--cert-dir={self.home / 'tls'}",
            f"--token-auth-file={self.home / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-cluster-ip-range=127.96.0.0/24",  # of this machine: a test may listen for a Service
            "--endpoint-reconciler-type=none",
            "--allow-privileged=true",
            f"--admission-control-config-file={self._write_admission()}",
            f"--requestheader-client-ca-file={self.clients.bundle}",
            f"--requestheader-allowed-names={API_SERVER}",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={self.clients.client_certificate}",
            f"--proxy-client-key-file={self.clients.client_key}",
        ]

    def _manager(self) -> list[str]:
        return [
            f"--kubeconfig={self.home / 'manager.kubeconfig'}",
            f"--controllers={','.join(CONTROLLERS)}",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self.home / 'accounts.key'}",
            f"--root-ca-file={self.ca}",
            "--leader-elect=false",
            "--secure-port=0",
            "--node-monitor-period=1s",
            "--node-monitor-grace-period=1h",
            *_QPS,
        ]

    def _scheduler(self) -> list[str]:
        config = self.home / "scheduler.json"
        config.write_text(
            json.dumps(
                {
                    "apiVersion": "kubescheduler.config.k8s.io/v1",
                    "kind": "KubeSchedulerConfiguration",
                    "leaderElection": {"leaderElect": False},
                    "clientConnection": {
                        "kubeconfig": str(self.home / "scheduler.kubeconfig"),
                        "qps": 1000,
                        "burst": 2000,
                    },
                }
            )
        )
        return [f"--config={config}", "--secure-port=0"]

    def _kwok(self) -> list[str]:
        return [
            f"--kubeconfig={self.home / 'kubelet.kubeconfig'}",
            "--manage-all-nodes=true",
            f"--config={Path(__file__).with_name('stages.yaml')}",
            f"--server-address=127.0.0.1:{self.kwok_port}",
        ]


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def start() -> ControlPlane:
    """Build what is missing, start a control plane, and stop it at exit whatever happens."""
    if not all(find(name) for name in _PROGRAMS):
        build()
    plane = ControlPlane(Path(tempfile.mkdtemp(prefix="sluice-plane-")))
    atexit.register(plane.stop)
    try:
        plane.start()
    except BaseException:
        plane.stop(keep_logs=True)
        raise
    return plane


def document_name(path: str) -> str:
    """The file name for an OpenAPI document path such as `apis/batch/v1`."""
    return urllib.parse.quote(path, safe="").replace("%2F", "__") + ".json"
