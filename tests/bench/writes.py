"""What a status write of a Workload costs the API server: as merge patch, as PUT, as server-side apply.

Each Workload goes through its life (quota reserved and admitted, evicted, admitted again, ...), every write names the
version it was made for. The ways take turns, so that other work on the machine falls on all of them alike.
"""

import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from tests.bench.load import cpu
from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane, start
from tests.e2e.sluice import Sluice
from tests.shared import ROOT
from webhook import documents
from webhook.api.amounts import text
from webhook.api.job_to_workload import workload_of
from webhook.cluster.workloads.conditions import admitted, evicted
from webhook.jobs.read_job import read_job
from webhook.kube.conditions import holds
from webhook.queue.decisions import Admitted
from webhook.queue.model import PodSetAssignment

JSON = dict[str, Any]
WORKLOADS = int(os.environ.get("BENCH_WORKLOADS", "200"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "6"))
AT_ONCE = 8
"""Writes under way at the same time, as in a round of the queue."""
JOB = ROOT / "docs" / "examples" / "gpu-job.yaml"
NOW = "2026-01-01T00:00:00Z"


def merge(client: Client, path: str, workload: JSON, status: JSON) -> JSON:
    """The merge patch that Sluice sends: the whole status, and the version."""
    patch = {"metadata": {"resourceVersion": workload["metadata"]["resourceVersion"]}, "status": status}
    return client.merge(f"{path}/status?fieldManager=sluice", patch)


def put(client: Client, path: str, workload: JSON, status: JSON) -> JSON:
    """The object as it was read, with another status."""
    return client.call("PUT", f"{path}/status?fieldManager=sluice", {**workload, "status": status})


def apply(client: Client, path: str, workload: JSON, status: JSON) -> JSON:
    """The status, by its manager, and the version."""
    version = {key: workload["metadata"][key] for key in ("name", "namespace", "resourceVersion")}
    applied = {key: workload[key] for key in ("apiVersion", "kind")} | {"metadata": version, "status": status}
    return client.call(
        "PATCH", f"{path}/status?fieldManager=sluice&force=true", applied, "application/apply-patch+yaml"
    )


WAYS: dict[str, Callable[[Client, str, JSON, JSON], JSON]] = {"PATCH (merge)": merge, "PUT": put, "APPLY": apply}


@dataclass(slots=True)
class Spent:
    """What the writes of one way took: how many, wall seconds, CPU seconds of the API server and of etcd."""

    writes: int = 0
    seconds: float = 0.0
    server: float = 0.0
    store: float = 0.0


def main() -> None:
    """Print a row for each way."""
    plane = start()
    try:
        with tempfile.TemporaryDirectory() as home:
            Sluice(plane, Path(home)).install()
        workloads = [_create(plane, number) for number in range(WORKLOADS)]
        size = len(json.dumps(_next(plane.client.get(plane.client.path_of(workloads[0])))[0]))
        print(f"{WORKLOADS} Workloads of {size:,} bytes, {ROUNDS} writes of each in each way, {AT_ONCE} at once")
        spent = _measure(plane, workloads)
    finally:
        plane.stop()
    print(f"{'':16}{'writes/s':>10}{'API server, CPU s per 1,000':>30}{'etcd':>8}")
    for name, found in spent.items():
        each = 1000 / found.writes
        rate = found.writes / found.seconds
        print(f"{name:16}{rate:>10.0f}{found.server * each:>30.2f}{found.store * each:>8.2f}")


def _measure(plane: ControlPlane, workloads: list[JSON]) -> dict[str, Spent]:
    pids = [next(c for c in plane.children if c.name == name).process.pid for name in ("kube-apiserver", "etcd")]
    spent: dict[str, Spent] = defaultdict(Spent)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number in range(ROUNDS + 1):
            for name, way in WAYS.items():
                before, began = [cpu(pid) for pid in pids], perf_counter()
                workloads = list(pool.map(lambda workload, way=way: _write(plane.client, way, workload), workloads))
                took = perf_counter() - began
                server, store = (cpu(pid) - then for pid, then in zip(pids, before, strict=True))
                if number:  # the first round warms up
                    row = spent[name]
                    row.writes, row.seconds = row.writes + len(workloads), row.seconds + took
                    row.server, row.store = row.server + server, row.store + store
    return spent


def _create(plane: ControlPlane, number: int) -> JSON:
    """Create a Job, held, and its Workload, made of the Job as the API server completes it."""
    (job,) = (d.value for d in documents.read(JOB.read_text(), str(JOB)))
    job["metadata"] |= {"name": f"train-{number}", "namespace": "default"}
    stored = plane.client.create(job)
    described = read_job(stored)
    assert described is not None
    return plane.client.create(workload_of(stored, described))


def _write(client: Client, way: Callable[[Client, str, JSON, JSON], JSON], workload: JSON) -> JSON:
    return way(client, client.path_of(workload), *_next(workload))


def _next(workload: JSON) -> tuple[JSON, JSON]:
    """The Workload as Sluice keeps it, without its managed fields, and the status it gets next."""
    workload["metadata"].pop("managedFields", None)
    if holds(workload, "QuotaReserved") and not holds(workload, "Evicted"):
        return workload, evicted(workload, "Preempted", "Preempted to accommodate a workload", NOW, "InClusterQueue")
    pods = PodSetAssignment("main", {"nvidia.com/gpu": "a100"}, {"nvidia.com/gpu": 2}, 1)
    return workload, admitted(workload, Admitted("default/train", "lab", (pods,)), None, text, NOW)


if __name__ == "__main__":
    main()
