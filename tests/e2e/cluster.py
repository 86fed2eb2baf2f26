"""`make cluster`: a local control plane with Sluice in it, sample queues and namespaces, until Ctrl-C."""

import signal
import tempfile
from pathlib import Path

from tests.controlplane import nodes
from tests.controlplane.cluster import start
from tests.controlplane.fixtures import NODES
from tests.e2e.articles import prepare
from tests.e2e.crds import install_foreign
from tests.e2e.sluice import POLICIES, Sluice
from tests.seeds import manifests


def up() -> int:
    """Start everything, say how to reach it, and stay until a signal comes."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    plane = start()
    with tempfile.TemporaryDirectory(prefix="sluice-certs-") as home:
        sluice = Sluice(plane, Path(home))
        try:
            nodes.add(plane.client, *NODES)
            install_foreign(plane)
            sluice.install()
            sluice.start()
            sluice.register()
            prepare(plane.client)
            for document in manifests("003"):
                if document["kind"] != "Job":
                    plane.client.apply(document)
            print(f"export KUBECONFIG={plane.kubeconfig}")
            print(f"# the API server is at {plane.url}; Sluice serves {POLICIES.name}/ at {sluice.url},")
            print(f"# health and metrics at http://127.0.0.1:{sluice.state_port}/metrics; logs in {plane.logs}")
            print("# namespaces team-a, team-b, ai-team and default are managed; try: ", end="")
            print("kubectl create -f tests/seeds/003-kueue-two-teams.yaml; Ctrl-C ends it", flush=True)
            signal.pause()
        except KeyboardInterrupt:
            pass
        finally:
            sluice.stop()
            plane.stop()
    return 0
