"""`python -m tests.controlplane build | up [--bare] | openapi DIR`: the control plane by hand."""

import argparse
import json
import signal
import sys
from pathlib import Path

from tests.controlplane import nodes
from tests.controlplane.build import build
from tests.controlplane.cluster import ControlPlane, document_name, start
from tests.controlplane.fixtures import NODES
from tests.e2e.cluster import up


def bare() -> int:
    """Start a control plane with nodes and stay until Ctrl-C."""
    plane = start()
    nodes.add(plane.client, *NODES)
    print(f"export KUBECONFIG={plane.kubeconfig}", flush=True)
    print(f"# {plane.url} is up, logs in {plane.logs}; Ctrl-C ends it", flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        signal.pause()
    except KeyboardInterrupt:
        pass
    finally:
        plane.stop()
    return 0


def openapi(plane: ControlPlane, folder: Path) -> int:
    """Write every `/openapi/v3` document of the API server into `folder`; give how many."""
    folder.mkdir(parents=True, exist_ok=True)
    client = plane.client
    paths = client.get("/openapi/v3")["paths"]
    for path, row in paths.items():
        document = client.get(row["serverRelativeURL"])
        (folder / document_name(path)).write_text(json.dumps(document, indent=1, sort_keys=True))
    return len(paths)


def main(arguments: list[str]) -> int:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="python -m tests.controlplane", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="build the binaries that are not in the cache yet")
    stay = commands.add_parser("up", help="start a control plane with Sluice in it and stay until Ctrl-C")
    stay.add_argument("--bare", action="store_true", help="without Sluice")
    dump = commands.add_parser("openapi", help="write the /openapi/v3 documents of a fresh API server")
    dump.add_argument("folder", type=Path)
    chosen = parser.parse_args(arguments)
    if chosen.command == "build":
        build()
        return 0
    if chosen.command == "up":
        return bare() if chosen.bare else up()
    plane = start()
    try:
        print(f"{openapi(plane, chosen.folder)} documents in {chosen.folder}")
    finally:
        plane.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
