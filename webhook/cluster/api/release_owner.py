"""Who owns what a release makes for itself, its lease and its Secret: its ServiceAccount, so that both go with it.

A chart's uninstall deletes what the chart rendered. What the processes made is left to the garbage collector, which
also takes away what a replica writes anew on its way down.
"""

from __future__ import annotations

from typing import Final

from webhook.kube.gvk import GroupVersionKind
from webhook.store.errors import StoreError
from webhook.store.objects import Object, ObjectStore, uid_of

SERVICE_ACCOUNT: Final = GroupVersionKind("", "v1", "ServiceAccount")


async def owners_of(store: ObjectStore, namespace: str, release: str) -> tuple[Object, ...]:
    """Give the `ownerReferences`; none where there is no such account, or it may not be read."""
    try:
        found = await store.get(SERVICE_ACCOUNT, release, namespace)
    except StoreError:
        return ()
    gvk = SERVICE_ACCOUNT
    return ({"apiVersion": gvk.api_version, "kind": gvk.kind, "name": release, "uid": uid_of(found)},)


def owned(metadata: Object, owners: tuple[Object, ...]) -> Object:
    """Give an object's metadata with these owners, where it has none."""
    if not owners or metadata.get("ownerReferences"):
        return metadata
    return {**metadata, "ownerReferences": list(owners)}
