"""Creates of a Job through a real API server (dry run): without policies, with native ones, with Sluice.

All share this machine's cores, so read the ratios. `none` is the API server alone; `two no-ops` are one mutating and
one validating call to a webhook that does nothing: the floor for any webhook in Python. Every setting is measured
twice, the second time half a round later, and the better one counts: the API server itself needs up to a third more
after some minutes.
"""

import base64
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from tests.bench import compiled
from tests.bench.load import WARM, Target, cpu, measure, post, resident
from tests.controlplane.cluster import ControlPlane, start
from tests.controlplane.processes import Child, free_ports
from tests.e2e.hooks import configuration
from tests.e2e.sluice import POLICIES, Sluice, managed
from tests.shared import ROOT
from webhook.tls.authority import issue, new_authority

JSON = dict[str, Any]
SECONDS = float(os.environ.get("BENCH_SECONDS", "4"))
PATH = "/apis/batch/v1/namespaces/default/jobs?dryRun=All"
_RULES = [{"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]}]
CONNECTIONS = (1, 16)
NATIVE, NOOP, PATCHED, SAME, SHIPPED, SAME_COMPILED, SHIPPED_COMPILED = (
    "five policies, natively",
    "two no-op webhook calls",
    "two such, with a fixed patch",
    "Sluice, the same five",
    "Sluice, shipped policies and gate",
    "the same five, compiled",
    "shipped policies, compiled",
)
BAR = 1.5
"""What creates a second are to reach of those of the native policies, with the compiled wheel at 16 connections."""
COUNTER = "apiserver_admission_webhook_admission_duration_seconds_count"


def main() -> None:
    """Print the table."""
    shared = Path(os.environ.get("SLUICE_SHARED", ROOT.parent / "shared")) / "bench"
    job = shared / "job.json"
    if not job.exists():
        print("skipped: the reference body bench/job.json is not on this machine")
        return
    native = shared / "native.yaml"
    plane = start()
    try:
        _prepare(plane)
        body = json.loads(job.read_text())
        host, port = plane.client.host, plane.client.port
        target = Target(host, port, str(plane.ca), post(host, port, PATH, json.dumps(body).encode(), plane.token))
        print(f"{'':34}{'1 connection':>30}{'16 connections':>32}{'CPU s per 10,000':>28}{'calls':>7}{'hook MiB':>9}")
        rates: dict[str, list[float]] = {}
        for again in (False, True):
            settings = list(_settings(plane, native, body))
            half = len(settings) // 2 if again else 0
            for name, setting in (*settings[half:], *settings[:half]):
                with setting as hook:
                    found = _row(name, plane, target, hook)
                rates[name] = list(map(max, found, rates.get(name, found)))
        _ratios(rates)
    finally:
        plane.stop()


def _ratios(rates: dict[str, list[float]]) -> None:
    """Print what Sluice reaches of the native policies and of the calls alone."""
    for name in (SAME, SHIPPED, SAME_COMPILED, SHIPPED_COMPILED):
        if name not in rates:
            continue
        for base, words in ((NATIVE, "native"), (NOOP, "two no-ops"), (PATCHED, "two no-ops, patch")):
            shares = [mine / theirs for mine, theirs in zip(rates[name], rates[base], strict=True)]
            print(f"{name}: {' and '.join(f'{share:.0%}' for share in shares)} of {words}, at 1 and 16 connections")
    if SAME_COMPILED in rates:
        share = rates[SAME_COMPILED][-1] / rates[NATIVE][-1]
        print(f"{SAME_COMPILED}, at 16 connections: bar {BAR:.0%} {'reached' if share >= BAR else 'MISSED'}")


def _settings(plane: ControlPlane, native: Path, body: JSON) -> Iterator[tuple[str, Any]]:
    yield "no policies", _nothing()
    yield NATIVE, _native(plane, native, body)
    yield NOOP, _noop(plane, body)
    yield PATCHED, _noop(plane, body, _patch())
    yield SAME, _sluice(plane, native, "--mode=none")
    yield SHIPPED, _sluice(plane, POLICIES)
    if (copy := compiled.unpacked()) is not None:
        yield SAME_COMPILED, _sluice(plane, native, "--mode=none", source=copy)
        yield SHIPPED_COMPILED, _sluice(plane, POLICIES, source=copy)


def _row(name: str, plane: ControlPlane, target: Target, hook: Child | None) -> list[float]:
    """Print one setting's figures, and give its creates a second at each number of connections."""
    server = next(child for child in plane.children if child.name == "kube-apiserver")
    pids = [child.process.pid for child in (server, hook) if child is not None]
    cells, costs, rates = [], [], []
    calls, requests = _calls(plane), 0
    for connections in CONNECTIONS:
        before = [cpu(pid) for pid in pids]
        figures = measure(target, connections, SECONDS)
        spent = [10_000 * (cpu(pid) - then) / figures.requests for pid, then in zip(pids, before, strict=True)]
        cells.append(f"{figures.rate:7.0f}/s p50 {figures.p50:5.2f} p99 {figures.p99:6.1f}")
        costs.append(" + ".join(f"{seconds:.1f}" for seconds in spent))
        rates.append(figures.rate)
        requests += figures.requests + WARM
    each = (_calls(plane) - calls) / requests
    memory = f"{resident(hook.process.pid):.0f}" if hook else ""
    print(f"{name:34}{cells[0]:>30}{cells[1]:>32}{' / '.join(costs):>28}{each:>7.1f}{memory:>9}", flush=True)
    return rates


def _calls(plane: ControlPlane) -> int:
    """How often the API server has called a webhook."""
    text, _, _ = plane.client.exchange("GET", "/metrics", None, {"Accept": "text/plain"})
    lines = (line for line in text.decode().splitlines() if line.startswith(COUNTER))
    return sum(int(float(line.rpartition(" ")[2])) for line in lines)


def _prepare(plane: ControlPlane) -> None:
    plane.client.apply(managed("default"))


@contextmanager
def _nothing() -> Iterator[None]:
    yield None


@contextmanager
def _native(plane: ControlPlane, file: Path, body: JSON) -> Iterator[None]:
    documents = [d for d in yaml.safe_load_all(file.read_text()) if d]
    for document in documents:
        plane.client.create(document)
    _await_shape(plane, shaped=True)
    plane.wait("all native policies are in force", lambda: _has_gpu_request(plane, body))
    try:
        yield None
    finally:
        for document in documents:
            plane.client.delete(plane.client.path_of(document))
        _await_shape(plane, shaped=False)
        plane.wait("no native policy denies", lambda: plane.client.request("POST", PATH, body).status < 300)


@contextmanager
def _noop(plane: ControlPlane, body: JSON, patch: str = "") -> Iterator[Child]:
    (port,) = free_ports(1)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        now = datetime.now(UTC)
        authority = new_authority(now)
        leaf = issue(authority, ("127.0.0.1",), now)
        (folder / "crt").write_bytes(leaf.certificate)
        (folder / "key").write_bytes(leaf.key)
        files = (str(folder / "crt"), str(folder / "key"))
        command = [sys.executable, "-m", "tests.bench.noop", str(port), *files, patch]
        child = Child("noop", command, plane.logs)
        stack.callback(child.stop)
        trust = base64.b64encode(authority.certificate).decode()
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
            client = {"url": f"https://127.0.0.1:{port}/{kind}", "caBundle": trust}
            made = configuration(kind, "noop", client, _RULES, {})
            plane.client.create(made)
            stack.callback(plane.client.delete, plane.client.path_of(made))
        plane.wait("the no-op webhook is called", lambda: plane.client.request("POST", PATH, body).status < 300)
        yield child


def _patch() -> str:
    """What the five policies write into the job of this benchmark, as a webhook sends it."""
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    spec = "/spec/template/spec"
    steps = [
        {"op": "replace", "path": "/spec/suspend", "value": True},
        {"op": "add", "path": f"{spec}/tolerations", "value": tolerations},
        {"op": "add", "path": f"{spec}/containers/0/resources/requests/nvidia.com~1gpu", "value": "1"},
    ]
    return base64.b64encode(json.dumps(steps).encode()).decode()


@contextmanager
def _sluice(plane: ControlPlane, policies: Path, *flags: str, source: Path = ROOT) -> Iterator[Child]:
    with tempfile.TemporaryDirectory() as home:
        sluice = Sluice(plane, Path(home), (policies,), flags, source)
        sluice.install()
        sluice.start()
        _queue(plane)
        sluice.register()
        _await_shape(plane, shaped=True)
        assert sluice.child is not None
        try:
            yield sluice.child
        finally:
            sluice.unregister()
            sluice.stop()
            _await_shape(plane, shaped=False)


def _queue(plane: ControlPlane) -> None:
    """The LocalQueue that the body names, with room for one such Job."""
    group = "kueue.x-k8s.io/v1beta2"
    resources = [{"name": name, "nominalQuota": "64"} for name in ("cpu", "nvidia.com/gpu")]
    resources.append({"name": "memory", "nominalQuota": "64Gi"})
    covered = [resource["name"] for resource in resources]
    flavors = [{"name": "bench", "resources": resources}]
    spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": covered, "flavors": flavors}]}
    for kind, meta, rest in (
        ("ResourceFlavor", {"name": "bench"}, {}),
        ("ClusterQueue", {"name": "bench"}, {"spec": spec}),
        ("LocalQueue", {"name": "team-a", "namespace": "default"}, {"spec": {"clusterQueue": "bench"}}),
    ):
        plane.client.apply({"apiVersion": group, "kind": kind, "metadata": meta, **rest})


def _await_shape(plane: ControlPlane, *, shaped: bool) -> None:
    """Wait until a Job without a GPU limit comes back suspended, or no longer does."""

    def seen() -> bool:
        response = plane.client.request("POST", PATH, _probe())
        return response.status < 300 and bool(response.body["spec"]["suspend"]) is shaped

    plane.wait("policies are in force" if shaped else "policies are gone", seen)


def _has_gpu_request(plane: ControlPlane, body: JSON) -> bool:
    """Whether the job of this benchmark is let in, with the request that policies write: they come one by one."""
    response = plane.client.request("POST", PATH, body)
    if response.status >= 300:
        return False
    resources = response.body["spec"]["template"]["spec"]["containers"][0]["resources"]
    return "nvidia.com/gpu" in resources.get("requests", {})


def _probe() -> JSON:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    meta = {"generateName": "probe-", "labels": {"kueue.x-k8s.io/queue-name": "team-a"}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template}}


if __name__ == "__main__":
    main()
