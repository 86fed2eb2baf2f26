"""The CRDs that Kueue's tests look for below `dep-crds`: from the Go modules that its go.mod names.

For a kind whose module cannot be had, a CRD that takes any spec and status stands in.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

MODULES: Final = (
    ("github.com/kubeflow/mpi-operator", "manifests/base/*", "mpi-operator"),
    ("github.com/kubeflow/training-operator", "manifests/base/crds/*", "training-operator-crds"),
    ("github.com/kubeflow/trainer/v2", "manifests/base/crds/*", "kf-trainer-crds"),
    ("github.com/kubeflow/trainer/v2", "manifests/base/runtimes/*_distributed.yaml", "kf-trainer-runtimes"),
    ("github.com/ray-project/kuberay/ray-operator", "config/crd/bases/*", "ray-operator-crds"),
    ("sigs.k8s.io/jobset", "config/components/crd/bases/*", "jobset-operator"),
    ("k8s.io/autoscaler/cluster-autoscaler/apis", "config/crd/*", "cluster-autoscaler"),
    ("github.com/project-codeflare/appwrapper", "config/crd/bases/*", "appwrapper-crds"),
    ("sigs.k8s.io/lws", "config/crd/bases/*", "leaderworkerset-operator"),
    ("sigs.k8s.io/cluster-inventory-api", "config/crd/bases/*", "clusterprofile"),
    ("github.com/kubeflow/spark-operator/v2", "config/crd/bases/*", "spark-operator-crds"),
)
"""Module, the files in it, and the folder below `dep-crds`."""
TWICE: Final = ("training-operator-crds", "kubeflow.org_mpijobs.yaml")
"""A CRD that two modules have; the other one's counts."""
KINDS: Final = {
    "ray-operator-crds": (("ray.io", "v1", "RayCluster"), ("ray.io", "v1", "RayJob"), ("ray.io", "v1", "RayService")),
    "leaderworkerset-operator": (("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet"),),
}
"""The kinds of the modules that a Go proxy may lack."""


def gather(kueue: Path) -> list[str]:
    """Write all CRDs; give the folders where a module could not be had."""
    text, lacking = (kueue / "go.mod").read_text(encoding="utf-8"), []
    for module, pattern, folder in MODULES:
        target = kueue / "dep-crds" / folder
        target.mkdir(parents=True, exist_ok=True)
        version = re.search(rf"^\s*{re.escape(module)} (\S+)", text, re.MULTILINE)
        source = _module(f"{module}@{version[1]}") if version else None
        if source is None:
            lacking.append(folder)
            _minimal(target)
            continue
        for file in source.glob(pattern):
            if file.is_file() and (folder, file.name) != TWICE:
                shutil.copyfile(file, target / file.name)
    return lacking


def _module(name: str) -> Path | None:
    """Give the folder of a Go module, None where no proxy has it."""
    command = ["go", "mod", "download", "-json", name]
    environment = {**os.environ, "GOFLAGS": "-mod=mod"}
    done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False)
    folder = json.loads(done.stdout or "{}").get("Dir")
    return Path(folder) if folder else None


def _minimal(folder: Path) -> None:
    for group, version, kind in KINDS.get(folder.name, ()):
        plural = f"{kind.lower()}s"
        (folder / f"{group}_{plural}.yaml").write_text(json.dumps(_any(group, version, kind, plural), indent=1))


def _any(group: str, version: str, kind: str, plural: str) -> dict[str, Any]:
    """Give a CRD whose objects may hold anything."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    served = {"name": version, "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [served]},
    }
