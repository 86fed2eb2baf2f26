"""The objects that `sluice plan --live` decides from, read from an API server. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from webhook.api.crds.kinds import KINDS
from webhook.cli.live.connection import with_store
from webhook.cli.live.session import listed
from webhook.cluster.api.kinds import LABELS, MANAGED
from webhook.cluster.api.live_store import LiveStore
from webhook.kube.gvk import GroupVersionKind
from webhook.store.objects import ALL

AROUND: Final = (
    GroupVersionKind("", "v1", "Namespace"),
    GroupVersionKind("", "v1", "LimitRange"),
    GroupVersionKind("scheduling.k8s.io", "v1", "PriorityClass"),
    GroupVersionKind("node.k8s.io", "v1", "RuntimeClass"),
)


def objects(kubeconfig: Path | None, context: str | None) -> list[dict[str, Any]]:
    """Read every object that counts; kinds that the cluster does not serve are left out.

    Raises ValueError where no cluster can be reached, StoreError where it refuses to answer.
    """
    return with_store(_read, kubeconfig, context)


async def _read(store: LiveStore) -> list[dict[str, Any]]:
    return [obj for gvk in _kinds() for obj in await listed(store, gvk, labels=LABELS.get((gvk.group, gvk.kind), ALL))]


def _kinds() -> Iterator[GroupVersionKind]:
    for kind in KINDS:
        yield GroupVersionKind(kind.group, kind.versions[0].name, kind.kind)
    yield from AROUND
    yield from MANAGED
