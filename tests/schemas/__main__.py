"""`python -m tests.schemas [FOLDER]`: compact the documents that `python -m tests.controlplane openapi FOLDER` wrote.

Without a folder it starts an API server and asks it.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.controlplane.__main__ import openapi
from tests.controlplane.build import HERE, cache_home
from tests.controlplane.cluster import start
from tests.controlplane.golang import go_command
from tests.shared import ROOT
from webhook.kube.schema import compact, reference
from webhook.kube.schemas import package_of

TARGET = ROOT / "webhook" / "kube" / "schemas"
FIXED = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "q",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "x",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"s": "u", "l": "*", "f": {}, "o": "*", "a": 1},
}


def gather(folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """All types of all documents in their compact form, and the type of each kind."""
    types: dict[str, Any] = {}
    kinds: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        for name, schema in json.loads(path.read_text()).get("components", {}).get("schemas", {}).items():
            if not reference(schema):
                types[name] = FIXED.get(name) or compact(schema)
            for kind in schema.get("x-kubernetes-group-version-kind", ()):
                kinds.setdefault(f"{kind['group']}/{kind['version']}/{kind['kind']}", name)
    return types, kinds


def scopes_of(folder: Path) -> dict[str, str]:
    """The scope of each kind whose objects can be listed, by the paths that list them."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        for url, item in json.loads(path.read_text()).get("paths", {}).items():
            listing = item.get("get", {})
            if listing.get("x-kubernetes-action") == "list":
                kind = listing["x-kubernetes-group-version-kind"]
                key = f"{kind['group']}/{kind['version']}/{kind['kind']}"
                if "/namespaces/{namespace}/" in url:
                    found[key] = "Namespaced"
                else:  # a namespaced kind has this path as well
                    found.setdefault(key, "Cluster")
    return found


def fields_of(types: dict[str, Any]) -> dict[str, Any]:
    """How Go writes the fields of the types, as `tests/controlplane/fields` finds it by reflection."""
    command = [go_command(cache_home()), "run", "./fields"]
    environment = os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly"}
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return {name: row for name, row in found.items() if name in types}


def write(types: dict[str, Any], kinds: dict[str, str], scopes: dict[str, str]) -> None:
    """Write one file for each package, the tables of kinds and of their scopes, and that of how fields are written."""
    packages: dict[str, dict[str, Any]] = {"kinds": dict(kinds), "scopes": dict(scopes), "fields": fields_of(types)}
    for name, node in types.items():
        packages.setdefault(package_of(name), {})[name] = node
    for package, content in packages.items():
        lines = ",\n".join(
            f"{json.dumps(key)}:{json.dumps(content[key], separators=(',', ':'))}" for key in sorted(content)
        )
        (TARGET / f"{package}.json").write_text("{\n" + lines + "\n}\n")


def main() -> None:
    """Compact the documents of a folder, or of a fresh API server."""
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        write(*gather(folder), scopes_of(folder))
        return
    plane = start()
    try:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            openapi(plane, folder)
            write(*gather(folder), scopes_of(folder))
    finally:
        plane.stop()


if __name__ == "__main__":
    main()
