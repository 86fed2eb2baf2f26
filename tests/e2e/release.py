"""The chart as a release: what Helm does with it on a control plane whose pods a `Node` runs."""

from tests.chart.helm import template
from tests.e2e.node import NAMESPACE, Node
from tests.patience import wait
from tests.shared import ROOT
from webhook.documents import read

CHART = ROOT / "charts" / "sluice"
HOOK = "helm.sh/hook"
VALUES = ("--set=service.port=18443",)
"""A port that needs no root; the rest are the defaults, two replicas among them."""


class Release:
    """What `helm install`, `upgrade` and `uninstall` do with a rendered chart."""

    def __init__(self, node: Node) -> None:
        self.node, self.client = node, node.client
        self.objects: list[dict] = []
        self.values = VALUES

    def install(self, *values: str) -> None:
        """CRDs once; hooks before, objects, hooks after. The objects that are no longer rendered are deleted."""
        before, self.objects = self.objects, self._render(*values)
        word = "upgrade" if before else "install"
        if not before:
            self.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
            for path in sorted((CHART / "crds").glob("*.yaml")):
                (definition,) = read(path.read_text(), str(path))
                self.client.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition.value)
        self._hooks(f"pre-{word}")
        for obj in self.objects:
            if HOOK not in (obj["metadata"].get("annotations") or {}):
                self.client.apply(obj, "helm")
        wait(self._rolled_out, "the Deployment has rolled out")
        if not before:
            self.node.serve(next(obj for obj in self.objects if obj["kind"] == "Service"))
        self._hooks(f"post-{word}")

    def uninstall(self) -> None:
        """Hooks, then every object; CRDs stay."""
        self._hooks("pre-delete")
        for obj in reversed(self.objects):
            self.client.delete(self.client.path_of(obj))
        wait(lambda: not self._settled_pods(), "the pods are gone")

    def _settled_pods(self) -> bool:
        self.node.settle()
        return bool(self.node.pods)

    def _rolled_out(self) -> bool:
        (deployment,) = [obj for obj in self.objects if obj["kind"] == "Deployment"]
        found = self.client.get(self.client.path_of(deployment))
        status, wanted = found.get("status") or {}, found["spec"]["replicas"]
        seen = status.get("observedGeneration") == found["metadata"]["generation"]
        self.node.settle()  # after the status was read: what that counts is here, or comes with it
        return seen and status.get("updatedReplicas") == status.get("replicas") == wanted == len(self.node.pods)

    def _hooks(self, event: str) -> None:
        found = [o for o in self.objects if event in (o["metadata"].get("annotations") or {}).get(HOOK, "").split(",")]
        weight = "helm.sh/hook-weight"
        for obj in sorted(found, key=lambda o: (int(o["metadata"]["annotations"].get(weight, 0)), o["kind"] == "Job")):
            if obj["kind"] == "Job":
                self.client.create(obj, dry_run=True)
                self.node.run_job(obj)
            else:
                self.client.apply(obj, "helm")

    def _render(self, *values: str) -> list[dict]:
        rendered = [d.value for d in read(template(CHART, *self.values, *values), "chart") if d.value]
        for obj in rendered:
            if "/namespaces/" in self.client.path_of(obj, collection=True):
                obj["metadata"].setdefault("namespace", NAMESPACE)
        return rendered
