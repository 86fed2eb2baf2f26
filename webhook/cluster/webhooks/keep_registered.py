"""What is registered, beside what the policies in force need: read, compared, and brought up to date by the leader.

Only what the policies say is written: which entries there are, with their rules, conditions and paths. Whom they are
for, and where the server is, stays as `sluice register` or a person wrote it; what is never matched, never is.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.cluster.repeater import waited
from webhook.cluster.webhooks.configurations import (
    CONFIGURATIONS,
    KEPT_BY_LEADER,
    LEASES,
    REVIEWS,
    SYSTEM,
    WANTED,
    conditions_of,
    excluding,
    existing,
)
from webhook.cluster.webhooks.required_webhooks import Hook
from webhook.kube.gvk import GroupVersionKind, gvk_of
from webhook.store.errors import Conflict, NotFound, StoreError
from webhook.store.objects import Object, ObjectStore

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 5.0
"""Seconds between two looks at what is registered."""
_PATH: Final = re.compile(r"/(mutate|validate)(/(fail|ignore))?$")


def hooks_of(configuration: Object) -> list[Hook]:
    """Return the entries of a configuration as what they are made from."""
    mutating = dict(CONFIGURATIONS)[gvk_of(configuration)]
    return [_hook(entry, mutating) for entry in configuration.get("webhooks") or ()]


async def registered(store: ObjectStore, name: str) -> list[Hook]:
    """Return what is registered under a name, nothing where nothing is. Raises StoreError."""
    return [hook for configuration in await existing(store, name) for hook in hooks_of(configuration)]


def _hook(entry: Mapping[str, Any], mutating: bool) -> Hook:
    conditions = {row["name"]: row["expression"] for row in entry.get("matchConditions") or ()}
    client = entry["clientConfig"]
    found = _PATH.search(client["url"] if "url" in client else client["service"].get("path") or "")
    return Hook(
        mutating,
        entry["failurePolicy"],
        found[0].lstrip("/") if found else "mutate" if mutating else "validate",
        tuple(entry.get("rules") or ()),
        conditions.get(WANTED, ""),
        entry.get("reinvocationPolicy", ""),
    )


def adapted(configuration: Object, hooks: Sequence[Hook], namespace: str) -> Object:
    """Return a configuration whose entries are those of `hooks`, marked as the leader's.

    `namespace` is our own, and is never matched. An entry that is new is as one of those that are there.
    Raises ValueError where there is none.
    """
    mutating = dict(CONFIGURATIONS)[gvk_of(configuration)]
    there = {entry["name"]: entry for entry in configuration.get("webhooks") or ()}
    if not there:
        raise ValueError("no webhook in it has a clientConfig; run `sluice register`")
    first = next(iter(there.values()))
    entries = [_adapted(there.get(hook.name, first), hook, namespace) for hook in hooks if hook.mutating is mutating]
    metadata = configuration["metadata"]
    marked = {**metadata, "annotations": {**(metadata.get("annotations") or {}), KEPT_BY_LEADER: "true"}}
    return {**configuration, "metadata": marked, "webhooks": entries}


def _adapted(entry: Mapping[str, Any], hook: Hook, namespace: str) -> dict[str, Any]:
    others = [row for row in entry.get("matchConditions") or () if row["name"] not in (LEASES, REVIEWS, WANTED)]
    made = {
        **entry,
        "name": hook.name,
        "failurePolicy": hook.failure,
        "clientConfig": _at(entry["clientConfig"], hook.path),
        "namespaceSelector": excluding(entry.get("namespaceSelector") or {}, (*SYSTEM, namespace)),
        "rules": [dict(rule) for rule in hook.rules],
        "matchConditions": [*conditions_of(hook), *others],
    }
    if hook.mutating:
        made["reinvocationPolicy"] = hook.reinvocation or "Never"
    return {field: value for field, value in made.items() if value or field not in ("rules", "matchConditions")}


def _at(client: Mapping[str, Any], path: str) -> dict[str, Any]:
    if "url" in client:
        return {**client, "url": f"{_PATH.sub('', client['url'])}/{path}"}
    return {**client, "service": {**client["service"], "path": f"/{path}"}}


@dataclass(frozen=True, slots=True)
class Release:
    """Whose configurations they are, by the name of the release, and the namespace that it is in."""

    name: str
    namespace: str


class Registered:
    """Looks at what is registered. `differs` and `detail` say whether that is what the policies in force need."""

    def __init__(
        self,
        store: ObjectStore,
        release: Release,
        needed: Callable[[], Sequence[Hook]],
        may_write: Callable[[], bool] | None,
    ) -> None:
        """Nothing is looked at yet. `may_write` says whether this replica is the one that writes; None: none does."""
        self._store, self._release, self._needed, self._may_write = store, release, needed, may_write
        self._news = asyncio.Event()
        self.differs = False
        self.detail = ""

    def reloaded(self) -> None:
        """Take note that other policies are in force: it is looked at once."""
        self._news.set()

    async def follow(self) -> None:
        """Look for ever."""
        while True:
            try:
                await self.look()
            except StoreError as error:
                self.detail = str(error)
            await waited(self._news, LOOK_SECONDS)
            self._news.clear()

    async def look(self) -> None:
        """Compare, and write what differs where that is this replica's part; what is refused differs still.

        Raises StoreError where one cannot be read.
        """
        hooks, other, lacking, why = self._needed(), list[str](), list[str](), list[str]()
        for gvk, _ in CONFIGURATIONS:
            try:
                found = await self._store.get(gvk, self._release.name)
            except NotFound:
                lacking.append(gvk.kind)
                continue
            try:
                wanted = adapted(found, hooks, self._release.namespace)
                if wanted == found or await self._written(wanted, gvk):
                    continue
                if wanted["webhooks"] == found.get("webhooks"):
                    continue  # it lacks the leader's mark only
            except (StoreError, ValueError) as error:
                why.append(f"{gvk.kind}: {error}")
            other.append(gvk.kind)
        self.differs = bool(other or lacking)
        self.detail = "; ".join(filter(None, (_lacking(lacking), _other(other), *why)))

    async def _written(self, wanted: Object, gvk: GroupVersionKind) -> bool:
        if self._may_write is None or not self._may_write():
            return False
        try:
            await self._store.update(wanted)
        except Conflict:
            self._news.set()  # somebody else wrote it meanwhile: look again
            return False
        log.info("%s %s is brought up to date with the policies in force", gvk.kind, self._release.name)
        return True


def _lacking(kinds: Sequence[str]) -> str:
    return f"not registered: no {' and no '.join(kinds)}; run `sluice register`" if kinds else ""


def _other(kinds: Sequence[str]) -> str:
    return f"{' and '.join(kinds)} registered for other policies than those in force" if kinds else ""
