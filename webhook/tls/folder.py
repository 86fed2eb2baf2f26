"""A certificate folder: `ca.crt` (a bundle), `ca.key`, `tls.crt`, `tls.key`, and a client's pair.

The names are those of a Kubernetes TLS secret, so that a folder made by `self_signed.py` and a mounted secret of
cert-manager are read alike.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Folder:
    """The files of one certificate folder."""

    path: Path

    @property
    def bundle(self) -> Path:
        """The CA bundle, the current CA first: the `caBundle` of a webhook configuration."""
        return self.path / "ca.crt"

    @property
    def authority_key(self) -> Path:
        """The CA's private key; absent if another CA (cert-manager) issues the certificates."""
        return self.path / "ca.key"

    @property
    def certificate(self) -> Path:
        """The server's certificate chain."""
        return self.path / "tls.crt"

    @property
    def key(self) -> Path:
        """The server's private key."""
        return self.path / "tls.key"

    @property
    def client_certificate(self) -> Path:
        """The client's certificate, if one was issued here."""
        return self.path / "client.crt"

    @property
    def client_key(self) -> Path:
        """The client's private key."""
        return self.path / "client.key"


def write(path: Path, data: bytes, *, secret: bool = False) -> None:
    """Replace `path` by `data` atomically; mode 0600 if it is a secret, else 0644. Raises OSError."""
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if secret else 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
