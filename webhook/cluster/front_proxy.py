"""Who may proxy requests of users to an aggregated API: what the API server publishes for that.

Source: the ConfigMap extension-apiserver-authentication in kube-system (aggregation layer of Kubernetes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import orjson

from webhook.kube.gvk import GroupVersionKind
from webhook.store.objects import ObjectStore

CONFIG_MAP: Final = GroupVersionKind("", "v1", "ConfigMap")
NAME: Final = "extension-apiserver-authentication"
NAMESPACE: Final = "kube-system"


@dataclass(frozen=True, slots=True)
class FrontProxy:
    """The authorities of its certificate (PEM), and the common names that it may have; none: any."""

    authorities: str
    names: frozenset[str]


async def front_proxy(store: ObjectStore) -> FrontProxy:
    """Read it. Raises StoreError, and ValueError where the API server publishes none."""
    data = (await store.get(CONFIG_MAP, NAME, NAMESPACE)).get("data") or {}
    authorities = str(data.get("requestheader-client-ca-file") or "")
    if not authorities:
        raise ValueError(f"ConfigMap {NAMESPACE}/{NAME} names no request header CA: the API server does not aggregate")
    names = orjson.loads(data.get("requestheader-allowed-names") or "[]")
    return FrontProxy(authorities, frozenset(str(name) for name in names))
