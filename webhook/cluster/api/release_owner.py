"""Owner references of what the processes of a release create, its lease and Secret: its ServiceAccount owns them.

Uninstalling a chart deletes what the chart rendered. Objects created by the processes are left to the garbage
collector, which also deletes what a replica creates while it shuts down.
"""

from __future__ import annotations

from typing import Final

from webhook.kube.gvk import GroupVersionKind
from webhook.store.errors import StoreError
from webhook.store.objects import Object, ObjectStore, uid_of

SERVICE_ACCOUNT: Final = GroupVersionKind("", "v1", "ServiceAccount")


async def owners_of(store: ObjectStore, namespace: str, release: str) -> tuple[Object, ...]:
    """Return the `ownerReferences`; none if the ServiceAccount does not exist or cannot be read."""
    try:
        account = await store.get(SERVICE_ACCOUNT, release, namespace)
    except StoreError:
        return ()
    gvk = SERVICE_ACCOUNT
    return ({"apiVersion": gvk.api_version, "kind": gvk.kind, "name": release, "uid": uid_of(account)},)


def owned(metadata: Object, owners: tuple[Object, ...]) -> Object:
    """Return an object's metadata with these owners, unless it already has owners."""
    if not owners or metadata.get("ownerReferences"):
        return metadata
    return {**metadata, "ownerReferences": list(owners)}
