"""The Secret that holds the certificates which Sluice makes for itself: read by every replica, rotated by whoever sees
first that it is time.

Its resourceVersion is the lock: of two replicas that do the same step, one gets a conflict and looks again. Files are
written to a folder in memory, which `ServingCertificate` serves from.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol

from webhook.certificates.rotation import Held, Step, authorities, due, mark
from webhook.cluster.api.release_owner import owned
from webhook.cluster.clocks import Clocks
from webhook.cluster.webhooks.ca_bundle import trusting
from webhook.kube.gvk import POD, GroupVersionKind
from webhook.store.errors import AlreadyExists, Conflict, NotFound, StoreError
from webhook.store.objects import Object, ObjectStore
from webhook.tls.folder import Folder, write
from webhook.tls.serving_certificate import ServingCertificate, trust
from webhook.tls.validity import is_for

log = logging.getLogger(__name__)

SECRET: Final = GroupVersionKind("", "v1", "Secret")
ROTATE: Final = "sluice.dev/rotate"
"""Annotation of the Secret: any value asks for a new authority now."""
SIGNED_BY: Final = "sluice.dev/signed-by"
SERVED_BY: Final = "served-by.sluice.dev/"
"""Prefix of the annotations by which replicas tell which leaf they serve."""
LOOK_SECONDS: Final = 5.0
REPAIR: Final = "delete it, and Sluice makes another"
OTHER_RELEASE: Final = (
    f"if another release uses it, set tls.secret (--certificate-secret) to another name, else {REPAIR}"
)
"""Two releases cannot share it: each waits for its own webhooks and replicas alone before an authority goes."""
NO_KEY: Final = (
    "has no ca.key of its ca.crt that a certificate can be signed by: it was made elsewhere. Renew it there, "
    "or Sluice replaces CA and certificate in the last 30 days"
)
SETTLE_SECONDS: Final = 10.0
"""Seconds in which API servers are expected to have seen a change of what they are to trust."""


class Issuer(Protocol):
    """What signs: the module `webhook.certificates.issuing`, which takes 9 MiB and is imported where it is needed."""

    def first(self, names: tuple[str, ...], now: datetime, known: bytes) -> Held:
        """Make an authority and a leaf."""

    def take(self, step: Step, held: Held, names: tuple[str, ...], now: datetime) -> Held:
        """Do one step."""

    def signs(self, held: Held, names: tuple[str, ...], now: datetime) -> bool:
        """Return whether a leaf can be signed by what is held."""


@dataclass(frozen=True, slots=True)
class SecretPlace:
    """Where the Secret is, and for whom: `release` names the Service and the webhook configurations.

    It is deleted with its `owners`.
    """

    namespace: str
    name: str
    release: str
    identity: str
    owners: tuple[Object, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the DNS names that an API server calls the Service by."""
        return tuple(f"{self.release}.{self.namespace}{end}" for end in (".svc", ".svc.cluster.local", ""))

    @property
    def told(self) -> str:
        """Return the annotation by which this replica tells what it serves."""
        return _annotation(self.identity)


class CertificateSecret:
    """One replica's part: `start` once, before anything is served; then `follow`."""

    def __init__(
        self,
        store: ObjectStore,
        place: SecretPlace,
        folder: Folder,
        issuer: Callable[[], Issuer],
        clocks: Clocks,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._store, self._place, self._folder, self._issuer = store, place, folder, issuer
        self._clocks, self._sleep = clocks, sleep
        self._found: Held | None = None
        """What stood in the Secret when it was last checked."""
        self._held: Held | None = None
        """What that was taken for."""
        self.detail = ""
        """What is wrong with the Secret, or will be: a sentence for `/readyz?verbose`."""
        self._known: tuple[bytes, float] | None = None
        """The bundle that API servers were seen to trust, and since when."""

    async def start(self) -> None:
        """Put the certificates into the folder; make them where nobody has. Waits for the API server, and for space."""
        while True:
            try:
                self._folder.path.mkdir(parents=True, exist_ok=True)
                _, held = await self._read()
                _write(held, self._folder)
            except (OSError, StoreError) as error:
                what = "written to a folder" if isinstance(error, OSError) else "read"
                self.detail = f"the Secret {self._place.name} cannot be {what}: {error}"
                log.warning("%s", self.detail)
                await asyncio.sleep(1)
            else:
                return

    async def follow(self, reload: Callable[[], bool]) -> None:
        """Look at the Secret for ever; `reload` serves what the folder holds."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look(reload)
            except Conflict:
                continue  # another replica was first
            except (OSError, StoreError, ValueError) as error:
                self.detail = f"the Secret {self._place.name}: {error}"
                log.warning("%s", self.detail)

    async def look(self, reload: Callable[[], bool]) -> Step:
        """Serve what is new, tell so, and do what is due. Raises StoreError; ValueError on what cannot be read."""
        before = await trusting(self._store, self._place.release)
        secret, held = await self._read()
        if _write(held, self._folder):
            await asyncio.to_thread(reload)
        served, replicas = mark(self._folder.certificate.read_bytes()), await self._replicas()
        if _annotations(secret).get(self._place.told) != served:
            # the annotations of all Pods that come between two rotations would not fit into a Secret
            annotations = {**dict.fromkeys(_gone(secret, replicas)), self._place.told: served}
            patch = {"metadata": owned({**secret["metadata"], "annotations": annotations}, self._place.owners)}
            secret = await self._store.patch(SECRET, self._place.name, self._place.namespace, patch)
        trusted = self._settled(held.bundle, known=await before.learn(self._store, held.bundle))
        told = _annotations(secret)
        everywhere = all(told.get(replica) == mark(held.certificate) for replica in replicas)
        step = due(held, self._clocks.now(), trusted=trusted, served=everywhere and trusted)
        if step is not Step.NOTHING:
            made = self._issuer().take(step, held, self._place.names, self._clocks.now())
            await self._store.update(_changed(secret, made, _gone(secret, replicas)))
            log.info("certificates: %s", step.name.lower().replace("_", " "))
        return step

    async def _read(self) -> tuple[Object, Held]:
        """Return the Secret; where it is not there, it is made of what was read last, if that has the authority's key;
        else anew.

        Raises StoreError for one that cannot be used: it is neither served nor trusted, nor made again when it is gone.
        """
        try:
            secret = await self._store.get(SECRET, self._place.name, self._place.namespace)
        except NotFound:
            held = self._held if self._held is not None and self._held.authority_key else await self._make()
            metadata = owned({"name": self._place.name, "namespace": self._place.namespace}, self._place.owners)
            empty = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls"}
            try:
                secret = await self._store.create(_changed(empty, held, set()))
            except AlreadyExists:
                secret = await self._store.get(SECRET, self._place.name, self._place.namespace)
        found, usable = _held(secret), self._held
        if usable is None or found != self._found:
            usable = await asyncio.to_thread(self._checked, found)
        self.detail = "" if usable.authority_key else f"the Secret {self._place.name} {NO_KEY}"
        if self.detail and found != self._found:
            log.warning("%s", self.detail)
        self._found, self._held = found, usable
        return secret, usable

    async def _make(self) -> Held:
        """Make certificates. Where webhooks are registered already, what they trust stays so beside the new authority,
        and nobody is shown a leaf of it before API servers know it."""
        before = await trusting(self._store, self._place.release)
        try:
            held = self._issuer().first(self._place.names, self._clocks.now(), before.known)
        except ValueError as error:
            log.warning("the caBundle of the webhooks cannot be read, and is replaced: %s", error)
            held = self._issuer().first(self._place.names, self._clocks.now(), b"")
        if before.known:
            await before.learn(self._store, held.bundle)
            await self._sleep(SETTLE_SECONDS)
        return held

    def _checked(self, held: Held) -> Held:
        """Return what a Secret can be used for: a ca.key that stayed when others wrote their CA signs nothing.

        Raises StoreError where nobody could serve or trust these certificates: somebody has edited the Secret.
        """
        with TemporaryDirectory(dir=self._folder.path) as place:
            _write(held, Folder(Path(place)))
            try:
                ServingCertificate(Folder(Path(place)))
                trust(Folder(Path(place)))
            except (OSError, ValueError) as error:
                told = str(error).replace(f"{place}/", "")
                raise StoreError(f"it cannot be used: {told}; {REPAIR}") from None
        if not is_for(held.certificate, name := self._place.names[0]):
            raise StoreError(f"its certificate is not for {name}; {OTHER_RELEASE}")
        return held if self._signs(held) else replace(held, authority_key=b"")

    def _signs(self, held: Held) -> bool:
        """Return whether the authority's key is that of the first authority, and can sign."""
        current = authorities(held.bundle)[0]
        with TemporaryDirectory(dir=self._folder.path) as place:
            _write(replace(held, certificate=current, key=held.authority_key), Folder(Path(place)))
            try:
                ServingCertificate(Folder(Path(place)))
            except ValueError:
                return False
        return held.signed_by == mark(current) or self._issuer().signs(held, self._place.names, self._clocks.now())

    def _settled(self, bundle: bytes, *, known: bool) -> bool:
        """Return whether this bundle has stood in every place for long enough."""
        if not known or self._known is None or self._known[0] != bundle:
            self._known = (bundle, self._clocks.monotonic())
        return self._clocks.monotonic() - self._known[1] >= SETTLE_SECONDS

    async def _replicas(self) -> set[str]:
        """Return the annotations of all replicas: of the Pods of this release that have not ended, and this one's."""
        labels = {"app.kubernetes.io/name": "sluice", "app.kubernetes.io/instance": self._place.release}
        pods = (await self._store.list(POD, self._place.namespace, labels)).items
        alive = [pod for pod in pods if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]
        return {self._place.told, *(_annotation(pod["metadata"]["name"]) for pod in alive)}


def _write(held: Held, folder: Folder) -> bool:
    """Write the files that differ; say whether there were any. The key goes first: half a pair is not served."""
    files = {folder.bundle: held.bundle, folder.key: held.key, folder.certificate: held.certificate}
    changed = [path for path, data in files.items() if not path.exists() or path.read_bytes() != data]
    for path in changed:
        write(path, files[path], secret=path == folder.key)
    return bool(changed)


def _gone(secret: Object, replicas: set[str]) -> set[str]:
    """Return the annotations of replicas that are not there any more."""
    return {key for key in _annotations(secret) if key.startswith(SERVED_BY) and key not in replicas}


def _annotation(identity: str) -> str:
    return f"{SERVED_BY}{identity[:63].rstrip('-._')}"


def _annotations(secret: Object) -> dict[str, str]:
    return secret["metadata"].get("annotations") or {}


def _held(secret: Object) -> Held:
    data = {name: base64.b64decode(text) for name, text in (secret.get("data") or {}).items()}
    if missing := [name for name in ("ca.crt", "tls.crt", "tls.key") if not data.get(name)]:
        raise StoreError(f"no {', '.join(missing)} in it; {REPAIR}")
    told = _annotations(secret)
    key = data.get("ca.key", b"")
    return Held(data["ca.crt"], key, data["tls.crt"], data["tls.key"], told.get(SIGNED_BY, ""), ROTATE in told)


def _changed(secret: Object, held: Held, gone: set[str]) -> Object:
    """Return the Secret with other certificates, and without the annotations in `gone`."""
    left_out = gone if held.asked else {*gone, ROTATE}
    kept = {key: value for key, value in _annotations(secret).items() if key not in left_out}
    metadata: dict[str, Any] = {**secret["metadata"], "annotations": {**kept, SIGNED_BY: held.signed_by}}
    content = {
        "ca.crt": held.bundle, "ca.key": held.authority_key, "tls.crt": held.certificate, "tls.key": held.key,
    }  # fmt: skip
    data = {name: base64.b64encode(value).decode() for name, value in content.items()}
    return {**secret, "metadata": metadata, "data": data}
