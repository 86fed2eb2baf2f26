"""Whom the API server trusts at our webhooks and at `/convert`: kept equal to the bundle of our own authorities."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from webhook.api.crds.kinds import KINDS
from webhook.cluster.webhooks.configurations import CRD, MUTATING, OURS, PART_OF, VALIDATING
from webhook.kube.gvk import gvk_of
from webhook.store.errors import NotFound
from webhook.store.objects import Object, ObjectStore


@dataclass(frozen=True, slots=True)
class Trusting:
    """The objects that say whom to trust, as they were read. Read them before the bundle, and write them after:
    an older bundle then never takes the place of a newer one, for the object has changed meanwhile."""

    configurations: tuple[Object, ...]
    definitions: tuple[Object, ...]

    @property
    def known(self) -> bytes:
        """Return the bundle that our webhooks are called with now; empty where none is registered."""
        hooks = (hook for obj in self.configurations for hook in obj.get("webhooks") or ())
        texts = (hook["clientConfig"].get("caBundle") for hook in hooks)
        return base64.b64decode(next((text for text in texts if text), ""))

    async def learn(self, store: ObjectStore, bundle: bytes) -> bool:
        """Write the bundle where it is not; say whether it stood everywhere. Raises StoreError, as Conflict."""
        text = base64.b64encode(bundle).decode()
        known = True
        for obj in self.configurations:
            hooks: list[dict[str, Any]] = obj.get("webhooks") or []
            if any(hook["clientConfig"].get("caBundle") != text for hook in hooks):
                changed = [{**hook, "clientConfig": {**hook["clientConfig"], "caBundle": text}} for hook in hooks]
                await store.update({**obj, "webhooks": changed})
                known = False
        for obj in self.definitions:
            if obj["spec"]["conversion"]["webhook"]["clientConfig"].get("caBundle") != text:
                conversion = {"webhook": {"clientConfig": {"caBundle": text}}}
                version = obj["metadata"]["resourceVersion"]
                patch = {"metadata": {"resourceVersion": version}, "spec": {"conversion": conversion}}
                await store.patch(CRD, obj["metadata"]["name"], None, patch)
                known = False
        return known


async def trusting(store: ObjectStore, release: str) -> Trusting:
    """Read the webhook configurations of this release, and the CRDs that are ours to convert. Raises StoreError."""
    wanted = [(MUTATING, release), (VALIDATING, release)]
    wanted += [(CRD, kind.name) for kind in KINDS if len(kind.versions) > 1]
    found = []
    for gvk, name in wanted:
        try:
            found.append(await store.get(gvk, name))
        except NotFound:
            continue
    definitions = tuple(obj for obj in found if gvk_of(obj) == CRD and _converted_here(obj, release))
    return Trusting(tuple(obj for obj in found if gvk_of(obj) != CRD), definitions)


def _converted_here(definition: Object, release: str) -> bool:
    """Return whether a CRD is ours, not a Kueue's, and is converted by this release."""
    conversion = definition["spec"].get("conversion") or {}
    service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service") or {}
    ours = (definition["metadata"].get("labels") or {}).get(PART_OF) == OURS
    return ours and conversion.get("strategy") == "Webhook" and service.get("name", release) == release
