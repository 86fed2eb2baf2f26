"""`python -m tests.bench.admission`: a bare aiohttp handler, `sluice serve`, and that one compiled, side by side.

Each serves in a process of its own, over TLS on loopback; one client drives them in turns on kept connections. The
client shares the cores with the servers: read ratios, not absolutes. CPU is the server's, so it is less disturbed.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median

import uvloop

from tests.bench import bodies, compiled
from tests.bench.load import Figures, Target, cpu, drive, post, resident
from tests.controlplane.processes import Child, free_ports
from tests.shared import ROOT
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure

POLICIES = ROOT / "policies"
MATCHING, OTHERS = 10, 990
BARE, SHIPPED, COMPILED = "bare aiohttp", "Sluice, shipped policies", "the same, compiled"
SHARES = {SHIPPED: 0.35, COMPILED: 0.5}
"""What they are to reach of the bare handler's throughput at 16 connections."""
SLOWER, MEMORY = 3.0, 80
"""How much longer p99 may be than the bare handler's, and MiB that a process may take."""
TEN = f"{MATCHING} policies"
THOUSAND = f"{MATCHING + OTHERS} policies, {MATCHING} match"


@dataclass(frozen=True)
class Server:
    """One server under test."""

    name: str
    child: Child
    port: int
    authority: Path

    def target(self, path: str, body: bytes) -> Target:
        """A request to it."""
        return Target("127.0.0.1", self.port, str(self.authority), post("127.0.0.1", self.port, path, body))


class Bench:
    """The servers, and measurements in turns."""

    def __init__(self, folder: Path, stack: ExitStack, seconds: float, rounds: int, source: Path = ROOT) -> None:
        self.folder, self.stack, self.seconds, self.rounds = folder, stack, seconds, rounds
        self.source = source
        self.certificates = Folder(folder / "certs")
        ensure(self.certificates, ("localhost", "127.0.0.1"), datetime.now(UTC))

    def bare(self) -> Server:
        """The least that answers an AdmissionReview, on aiohttp: parse, say yes, write."""
        files = (str(self.certificates.certificate), str(self.certificates.key))
        return self._start(BARE, lambda port: ["-m", "tests.bench.noop", str(port), *files])

    def sluice(self, name: str, *policies: Path, source: Path | None = None) -> Server:
        """`sluice serve` with these policies and no cluster; `source`: a copy of the sources to run."""
        flags = [*(f"--policies={path}" for path in policies), f"--cert-dir={self.certificates.path}"]
        flags += ["--no-cluster", "--mode=none"]
        command = ["-m", "webhook.cli.main", "serve"]
        with_bytecode(source or self.source)
        return self._start(name, lambda port: [*command, f"--listen=127.0.0.1:{port}", *flags], source)

    def _start(self, name: str, command: Callable[[int], list[str]], source: Path | None = None) -> Server:
        (port,) = free_ports(1)
        logs = self.folder / "logs"
        logs.mkdir(exist_ok=True)
        environment = {**os.environ, "PYTHONPATH": str(source or self.source)}
        child = Child(name, [sys.executable, "-P", *command(port)], logs, environment)
        self.stack.callback(child.stop)
        server = Server(name, child, port, self.certificates.bundle)
        until = time.monotonic() + 60
        while True:
            try:
                uvloop.run(drive(server.target("/mutate", bodies.job()), 1, 0.05, 1))
                return server
            except OSError:
                if time.monotonic() > until or not child.running:
                    raise RuntimeError(f"{name} does not answer:\n{child.tail()}") from None
                time.sleep(0.1)

    def measure(self, server: Server, path: str, body: bytes, connections: int, seconds: float = 0.0) -> Figures:
        """Drive one server for a while."""
        meter = partial(cpu, server.child.process.pid)
        return uvloop.run(drive(server.target(path, body), connections, seconds or self.seconds, meter=meter))

    def turns(self, servers: list[Server], path: str, body: bytes, connections: int) -> list[Figures]:
        """Drive servers in turns; of each its median run by rate."""
        found: dict[str, list[Figures]] = {server.name: [] for server in servers}
        for _ in range(self.rounds):
            for server in servers:
                found[server.name].append(self.measure(server, path, body, connections))
        return [sorted(found[server.name], key=lambda r: r.rate)[self.rounds // 2] for server in servers]


def with_bytecode(source: Path) -> None:
    """Let Python keep its bytecode, as the image does: compiling the sources at the start leaves memory in pieces."""
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(
        [sys.executable, "-P", "-c", "import webhook.cli.commands.server.serve"], env=environment, check=True
    )


def compare(bench: Bench, servers: list[Server], cases: list[tuple[str, str, bytes]], base: str) -> None:
    """Print a table: each server's figures, and its share of the first one's."""
    print(f"\n{'body':<24}{'conns':>6}  {'server':<26}{'req/s':>8}{'p50 ms':>9}{'p99 ms':>9}{'CPU us':>8}  of {base}")
    for name, path, body in cases:
        for connections in (1, 16):
            runs = bench.turns(servers, path, body, connections)
            first = runs[0]
            for server, f in zip(servers, runs, strict=True):
                ratios = f"{f.rate / first.rate:>6.0%}, p99 x {f.p99 / first.p99:.1f}"
                if connections == 16 and (share := SHARES.get(server.name)):
                    ratios += bar(f.rate / first.rate >= share, f"{share:.0%}")
                    ratios += bar(f.p99 <= SLOWER * first.p99, f"x {SLOWER:g}")
                line = f"{name:<24}{connections:>6}  {server.name:<26}{f.rate:>8.0f}{f.p50:>9.3f}{f.p99:>9.2f}"
                print(f"{line}{f.cpu:>8.0f}  {ratios}", flush=True)


def bar(reached: bool, wanted: str) -> str:
    """What is wanted, and whether it is reached."""
    return f" (bar {wanted}: {'reached' if reached else 'MISSED'})"


def during_reload(bench: Bench, server: Server, folder: Path) -> None:
    """Print p99 while the bundle of 1,000 policies is reloaded, beside p99 at rest."""
    body = bodies.job()
    reloads = server.child.log.read_text().count("policies reloaded")
    idle, busy = [], []
    for version in range(bench.rounds):
        idle.append(bench.measure(server, "/validate", body, 16))
        bodies.many_policies(folder, MATCHING, OTHERS, f" (version {version})")
        began = time.monotonic()
        while server.child.log.read_text().count("policies reloaded") == reloads + version:
            busy.append(bench.measure(server, "/validate", body, 16, 1.0))
            if time.monotonic() - began > 280:
                raise RuntimeError(f"not reloaded:\n{server.child.tail()}")
        print(f"  reload {version + 1}: {time.monotonic() - began:.1f} s under load", flush=True)
    rest, meanwhile = median(f.p99 for f in idle), median(f.p99 for f in busy)
    slower = median(f.rate for f in busy) / median(f.rate for f in idle)
    print(f"p99 at 16 connections: {rest:.2f} ms at rest, {meanwhile:.2f} ms meanwhile: x {meanwhile / rest:.2f}")
    longest = [max(f.longest for f in figures) for figures in (idle, busy)]
    print(f"throughput meanwhile {slower:.0%}; longest answer {longest[1]:.0f} ms, at rest {longest[0]:.0f} ms")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["bare", "many", "reload"], action="append")
    parser.add_argument("--source", type=Path, default=ROOT, help="run Sluice from here: an unpacked wheel")
    arguments = parser.parse_args()
    parts = arguments.only or ["bare", "many", "reload"]
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        bench = Bench(folder, stack, arguments.seconds, arguments.rounds, arguments.source.resolve())
        if "bare" in parts:
            against_bare(bench)
        if "many" in parts or "reload" in parts:
            against_many(bench, parts)


def against_bare(bench: Bench) -> None:
    """The shipped bundle, and no policies at all, beside the bare handler."""
    empty = bench.folder / "empty"
    empty.mkdir()
    servers = [bench.bare(), bench.sluice(SHIPPED, POLICIES), bench.sluice("Sluice, none", empty)]
    if (copy := compiled.unpacked()) is not None:
        servers.insert(2, bench.sluice(COMPILED, POLICIES, source=copy))
    sent = {"Job": bodies.job(), "PyTorchJob": bodies.pytorch_job()}
    cases = [
        (f"{kind} {len(body) / 1000:.1f} KB {path}", path, body if path == "/mutate" else bodies.shaped(body, POLICIES))
        for kind, body in sent.items()
        for path in ("/mutate", "/validate")
    ]
    compare(bench, servers, cases, "bare")
    taken = {server.name: resident(server.child.process.pid) for server in servers}
    words = [f"{n} {m:.0f}{bar(m <= MEMORY, str(MEMORY)) if n in SHARES else ''}" for n, m in taken.items()]
    print(f"memory under load, MiB: {', '.join(words)}")
    for server in servers:
        server.child.stop()


def against_many(bench: Bench, parts: list[str]) -> None:
    """1,000 policies of which 10 match beside those 10, and while the 1,000 are reloaded."""
    few, many = bench.folder / "few", bench.folder / "many"
    bodies.many_policies(few, MATCHING, 0)
    bodies.many_policies(many, MATCHING, OTHERS)
    servers = [bench.sluice(TEN, few), bench.sluice(THOUSAND, many)]
    if "many" in parts:
        compare(bench, servers, [("Job /validate", "/validate", bodies.job())], "10 alone")
    if "reload" in parts:
        print(f"\nwhile {MATCHING + OTHERS} policies are reloaded:")
        during_reload(bench, servers[1], many)
    print("memory, MiB: " + ", ".join(f"{s.name} {resident(s.child.process.pid):.0f}" for s in servers))


if __name__ == "__main__":
    main()
