"""The Helm command for tests: the machine's own, else built once from the Go module in `helm/`, and cached."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.controlplane.build import VERSION, cache_home
from tests.controlplane.golang import go_command

MODULE = Path(__file__).resolve().parent / "helm"
PACKAGE = "helm.sh/helm/v3/cmd/helm"


def helm() -> Path:
    """The path of the command; builds it where it is not there (some minutes, once)."""
    if found := shutil.which("helm"):
        return Path(found)
    sources = (MODULE / "go.mod").read_bytes() + (MODULE / "go.sum").read_bytes()
    home = cache_home() / f"helm-{hashlib.sha256(sources).hexdigest()[:16]}"
    if not (home / "helm").exists():
        _build(home)
    return home / "helm"


def _build(home: Path) -> None:
    """Build with a build cache of its own, which is deleted: it is much larger than the command."""
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        environment = {**os.environ, "GOCACHE": f"{scratch}/cache", "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
        draft = Path(scratch) / "helm"
        command = [go_command(cache_home()), "build", "-trimpath", "-ldflags=-s -w", "-o", str(draft), PACKAGE]
        subprocess.run(command, cwd=MODULE, env=environment, check=True)
        draft.replace(home / "helm")


def template(chart: Path, *arguments: str, release: str = "sluice") -> str:
    """Render the chart in namespace `sluice-system`; raises RuntimeError with Helm's words."""
    command = [str(helm()), "template", release, str(chart), "--namespace=sluice-system", f"--kube-version={VERSION}"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


if __name__ == "__main__":
    print(helm())
