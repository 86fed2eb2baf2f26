"""The objects of a live Kueue that `sluice import kueue` reads. Nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from webhook.api.crds.kinds import KINDS
from webhook.cli.live.connection import with_store
from webhook.cli.live.session import listed
from webhook.cluster.api.kinds import LIMIT_RANGE, PRIORITY_CLASS, RUNTIME_CLASS
from webhook.cluster.api.live_store import LiveStore
from webhook.documents import Document
from webhook.kube.gvk import NAMESPACE, GroupVersionKind

CONFIG_MAP: Final = GroupVersionKind("", "v1", "ConfigMap")
OF_KUEUE: Final = {"app.kubernetes.io/name": "kueue"}
"""The label of everything that Kueue's manifests and chart install."""
PLACE: Final = "the cluster"


def documents(kubeconfig: Path | None, context: str | None) -> list[Document]:
    """Read queues, flavors, checks, classes, Namespaces, LimitRanges and Kueue's ConfigMap; Workloads are left out.

    Raises ValueError where no cluster can be reached, StoreError where it refuses to answer.
    """
    return with_store(_read, kubeconfig, context)


async def _read(store: LiveStore) -> list[Document]:
    ours = [GroupVersionKind(k.group, k.versions[0].name, k.kind) for k in KINDS if k.kind != "Workload"]
    around = (NAMESPACE, LIMIT_RANGE, PRIORITY_CLASS, RUNTIME_CLASS)
    found = [obj for gvk in (*ours, *around) for obj in await listed(store, gvk)]
    found += await listed(store, CONFIG_MAP, labels=OF_KUEUE)
    return [Document(obj, PLACE) for obj in found]
