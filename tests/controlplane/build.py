"""Builds the control plane's binaries from the Go modules beside this file, once for each version.

They stand in `<cache>/sluice/controlplane/<group>-<hash>`, outside the checkout, and KUBEBUILDER_ASSETS comes first.
The Go build cache (4 GB and more) is made for one build and deleted after it; only module downloads are kept.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.controlplane.golang import go_command

HERE = Path(__file__).resolve().parent
NEWEST = "v1.36.3"
OLDEST = "v1.33.13"
VERSION = os.environ.get("SLUICE_KUBERNETES") or NEWEST
"""The API server's version, NEWEST or OLDEST, without regard to KUBEBUILDER_ASSETS where it is asked for."""


@dataclass(frozen=True, slots=True)
class Group:
    """Binaries that are built together: from which module, and which files make them stale."""

    name: str
    module: str
    sources: tuple[str, ...]
    packages: dict[str, str]
    version: str = NEWEST

    @property
    def stamp(self) -> str:
        """What is linked in: without `gitVersion` clients cannot parse what a server reports."""
        rows = {"gitVersion": self.version, "gitMajor": "1", "gitMinor": self.version.split(".")[1]}
        rows["gitTreeState"] = "clean"
        return " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in rows.items())

    @property
    def digest(self) -> str:
        """A hash over the files that decide what comes out."""
        seen = hashlib.sha256(self.stamp.encode())
        for pattern in self.sources:
            for path in sorted(HERE.glob(pattern)):
                seen.update(path.name.encode() + path.read_bytes())
        return seen.hexdigest()[:16]

    @property
    def home(self) -> Path:
        """Where the built binaries stand."""
        return cache_home() / f"{self.name}-{self.digest}"


_KUBERNETES = {
    f"kube-{name}": f"k8s.io/kubernetes/cmd/kube-{name}" for name in ("apiserver", "controller-manager", "scheduler")
}
_ETCD = {"etcd": "go.etcd.io/etcd/server/v3"}
_OLDEST = Group("oldest", "oldest", ("oldest/go.mod", "oldest/go.sum"), _KUBERNETES, OLDEST)
GROUPS = (
    *((_OLDEST,) if VERSION == OLDEST else ()),
    Group("cluster", ".", ("go.mod", "go.sum"), _ETCD if VERSION == OLDEST else {**_ETCD, **_KUBERNETES}),
    Group("kwok", "kwok", ("kwok/go.mod", "kwok/go.sum"), {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}),
    Group("kubectl", "kubectl", ("kubectl/go.mod", "kubectl/go.sum", "kubectl/main.go"), {"kubectl": "."}),
    Group("oracle", ".", ("go.mod", "go.sum", "oracle/*.go"), {"oracle": "./oracle"}),
)


def cache_home() -> Path:
    """The folder that keeps binaries between checkouts (XDG_CACHE_HOME, else ~/.cache)."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "sluice" / "controlplane"


def find(name: str) -> Path | None:
    """The binary `name` if it is there already: from KUBEBUILDER_ASSETS, else from our cache."""
    assets = None if "SLUICE_KUBERNETES" in os.environ else os.environ.get("KUBEBUILDER_ASSETS")
    places = [Path(assets)] if assets else []
    places += [group.home for group in GROUPS if name in group.packages]
    return next((place / name for place in places if os.access(place / name, os.X_OK)), None)


def binary(name: str) -> Path:
    """The binary `name`, built first when it has to be; raises CalledProcessError where Go fails."""
    if not find(name):
        build([group for group in GROUPS if name in group.packages])
    found = find(name)
    if found is None:
        raise FileNotFoundError(f"{name} is neither in KUBEBUILDER_ASSETS nor built by tests/controlplane")
    return found


def build(groups: list[Group] | tuple[Group, ...] = GROUPS) -> None:
    """Build what is missing of `groups`, printing progress to stderr. Two processes never build at once."""
    with _lock():
        missing = [(g, n) for g in groups for n in g.packages if not find(n)]
        if not missing:
            return
        go = go_command(cache_home())
        with tempfile.TemporaryDirectory(prefix="sluice-go-build-") as go_cache:
            for number, (group, name) in enumerate(missing, 1):
                _say(f"[{number}/{len(missing)}] building {name} (all of them take some minutes, once)")
                _build_one(go, go_cache, group, name)


def _build_one(go: str, go_cache: str, group: Group, name: str) -> None:
    began = time.monotonic()
    group.home.mkdir(parents=True, exist_ok=True)
    target = group.home / name
    part = target.with_suffix(".part")
    flags = f"-s -w {group.stamp}" if name.startswith("kube") else "-s -w"
    command = [go, "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", str(part), group.packages[name]]
    niced = ["nice", *command] if shutil.which("nice") else command
    environment = os.environ | {"GOCACHE": go_cache, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly"}
    subprocess.run(niced, cwd=HERE / group.module, env=environment, check=True)
    part.rename(target)
    _say(f"{name}: {target.stat().st_size / 1e6:.0f} MB in {time.monotonic() - began:.0f} s")


@contextmanager
def _lock() -> Iterator[None]:
    cache_home().mkdir(parents=True, exist_ok=True)
    with (cache_home() / "lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _say(text: str) -> None:
    print(f"controlplane: {text}", file=sys.stderr, flush=True)
