"""`python -m tests.kueue_suite KUEUE [SUITE...]`: builds and runs suites of a copy of Kueue; see README.md."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from tests.controlplane.build import binary
from tests.kueue_suite import dependencies, edits
from tests.kueue_suite.report import written
from tests.shared import ROOT

SUITES: Final = ("scheduler", "controller/core", "controller/jobs/job", "webhook/core", "kueuectl")
POLICIES: Final = (
    "suspend-jobs", "suspend-pods", "queue-name", "priority-class", "stays-queued", "valid-jobs",
    "gpu-defaults", "gpu-integer", "gpu-tolerations", "limit-range", "suspend-serving", "valid-pods",
)  # fmt: skip
"""What `sluice serve` loads of policies/, beside its folder queue. Without frozen-while-admitted a job that grows is
stopped, as by Kueue."""
FROM_KUEUE: Final = ("multikueueclusters", "multikueueconfigs", "provisioningrequestconfigs", "topologies")
"""CRDs of Kueue that Sluice has none of."""
GO_FLAGS: Final = "-mod=vendor -buildvcs=false -trimpath"
"""Without paths in what is built, copies of Kueue share Go's cache."""


def prepare(kueue: Path, work: Path) -> None:
    """Edit the copy, and gather CRDs and programs in the folder `work`."""
    for name in ("assets", "bin", "crds", "logs", "reports"):
        (work / name).mkdir(parents=True, exist_ok=True)
    edits.apply(kueue)
    if not (kueue / "dep-crds").exists():
        for folder in dependencies.gather(kueue):
            print(f"{folder}: no module, minimal CRDs")
    subprocess.run([_sluice(), "crds", "--to", str(work / "crds")], check=True, stdout=subprocess.DEVNULL)
    present = "".join(path.name for path in (work / "crds").iterdir())
    for kind in FROM_KUEUE:
        if kind not in present:
            shutil.copy(kueue / f"config/components/crd/bases/kueue.x-k8s.io_{kind}.yaml", work / "crds")
    programs = {name: str(binary(name)) for name in ("etcd", "kube-apiserver")}
    programs["kubectl"] = shutil.which("kubectl") or "kubectl"
    for name, path in programs.items():
        link = work / "assets" / name
        link.unlink(missing_ok=True)
        link.symlink_to(path)


def compile_suite(kueue: Path, work: Path, suite: str) -> Path:
    """Build the test binary of a suite, unless it is newer than the edited sources. Raises CalledProcessError."""
    built = work / "bin" / f"{_file(suite)}.test"
    edited = max((kueue / name).stat().st_mtime for name in edits.edited(suite))
    if not built.exists() or built.stat().st_mtime < edited:
        folder = f"./test/integration/singlecluster/{suite}"
        _go(kueue, "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", f"{built}.part", folder)
        Path(f"{built}.part").rename(built)
    return built


def run(kueue: Path, work: Path, suite: str, asked: argparse.Namespace) -> Path:
    """Run a suite; give its report."""
    program, name = compile_suite(kueue, work, suite), _file(suite)
    logs, report = work / "logs" / name, work / "reports" / f"{name}.json"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    queues = sorted(path for path in (ROOT / "policies/queue").iterdir() if path.is_dir())
    loaded = [*queues, *(ROOT / "policies" / policy for policy in POLICIES), Path(__file__).parent / "policies"]
    environment = {
        **os.environ,
        "KUBEBUILDER_ASSETS": str(work / "assets"),
        "PROJECT_DIR": f"{kueue}/",
        "KUEUE_BIN": str(work / "bin"),
        "SLUICE_BIN": _sluice(),
        "SLUICE_CRDS": str(work / "crds"),
        "SLUICE_POLICIES": ":".join(map(str, loaded)),
        "SLUICE_WORK": str(logs),
        "SLUICE_PATIENT": "1" if asked.patient else "",
        "PYTHONPATH": str(ROOT),
    }
    chosen = [f"--ginkgo.{option}={text}" for option in ("focus", "skip") if (text := getattr(asked, option))]
    command = [
        "nice", str(program), f"--ginkgo.json-report={report}", f"--ginkgo.timeout={asked.limit}", "--ginkgo.no-color",
        "--ginkgo.silence-skips", *chosen,
    ]  # fmt: skip
    started = time.monotonic()
    with (logs / "ginkgo.out").open("wb") as out:
        folder = kueue / "test/integration/singlecluster" / suite
        subprocess.run(command, cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT, check=False)
    print(f"{suite}: {time.monotonic() - started:.0f} s", flush=True)
    return report


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.kueue_suite", description=__doc__)
    parser.add_argument("kueue", type=Path, help="an unpacked copy of Kueue, which is edited")
    parser.add_argument("suites", nargs="*", default=SUITES, help="folders below test/integration/singlecluster")
    parser.add_argument("--work", type=Path, default=Path("build/kueue-suite"), help="binaries, logs and reports")
    parser.add_argument("--focus", default="", help="specs to run, a regular expression")
    parser.add_argument("--skip", default="", help="specs to leave out, a regular expression")
    parser.add_argument("--limit", default="20m", help="time of a suite")
    parser.add_argument("--patient", action="store_true", help="wait as long as Kueue does, on a busy machine")
    parser.add_argument("--build", action="store_true", help="only build")
    asked = parser.parse_args()
    kueue, work = asked.kueue.resolve(), asked.work.resolve()
    prepare(kueue, work)
    if "kueuectl" in asked.suites and not (work / "bin/kubectl-kueue").exists():
        _go(kueue, "build", "-o", str(work / "bin/kubectl-kueue"), "./cmd/kueuectl")
    for suite in asked.suites or SUITES:
        if asked.build:
            compile_suite(kueue, work, suite)
        else:
            print("\n".join(written(run(kueue, work, suite, asked), failures=True)), flush=True)
    return 0


def _go(kueue: Path, *arguments: str) -> None:
    subprocess.run(["nice", "go", *arguments], cwd=kueue, env={**os.environ, "GOFLAGS": GO_FLAGS}, check=True)


def _file(suite: str) -> str:
    return suite.replace("/", "_")


def _sluice() -> str:
    return str(Path(sys.executable).with_name("sluice"))


if __name__ == "__main__":
    sys.exit(main())
