"""CRDs as a Kueue brings them: they convert at its Service, and demand more than Sluice's do."""

import os
from pathlib import Path
from typing import Any

from webhook import documents
from webhook.api.crds.definitions import Webhook, definitions

CONVERTED = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
"""The kinds that a Kueue converts; it serves the others in versions that are equal."""
_LABELS = {"app.kubernetes.io/name": "kueue", "control-plane": "controller-manager"}
_SERVICE = Webhook(service="kueue-webhook-service", namespace="kueue-system")


def crds_of_kueue(stored: str = "v1beta2") -> list[dict[str, Any]]:
    """Give the CRDs of a Kueue that stores objects in this version.

    The schemas are Kueue's own where `KUEUE` names an unpacked copy of it; else Sluice's, with the field that Kueue
    requires and Sluice does not.
    """
    ours = {crd["metadata"]["name"]: crd for crd in definitions(_SERVICE)}
    found = _own(Path(os.environ["KUEUE"])) if os.environ.get("KUEUE") else list(ours.values())
    for crd in found:
        crd["metadata"]["labels"] = dict(_LABELS)
        for version in crd["spec"]["versions"]:
            version["storage"] = version["name"] == stored
            _require_share(version["schema"]["openAPIV3Schema"])
        converts = crd["spec"]["names"]["plural"] in CONVERTED
        crd["spec"]["conversion"] = (
            ours[crd["metadata"]["name"]]["spec"]["conversion"] if converts else {"strategy": "None"}
        )
    return found


def _own(source: Path) -> list[dict[str, Any]]:
    kinds = {crd["metadata"]["name"] for crd in definitions(None)}
    files = sorted((source / "config" / "components" / "crd" / "bases").glob("*.yaml"))
    read = [document.value for file in files for document in documents.read(file.read_text(), file.name)]
    return [crd for crd in read if crd["metadata"]["name"] in kinds]


def _require_share(schema: dict[str, Any]) -> None:
    share = schema["properties"].get("status", {}).get("properties", {}).get("fairSharing")
    if share is not None:
        share["required"] = ["weightedShare"]
