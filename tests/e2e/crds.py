"""Minimal CRDs of the kinds that other projects own: any spec, any status, so that the API server takes the objects."""

from typing import Any

from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane

FOREIGN = (
    ("kubeflow.org", "v1", "PyTorchJob"),
    ("kubeflow.org", "v1", "TFJob"),
    ("kubeflow.org", "v1", "XGBoostJob"),
    ("kubeflow.org", "v1", "PaddleJob"),
    ("kubeflow.org", "v1", "JAXJob"),
    ("kubeflow.org", "v1", "Notebook"),
    ("kubeflow.org", "v2beta1", "MPIJob"),
    ("kubeflow.org", "v1beta1", "Pipeline"),
    ("trainer.kubeflow.org", "v1alpha1", "TrainJob"),
    ("ray.io", "v1", "RayJob"),
    ("ray.io", "v1", "RayCluster"),
    ("ray.io", "v1", "RayService"),
    ("jobset.x-k8s.io", "v1alpha2", "JobSet"),
    ("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet"),
    ("workload.codeflare.dev", "v1beta2", "AppWrapper"),
    ("sparkoperator.k8s.io", "v1beta2", "SparkApplication"),
    ("batch.volcano.sh", "v1alpha1", "Job"),
    ("scheduling.volcano.sh", "v1beta1", "Queue"),
    ("scheduling.volcano.sh", "v1beta1", "PodGroup"),
    ("monitoring.coreos.com", "v1", "ServiceMonitor"),
)
_CLUSTER_SCOPED = {("scheduling.volcano.sh", "Queue")}


def crd(group: str, version: str, kind: str) -> dict[str, Any]:
    """A CRD of one version that keeps whatever it is given, with a status subresource."""
    plural = f"{kind.lower()}s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        # the groups under k8s.io and x-k8s.io are protected: an approval is asked for
        "metadata": {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
        "spec": {
            "group": group,
            "scope": "Cluster" if (group, kind) in _CLUSTER_SCOPED else "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": anything},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


def install(plane: ControlPlane, *definitions: dict[str, Any]) -> None:
    """Apply CRDs and wait until the API server serves them."""
    client = plane.client
    for definition in definitions:
        client.apply(definition)
    names = [d["metadata"]["name"] for d in definitions]

    def served() -> bool:
        found = {c["metadata"]["name"]: c for c in client.items(_CRDS)}
        if not all(_established(found[name]) for name in names) or not all(_listed(plane, d) for d in definitions):
            return False
        return all(_discovered(client, d) for d in definitions)

    plane.wait("the CRDs are served", served)


def install_foreign(plane: ControlPlane) -> None:
    """Apply the CRDs of all `FOREIGN` kinds."""
    install(plane, *(crd(*kind) for kind in FOREIGN))


_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def _established(definition: dict[str, Any]) -> bool:
    conditions = definition.get("status", {}).get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def _stored(definition: dict[str, Any]) -> str:
    """The group and version that objects are stored in, as in `apiVersion`."""
    spec = definition["spec"]
    return f"{spec['group']}/{next(v['name'] for v in spec['versions'] if v['storage'])}"


def _discovered(client: Client, definition: dict[str, Any]) -> bool:
    """Whether discovery has its kind: that follows after the first list is answered."""
    try:
        client.path(_stored(definition), definition["spec"]["names"]["kind"])
    except KeyError:
        return False
    return True


def _listed(plane: ControlPlane, definition: dict[str, Any]) -> bool:
    path = f"/apis/{_stored(definition)}/{definition['spec']['names']['plural']}"
    return plane.client.request("GET", path).status == 200
