"""`make sbom`: what the image holds, as a CycloneDX 1.6 document (ECMA-424), from the lock file that it is built by.

Nothing in it changes from run to run: the serial number is made from the content, and there is no time stamp.
"""

import json
import re
import sys
import tomllib
import uuid
from importlib import metadata
from pathlib import Path
from typing import Any

import webhook
from tests.shared import ROOT

LOCK = ROOT / ".ci" / "requirements-image.txt"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)[^\n]*((?:\n +--hash=\S+[^\n]*)*)", re.MULTILINE)


def locked() -> dict[str, tuple[str, list[str]]]:
    """The version and the SHA-256 sums of each package of the image."""
    found = _PIN.findall(LOCK.read_text(encoding="utf-8"))
    return {name: (version, re.findall(r"sha256:([0-9a-f]{64})", sums)) for name, version, sums in found}


def document() -> dict[str, Any]:
    """The whole document."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ours = _component(project["name"], webhook.__version__, [])
    ours |= {"type": "application", "licenses": [{"license": {"id": project["license"]}}]}
    components = [_component(name, version, sums) for name, (version, sums) in sorted(locked().items())]
    references = [component["bom-ref"] for component in components]
    content = json.dumps([ours, components], sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, content).urn,
        "version": 1,
        "metadata": {"component": ours},
        "components": components,
        "dependencies": [{"ref": ours["bom-ref"], "dependsOn": references}],
    }


def _component(name: str, version: str, sums: list[str]) -> dict[str, Any]:
    """A package; a lock has the sum of every file that the package may be installed from."""
    address = f"pkg:pypi/{name.lower().replace('_', '-')}@{version}"
    made: dict[str, Any] = {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address}
    if sums:
        files = [{"type": "distribution", "url": address, "hashes": [{"alg": "SHA-256", "content": s}]} for s in sums]
        made["externalReferences"] = files
    if expression := _license(name):
        made["licenses"] = [{"expression": expression}]
    return made


def _license(name: str) -> str:
    """The SPDX expression that an installed package states; empty where it states none in that form."""
    try:
        return metadata.metadata(name).get("License-Expression") or ""
    except metadata.PackageNotFoundError:
        return ""


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(document(), indent=2) + "\n", encoding="utf-8")
    print(f"{target}: {len(document()['components'])} packages")
