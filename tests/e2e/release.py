"""The chart as a release: what Helm does with it on a control plane whose pods a `Node` runs."""

import subprocess
from pathlib import Path
from typing import Any

from tests.chart.helm import template
from tests.e2e.node import NAMESPACE, Node
from tests.patience import wait
from tests.shared import ROOT
from webhook.documents import read

JSON = dict[str, Any]
CHART = ROOT / "charts" / "sluice"
HOOK, WEIGHT, DELETED = "helm.sh/hook", "helm.sh/hook-weight", "helm.sh/hook-delete-policy"
VALUES = ("--set=service.port=18443", "--set=webhook.timeoutSeconds=30")
"""A port that needs no root, and reviews that may take long on a busy machine; the rest are the defaults."""


class Release:
    """What `helm install`, `upgrade` and `uninstall` do with a rendered chart."""

    def __init__(self, node: Node) -> None:
        self.node, self.client = node, node.client
        self.objects: list[JSON] = []
        self.values, self.chart, self.more = VALUES, CHART, tuple[str, ...]()
        self._past = set[Path]()

    def install(self, *values: str) -> None:
        """CRDs once; hooks before, objects, hooks after. The objects that are no longer rendered are deleted."""
        before, self.objects, self.more = self.objects, self._render(*values), values
        word = "upgrade" if before else "install"
        if not before:
            self.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
            for path in sorted((self.chart / "crds").glob("*.yaml")):
                (definition,) = read(path.read_text(), str(path))
                self.client.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition.value)
        self._hooks(f"pre-{word}")
        rendered = [obj for obj in self.objects if not _hook(obj)]
        for obj in rendered:
            self.client.apply(obj, "helm")
        paths = {self.client.path_of(obj) for obj in rendered}
        for obj in before:
            if not _hook(obj) and self.client.path_of(obj) not in paths:
                self.client.delete(self.client.path_of(obj))
        wait(self._rolled_out, "the replicas have rolled out")
        if not before:
            self.node.serve(next(obj for obj in self.objects if obj["kind"] == "Service"))
        self._hooks(f"post-{word}")

    def uninstall(self) -> None:
        """Hooks, then every object that is none; CRDs stay, and what hooks leave."""
        self._hooks("pre-delete")
        for obj in reversed(self.objects):
            if not _hook(obj):
                self.client.delete(self.client.path_of(obj))
        wait(lambda: not self._settled_pods(), "the pods are gone")
        self._hooks("post-delete")
        self.objects, self._past = [], self._logs()
        self.node.serve_no_more()

    def restore(self) -> None:
        """Install what is uninstalled, and take back what an upgrade has set or left half done."""
        if not self.objects or self.more or self.chart != CHART:
            self.chart = CHART
            self.install()

    def refusals(self) -> list[str]:
        """What the API server refused the pods for want of rights, but for those that an uninstall took them from."""
        logs = self._logs() - self._past
        return [line for path in logs for line in path.read_text().splitlines() if "forbidden: User" in line]

    def _logs(self) -> set[Path]:
        return set(self.node.plane.logs.glob("sluice-*.log"))

    def secret(self) -> JSON:
        """The Secret with the certificates."""
        return self.client.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/sluice-tls")

    def webhooks(self) -> list[JSON]:
        """All entries that are registered."""
        root = "/apis/admissionregistration.k8s.io/v1"
        names = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
        return [hook for name in names for hook in self.client.get(f"{root}/{name}/sluice")["webhooks"]]

    def told_by(self, command: str, arguments: list[str], kubeconfig: Path | None = None) -> str:
        """What a command of the image says of the cluster, or what is wrong."""
        kubeconfig = kubeconfig or self.node.plane.kubeconfig
        call = [*self.node.image.command, command, *arguments, f"--kubeconfig={kubeconfig}"]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else done.stderr

    def may(self, user: str, groups: list[str], asked: JSON) -> bool:
        """What the API server's authorizer says of a user."""
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
        spec = {"user": user, "groups": groups, "resourceAttributes": {k: v for k, v in asked.items() if v}}
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        return bool(self.client.call("POST", path, {**review, "spec": spec})["status"].get("allowed"))

    def _settled_pods(self) -> bool:
        self.node.settle()
        return bool(self.node.pods)

    def _rolled_out(self) -> bool:
        (replicas,) = [obj for obj in self.objects if obj["kind"] in ("Deployment", "StatefulSet")]
        found = self.client.get(self.client.path_of(replicas))
        status, wanted = found.get("status") or {}, found["spec"]["replicas"]
        seen = status.get("observedGeneration") == found["metadata"]["generation"]
        self.node.settle()  # after the status was read: what that counts is here, or comes with it
        counts = [status.get(name) for name in ("updatedReplicas", "replicas", "availableReplicas")]
        return seen and counts == [wanted] * 3 and len(self.node.pods) == wanted

    def _hooks(self, event: str) -> None:
        """Run the hooks of an event in their order; what they say of their deletion is done as Helm does it."""
        found = [obj for obj in self.objects if event in _hook(obj).get(HOOK, "").split(",")]
        found.sort(key=lambda obj: (int(_hook(obj).get(WEIGHT, 0)), obj["kind"] == "Job"))
        for obj in found:
            if "before-hook-creation" in _deleted(obj):
                self.client.request("DELETE", self.client.path_of(obj))
            if obj["kind"] == "Job":
                self.client.create(obj, dry_run=True)
                self.node.run_job(obj)
            else:
                self.client.create(obj)
        for obj in found:
            if "hook-succeeded" in _deleted(obj) and obj["kind"] != "Job":
                self.client.delete(self.client.path_of(obj))

    def _render(self, *values: str) -> list[JSON]:
        rendered = [d.value for d in read(template(self.chart, *self.values, *values), "chart") if d.value]
        for obj in rendered:
            if "/namespaces/" in self.client.path_of(obj, collection=True):
                obj["metadata"].setdefault("namespace", NAMESPACE)
        return rendered


def _hook(obj: JSON) -> dict[str, str]:
    """What an object says of itself as a hook, empty where it is none."""
    annotations = obj["metadata"].get("annotations") or {}
    return annotations if HOOK in annotations else {}


def _deleted(obj: JSON) -> list[str]:
    """When a hook's object is deleted."""
    return _hook(obj).get(DELETED, "before-hook-creation").split(",")
