"""The TLS context of the server, which follows the files on disk while connections go on.

A change is found by reading and hashing: a mounted secret gives no dependable file events. New connections get the
new certificate; open ones go on with the old.
"""

from __future__ import annotations

import hashlib
import ssl
from dataclasses import dataclass
from datetime import datetime

from webhook.tls.authority import expiry
from webhook.tls.folder import Folder


@dataclass(frozen=True, slots=True)
class _Marks:
    certificate: bytes
    key: bytes


class ServingCertificate:
    """The certificate being served: `context` for the listener, `expires` for the metric."""

    __slots__ = ("_folder", "_marks", "context", "expires", "problem")

    def __init__(self, folder: Folder) -> None:
        """Load the folder's pair. Raises OSError where a file is missing, ssl.SSLError where the two do not match."""
        self._folder = folder
        self.context = _context()
        self.problem = ""
        self.expires, self._marks = self._load(self._read())

    def reload(self) -> bool:
        """Load the pair again where certificate *and* key are new and belong together; True when that was done.

        One of the two being new is a half-written pair: it is left for the next look. What does not load is named in
        `problem`, and the pair that was good is served further.
        """
        try:
            marks = self._read()
            if marks.certificate == self._marks.certificate or marks.key == self._marks.key:
                return False
            self.expires, self._marks = self._load(marks)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            self.problem = f"the new certificate cannot be used: {error}"
            return False
        self.problem = ""
        return True

    def _read(self) -> _Marks:
        return _Marks(_digest(self._folder.certificate.read_bytes()), _digest(self._folder.key.read_bytes()))

    def _load(self, marks: _Marks) -> tuple[datetime, _Marks]:
        """Try the pair on a context of its own first: a failed load would leave the live one without a pair."""
        expires = expiry(self._folder.certificate.read_bytes())
        _context().load_cert_chain(self._folder.certificate, self._folder.key)
        self.context.load_cert_chain(self._folder.certificate, self._folder.key)
        return expires, marks


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
