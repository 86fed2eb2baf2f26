"""The front proxy of the API server: who may forward user requests to an aggregated API.

Source: the ConfigMap extension-apiserver-authentication in kube-system (aggregation layer of Kubernetes).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import orjson

from webhook.kube.gvk import GroupVersionKind
from webhook.store.errors import StoreError
from webhook.store.objects import ObjectStore

log = logging.getLogger(__name__)

CONFIG_MAP: Final = GroupVersionKind("", "v1", "ConfigMap")
NAME: Final = "extension-apiserver-authentication"
NAMESPACE: Final = "kube-system"
LOOK_SECONDS: Final = 60.0
"""Seconds between two looks. Whoever rotates the CA lets both be trusted for far longer."""


@dataclass(frozen=True, slots=True)
class FrontProxy:
    """The CA bundle (PEM) for its client certificate, and the allowed common names; empty allows any."""

    authorities: str
    names: frozenset[str]


async def read(store: ObjectStore) -> FrontProxy:
    """Read the front proxy's configuration. Raises StoreError, and ValueError if there is no request header CA."""
    data = (await store.get(CONFIG_MAP, NAME, NAMESPACE)).get("data") or {}
    authorities = str(data.get("requestheader-client-ca-file") or "")
    if not authorities:
        raise ValueError(f"ConfigMap {NAMESPACE}/{NAME} names no request header CA: the API server does not aggregate")
    names = orjson.loads(data.get("requestheader-allowed-names") or "[]")
    return FrontProxy(authorities, frozenset(str(name) for name in names))


async def follow(store: ObjectStore, known: FrontProxy, use: Callable[[FrontProxy], None]) -> None:
    """Look for ever, and hand over a configuration that differs from the last one; what cannot be used is logged."""
    problem = ""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            now = await read(store)
            if now != known:
                use(now)
                known = now
                log.info("the front proxy has another CA, or other names")
            problem = ""
        except (OSError, StoreError, ValueError) as error:
            if str(error) != problem:
                problem = str(error)
                log.error("the front proxy's configuration cannot be used; the last one stays: %s", error)
