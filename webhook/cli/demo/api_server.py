"""What an API server does with a create, for `sluice run`: defaults, the two webhook calls over HTTPS, the store.

It validates nothing itself. The admission endpoint sees the same AdmissionReviews that a cluster would send.
"""

from __future__ import annotations

import base64
import copy
import ssl
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson

from webhook.api.scopes import Scopes
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.webhooks.configurations import SYSTEM
from webhook.jobs.kinds import kind_of
from webhook.kube import json_patch
from webhook.kube.absent import ABSENT
from webhook.kube.gvk import gvk_of
from webhook.kube.typed.defaulted import defaulted
from webhook.store.errors import StoreError
from webhook.store.objects import Object, ObjectStore

USER: Final = {"username": "alice@example.com", "groups": ["ml-engineers", "system:authenticated"]}


@dataclass(frozen=True, slots=True)
class CreateOutcome:
    """What became of one create: `steps` is the patch as it came over the wire, `obj` what was stored or denied.

    `stored` is False for what was denied, and for what was allowed and could not be stored.
    """

    obj: Object
    allowed: bool
    stored: bool
    message: str
    steps: tuple[dict[str, Any], ...]
    warnings: tuple[str, ...]


class Front:
    """Creates objects through the admission endpoint at `url`, and keeps what is allowed in `store`."""

    def __init__(
        self,
        store: ObjectStore,
        session: aiohttp.ClientSession,
        url: str,
        now: Callable[[], datetime],
    ) -> None:
        self._store, self._session, self._url, self._now = store, session, url, now

    async def create(self, obj: Object, namespace: str = "default") -> CreateOutcome:
        """Create `obj`; where it names no namespace it goes to `namespace`. The system's namespaces are not reviewed.

        What cannot be stored (a name that is taken, no name at all) is an outcome too. Raises aiohttp.ClientError where
        the endpoint is away or answers no review.
        """
        obj = self._received(obj, namespace)
        steps: list[dict[str, Any]] = []
        warnings: list[str] = []
        reviewed = obj["metadata"].get("namespace") not in SYSTEM
        for path in ("mutate", "validate") if reviewed else ():
            answer = await self._review(path, obj)
            warnings += answer.get("warnings", [])
            if not answer["allowed"]:
                return CreateOutcome(obj, False, False, answer["status"]["message"], tuple(steps), tuple(warnings))
            wire = orjson.loads(base64.b64decode(answer.get("patch", "W10=")))
            obj = json_patch.apply(obj, [_operation(step) for step in wire])
            steps += wire
        try:
            stored, message = await self._store.create(await self._converted(obj)), ""
        except (StoreError, ValueError) as error:
            stored, message = obj, str(error)
        return CreateOutcome(stored, True, not message, message, tuple(steps), tuple(warnings))

    def _received(self, obj: Object, namespace: str) -> Object:
        """Return the object as admission would see it: named, placed, dated and with the defaults of built-in kinds."""
        obj = defaulted(copy.deepcopy(obj))
        metadata = obj["metadata"] = obj.get("metadata") or {}
        if not Scopes().clustered(gvk_of(obj)):
            metadata.setdefault("namespace", namespace)
        if "name" not in metadata and "generateName" in metadata:
            metadata["name"] = metadata["generateName"] + uuid.uuid4().hex[:5]
        metadata["uid"] = str(uuid.uuid4())
        metadata["creationTimestamp"] = f"{self._now():%Y-%m-%dT%H:%M:%SZ}"
        return obj

    async def _converted(self, obj: Object) -> Object:
        """Return a queue object in the version that is stored, by the conversion webhook; others as they are."""
        gvk = gvk_of(obj)
        if gvk.group != WORKLOAD.group or gvk.version == WORKLOAD.version:
            return obj
        wanted = f"{WORKLOAD.group}/{WORKLOAD.version}"
        request = {"uid": str(uuid.uuid4()), "desiredAPIVersion": wanted, "objects": [obj]}
        answer = await self._post("convert", "apiextensions.k8s.io/v1", "ConversionReview", request)
        if answer["result"]["status"] != "Success":
            raise ValueError(answer["result"].get("message", "the conversion failed"))
        converted: Object = answer["convertedObjects"][0]
        return converted

    async def _review(self, path: str, obj: Object) -> dict[str, Any]:
        return await self._post(path, "admission.k8s.io/v1", "AdmissionReview", _request(obj))

    async def _post(self, path: str, version: str, kind: str, request: dict[str, Any]) -> dict[str, Any]:
        body = orjson.dumps({"apiVersion": version, "kind": kind, "request": request})
        headers = {"Content-Type": "application/json"}
        async with self._session.post(f"{self._url}/{path}", data=body, headers=headers) as response:
            if response.status != 200:
                raise aiohttp.ClientError(f"/{path} answers {response.status}: {await response.text()}")
            answer: dict[str, Any] = orjson.loads(await response.read())["response"]
            return answer


@asynccontextmanager
async def front(store: ObjectStore, url: str, authority: Path) -> AsyncIterator[Front]:
    """Return a client for an admission endpoint, whose certificate `authority` (a file) signed."""
    trust = ssl.create_default_context(cafile=str(authority))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
        yield Front(store, session, url, lambda: datetime.now(UTC))


def _request(obj: Object) -> dict[str, Any]:
    gvk, metadata = gvk_of(obj), obj["metadata"]
    kind = {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}
    resource = {"group": gvk.group, "version": gvk.version, "resource": resource_of(gvk.group, gvk.kind)}
    return {
        "uid": str(uuid.uuid4()),
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": metadata.get("name", ""),
        **({"namespace": metadata["namespace"]} if "namespace" in metadata else {}),
        "operation": "CREATE",
        "userInfo": USER,
        "object": obj,
        "oldObject": None,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
    }


def resource_of(group: str, kind: str) -> str:
    """Name the resource of a kind: from the table of job kinds, else its English plural in lower case."""
    if row := kind_of(group, kind):
        return row.resource
    word = kind.lower()
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith("s") else f"{word}s"


def _operation(step: dict[str, Any]) -> json_patch.Operation:
    return json_patch.Operation(step["op"], step["path"], step.get("value", ABSENT), step.get("from", ""))
