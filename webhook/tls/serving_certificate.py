"""The TLS context of the admission port, reloaded when its files change.

Changes are found by reading and hashing: a mounted secret has no reliable file events. Each valid change gets a new
context for new connections; open connections keep theirs.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import ssl
from datetime import datetime
from pathlib import Path
from typing import Final

from webhook.tls.folder import Folder
from webhook.tls.validity import expiry

log = logging.getLogger(__name__)

CHECK_SECONDS: Final = 10.0
"""Seconds between two checks of the files."""
_Digests = tuple[bytes, ...]
_NOTHING: Final[_Digests] = ()


class ServingCertificate:
    """The served certificate: `context` for the listener, `expires` for the metric, `problem` with invalid files.

    With `client_ca`, clients are asked for a certificate, and the handshake fails for one of another CA. Whether a
    client must have one depends on the path, so the server checks that.
    """

    def __init__(self, folder: Folder, client_ca: Path | str | None = None) -> None:
        """Load the files; `client_ca` is a file, or PEM. Raises OSError if one is missing, ValueError if invalid."""
        self._folder, self._client_ca = folder, client_ca
        self._files = (folder.certificate, folder.key, *((client_ca,) if isinstance(client_ca, Path) else ()))
        self._served = self._digests()
        self._failed: _Digests | None = _NOTHING
        """Digests of the files that were invalid at the last check; None if the files could not be read."""
        self.context, self.expires = self._load()
        self.context.sni_callback = self._hand_over
        self._newest = self.context
        self.problem = ""

    def reload(self) -> bool:
        """Load the files if they have changed and are valid; return whether that was done.

        Invalid files may be half written: they become the `problem` if they are the same at the next check.
        """
        seen: _Digests | None = None
        try:
            seen = self._digests()
            if seen == self._served:
                self.problem, self._failed = "", _NOTHING
                return False
            context, expires = self._load()
            if self._digests() != seen:
                return False
        except (OSError, ValueError) as error:
            if seen == self._failed:
                self.problem = f"the new certificate cannot be used: {error}"
            self._failed = seen
            return False
        self._newest, self.expires, self._served = context, expires, seen
        self.problem, self._failed = "", _NOTHING
        return True

    def ask_for(self, client_ca: str) -> None:
        """Ask new connections for certificates of these CAs (PEM) from now on. Raises OSError, ValueError: then not."""
        before, self._client_ca = self._client_ca, client_ca
        try:
            self._newest, self.expires = self._load()
        except (OSError, ValueError):
            self._client_ca = before
            raise

    async def follow(self, every: float = CHECK_SECONDS) -> None:
        """Check for changes every `every` seconds, for ever, and log them."""
        while True:
            await asyncio.sleep(every)
            before = self.problem
            if await asyncio.to_thread(self.reload):
                log.info("a new certificate is served, valid until %s", self.expires)
            elif self.problem and self.problem != before:
                log.error("%s", self.problem)

    def _digests(self) -> _Digests:
        return tuple(hashlib.sha256(path.read_bytes()).digest() for path in self._files)

    def _load(self) -> tuple[ssl.SSLContext, datetime]:
        certificate, key = self._folder.certificate, self._folder.key
        try:
            expires = expiry(certificate.read_bytes())
        except ValueError:
            raise ValueError(f"{certificate} is not a PEM certificate") from None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(certificate, key, password="")
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                raise ValueError(f"{certificate} and {key} do not match") from None
            raise ValueError(f"{key} is not an unencrypted PEM private key: {error}") from None
        if self._client_ca is not None:
            _ask(context, self._client_ca)
        return context, expires

    def _hand_over(self, connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, context: ssl.SSLContext) -> None:
        """Switch a new connection to the newest context. OpenSSL calls this with or without a server name."""
        connection.context = self._newest


def trust(folder: Folder) -> ssl.SSLContext:
    """Return a client context that trusts the CAs in `ca.crt`, without a check of the host name.

    If there is no such file, the served certificate itself is trusted. Raises OSError.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    bundle = folder.bundle if folder.bundle.exists() and folder.bundle.stat().st_size else folder.certificate
    context.load_verify_locations(bundle)
    return context


def _ask(context: ssl.SSLContext, client_ca: Path | str) -> None:
    """Request client certificates of these CAs. Without tickets, as a resumed session is not verified again."""
    try:
        if isinstance(client_ca, Path):
            context.load_verify_locations(client_ca)
        else:
            context.load_verify_locations(cadata=client_ca)
    except ssl.SSLError as error:
        named = client_ca if isinstance(client_ca, Path) else "what clients are verified by"
        raise ValueError(f"{named} is not a PEM certificate: {error}") from None
    context.verify_mode = ssl.CERT_OPTIONAL
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
