"""Our CRDs in a cluster: brought to this version, and their objects stored in the version that is current."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.api.crds.kinds import KINDS, CustomKind
from webhook.cluster.webhooks.registration import CRD, OURS, PART_OF
from webhook.kube.gvk import GroupVersionKind
from webhook.store.errors import Conflict, NotFound, Refused
from webhook.store.objects import Object, ObjectStore, key_of

MANAGER: Final = "sluice-crds"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done to one CRD, as a sentence; `failed` where it has to be done again."""

    name: str
    told: str
    failed: bool = False


async def apply(store: ObjectStore, definitions: Sequence[Object]) -> list[Outcome]:
    """Apply CRDs; one that is not Sluice's is left alone. What they say of trust stays as it is. Raises StoreError."""
    done = []
    for definition in definitions:
        name = definition["metadata"]["name"]
        try:
            if not _ours(await store.get(CRD, name)):
                done.append(Outcome(name, "left as it is: it belongs to another installation"))
                continue
        except NotFound:
            pass
        await store.apply(definition, MANAGER)
        done.append(Outcome(name, "applied"))
    return done


async def migrate(store: ObjectStore) -> list[Outcome]:
    """Store every object of ours in the version that is current, then say so in the CRD. Raises StoreError.

    An API server converts what it reads and stores the current version when it is written. Until then an older version
    cannot leave the CRD (Kubernetes: "Versions in CustomResourceDefinitions", "Upgrade existing objects").
    """
    done = []
    for kind in KINDS:
        try:
            definition = await store.get(CRD, kind.name)
        except NotFound:
            continue
        current = kind.versions[0].name
        stored = (definition.get("status") or {}).get("storedVersions") or [current]
        if stored != [current] and _ours(definition) and current in _stored(definition):
            done.append(await _rewrite(store, kind, current))
    return done


async def _rewrite(store: ObjectStore, kind: CustomKind, current: str) -> Outcome:
    gvk = GroupVersionKind(kind.group, current, kind.kind)
    refused, items = [], (await store.list(gvk)).items
    for obj in items:
        try:
            await store.update({**obj, "apiVersion": gvk.api_version, "kind": gvk.kind})
        except (Conflict, NotFound):
            continue  # written, or deleted, by somebody else meanwhile
        except Refused as error:
            refused.append(f"{'/'.join(part for part in key_of(obj) if part)}: {error}")
    if refused:
        return Outcome(kind.name, f"{len(refused)} of {len(items)} objects cannot be stored: {refused[0]}", failed=True)
    await store.patch(CRD, kind.name, None, {"status": {"storedVersions": [current]}}, subresource="status")
    return Outcome(kind.name, f"{len(items)} objects stored as {current}")


def _ours(definition: Object) -> bool:
    return (definition["metadata"].get("labels") or {}).get(PART_OF) == OURS


def _stored(definition: dict[str, Any]) -> Iterator[str]:
    """Give the version that the API server stores; one, but for a definition that it would refuse."""
    return (version["name"] for version in definition["spec"]["versions"] if version["storage"])
