"""The objects of a live cluster for `sluice dry-run --live`: read once, nothing is written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from webhook.api.crds.kinds import OLD, STORED
from webhook.cli.live.cluster_state import FORBIDDEN
from webhook.cluster.api.kinds import BUILT_IN, QUEUE_KINDS
from webhook.jobs.kinds import KINDS
from webhook.kube.gvk import GroupVersionKind
from webhook.policy.bundle import Bundle
from webhook.store.errors import Refused
from webhook.store.objects import Object, ObjectStore

FACTS: Final = (
    *BUILT_IN,
    *(GroupVersionKind(gvk.group, version, gvk.kind) for gvk in QUEUE_KINDS for version in (STORED, OLD)),
)
"""Kinds that decisions are made from; of two versions the first that is served is read."""
MAY_LACK: Final = frozenset({"AdmissionCheck", "ResourceQuota", "RuntimeClass"})
"""Of these, the kinds that few queues need: a user who may not list them still gets an answer."""


def kinds_of(bundles: Iterable[Bundle]) -> tuple[list[GroupVersionKind], list[GroupVersionKind]]:
    """Return the kinds to try (job kinds that some policy may match) and the kinds that are only known."""
    wanted: list[GroupVersionKind] = []
    known = list(FACTS)
    for policy in (p for bundle in bundles for p in bundle.policies):
        if policy.param_kind is not None:
            known.append(policy.param_kind)
        for row in KINDS:
            about = any(
                {"*", row.group} & rule.groups and {"*", row.resource} & {name for name, _ in rule.resources}
                for rule in policy.match.rules
            )
            if about or policy.expand:
                wanted += [GroupVersionKind(row.group, version, row.kind) for version in row.versions]
    return list(dict.fromkeys(wanted)), list(dict.fromkeys(known))


async def read(store: ObjectStore, kinds: Iterable[GroupVersionKind]) -> list[Object]:
    """List the objects of some kinds; of several versions of a kind the first that is served. Raises StoreError."""
    found: list[Object] = []
    seen: set[tuple[str, str]] = set()
    for gvk in kinds:
        if (gvk.group, gvk.kind) not in seen and await store.scope(gvk) is not None:
            seen.add((gvk.group, gvk.kind))
            try:
                found += (await store.list(gvk)).items
            except Refused as error:
                if error.status != FORBIDDEN or gvk.kind not in MAY_LACK:
                    raise
    return found


def standing_alone(objects: Iterable[Object]) -> list[Object]:
    """Leave out what a controller made: it is evaluated as a part of what made it."""
    return [o for o in objects if not _controlled(o.get("metadata") or {})]


def _controlled(metadata: dict[str, Any]) -> bool:
    return any(ref.get("controller") for ref in metadata.get("ownerReferences") or ())


async def live_objects(store: ObjectStore, bundles: Iterable[Bundle]) -> tuple[list[Object], list[Object]]:
    """Read a cluster: (objects to try, objects that are only known). Raises StoreError."""
    wanted, known = kinds_of(bundles)
    return standing_alone(await read(store, wanted)), await read(store, known)
