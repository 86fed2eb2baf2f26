"""The front proxy of the API server: who may forward user requests to an aggregated API.

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
    """The CA bundle (PEM) for its client certificate, and the allowed common names; empty allows any."""

    authorities: str
    names: frozenset[str]


async def front_proxy(store: ObjectStore) -> FrontProxy:
    """Read the front proxy's configuration. Raises StoreError, and ValueError if there is no request header CA."""
    data = (await store.get(CONFIG_MAP, NAME, NAMESPACE)).get("data") or {}
    authorities = str(data.get("requestheader-client-ca-file") or "")
    if not authorities:
        raise ValueError(f"ConfigMap {NAMESPACE}/{NAME} names no request header CA: the API server does not aggregate")
    names = orjson.loads(data.get("requestheader-allowed-names") or "[]")
    return FrontProxy(authorities, frozenset(str(name) for name in names))
