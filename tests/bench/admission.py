"""`python -m tests.bench.admission`: a bare aiohttp handler and Sluice with the shipped bundle, side by side.

Both serve in child processes over TLS on loopback; one client process drives them in turns, on keep-alive
connections. The client shares the cores with the servers: read ratios, not absolutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import ssl
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter

import orjson
import uvloop
from aiohttp import web

from tests.shared import ROOT
from webhook.config import Config, Mode
from webhook.daemon import Daemon
from webhook.server.listener import Listener
from webhook.store.memory import MemoryStore
from webhook.tls.files import Folder, ensure
from webhook.tls.serving import ServingCertificate

POLICIES = ROOT / "policies"
ROUNDS = 3


@dataclass(frozen=True)
class Figures:
    """Requests per second, and times in milliseconds."""

    rate: float
    p50: float
    p99: float


def own_body() -> bytes:
    """A CREATE of a Job with two containers, as the API server sends it."""
    containers = [
        {
            "name": name,
            "image": "registry.example/train:1",
            "resources": {"requests": {"cpu": "4", "memory": "16Gi"}, "limits": {"nvidia.com/gpu": "1"}},
            "env": [{"name": "OMP_NUM_THREADS", "value": "4"}],
        }
        for name in ("main", "sidecar")
    ]
    metadata = {"name": "bench", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "team-a"}}
    spec = {"parallelism": 1, "completions": 1, "template": {"spec": {"containers": containers}}}
    request = {
        "uid": "09d522d1-3042-4ec6-991c-291615bb70a0",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "admin", "groups": ["system:authenticated"]},
        "object": {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec},
    }
    return orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


def shared_body() -> bytes | None:
    """The review of the shared benchmark data, where this machine has it."""
    path = Path(os.environ.get("SLUICE_SHARED", ROOT.parent / "shared")) / "bench" / "review-job.json"
    return path.read_bytes() if path.exists() else None


async def bare(folder: Path) -> tuple[int, Callable[[], object]]:
    """Serve the least that answers an AdmissionReview: parse, say yes, write."""

    async def handle(request: web.Request) -> web.Response:
        review = orjson.loads(await request.read())
        answer = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        answer["response"] = {"uid": review["request"]["uid"], "allowed": True}
        return web.Response(body=orjson.dumps(answer), content_type="application/json")

    app = web.Application(client_max_size=8 * 1024 * 1024)
    app.router.add_post("/mutate", handle)
    listener = Listener(app, "127.0.0.1", 0, ServingCertificate(Folder(folder)).context)
    return await listener.start(), listener.stop


async def sluice(folder: Path) -> tuple[int, Callable[[], object]]:
    """Serve Sluice with the shipped bundle and an empty cluster."""
    config = Config(policies=(POLICIES,), listen="127.0.0.1:0", cert_dir=folder, mode=Mode.NONE)
    store = MemoryStore()
    await store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    daemon = Daemon(config, store)
    await daemon.start()
    await daemon.engine.warm.wait()
    return daemon.port, daemon.stop


SIDES = {"bare": bare, "sluice": sluice}


def serve(side: str, folder: Path, pipe: Connection) -> None:
    """Run one side in this process until the pipe is closed; tell the port first, memory at the end."""

    async def go() -> None:
        port, stop = await SIDES[side](folder)
        pipe.send(port)
        await asyncio.to_thread(pipe.recv)
        pipe.send(resident())
        await stop()

    uvloop.run(go())


def resident() -> float:
    """Resident memory of this process in MiB."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


class Connected:
    """One keep-alive HTTP/1.1 connection that sends the same request again and again."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: bytes) -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self.message = head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
        self.reader, self.writer = reader, writer

    async def once(self) -> bytes:
        """Send it and give the answer's body. Raises RuntimeError unless it is a 200."""
        self.writer.write(self.message)
        head = await self.reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode())
        length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        return await self.reader.readexactly(int(length.split(b":")[1]))


async def measure(
    port: int, trust: ssl.SSLContext, connections: int, seconds: float, path: str, body: bytes
) -> Figures:
    """Drive one server for some seconds on some connections."""
    opened = [
        Connected(*await asyncio.open_connection("localhost", port, ssl=trust), path, body) for _ in range(connections)
    ]
    times: list[float] = []

    async def drive(connection: Connected, until: float, keep: bool) -> None:
        while (start := perf_counter()) < until:
            await connection.once()
            if keep:
                times.append(perf_counter() - start)

    warm = perf_counter() + min(0.5, seconds / 4)
    await asyncio.gather(*(drive(c, warm, keep=False) for c in opened))
    start = perf_counter()
    await asyncio.gather(*(drive(c, start + seconds, keep=True) for c in opened))
    spent = perf_counter() - start
    for connection in opened:
        connection.writer.close()
    times.sort()
    return Figures(len(times) / spent, times[len(times) // 2] * 1e3, times[int(len(times) * 0.99)] * 1e3)


def run(seconds: float) -> dict[str, object]:
    """Measure everything: the sides take turns, the best of `ROUNDS` counts."""
    bodies = {"own": own_body()}
    if (shared := shared_body()) is not None:
        bodies["review-job.json"] = shared
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(Path(name))
        ensure(folder, ("localhost", "127.0.0.1"), datetime.now(UTC))
        trust = ssl.create_default_context(cafile=str(folder.bundle))
        servers = {}
        for side in SIDES:
            here, there = context.Pipe()
            process = context.Process(target=serve, args=(side, folder.path, there), daemon=True)
            process.start()
            servers[side] = (process, here, here.recv())
        rows = []
        for body_name, body in bodies.items():
            for connections in (1, 16):
                found: dict[str, list[Figures]] = {side: [] for side in SIDES}
                for _ in range(ROUNDS):
                    for side, (_, _, port) in servers.items():
                        work = measure(port, trust, connections, seconds, "/mutate", body)
                        found[side].append(uvloop.run(work))
                best = {side: max(figures, key=lambda f: f.rate) for side, figures in found.items()}
                rows.append({"body": body_name, "bytes": len(body), "connections": connections, "sides": best})
        memory = {}
        for side, (process, pipe, _) in servers.items():
            pipe.send("end")
            memory[side] = pipe.recv()
            process.join(10)
    return {"rows": rows, "memory": memory}


def show(result: dict[str, object]) -> None:
    """Print the figures as a table."""
    print(f"{'body':<16} {'conns':>5}  {'side':<7} {'req/s':>8} {'p50 ms':>8} {'p99 ms':>8}  of bare")
    for row in result["rows"]:  # type: ignore[attr-defined]
        base = row["sides"]["bare"].rate
        for side, figures in row["sides"].items():
            ratio = f"{figures.rate / base:>6.0%}"
            print(
                f"{row['body']:<16} {row['connections']:>5}  {side:<7} {figures.rate:>8.0f} {figures.p50:>8.3f}"
                f" {figures.p99:>8.3f} {ratio}"
            )
    print("memory under load, MiB: " + ", ".join(f"{s} {m:.0f}" for s, m in result["memory"].items()))  # type: ignore[attr-defined]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each measurement")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    result = run(arguments.seconds)
    if arguments.json:
        print(json.dumps(result, default=lambda f: f.__dict__, indent=1))
    else:
        show(result)


if __name__ == "__main__":
    main()
