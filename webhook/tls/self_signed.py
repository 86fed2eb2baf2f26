"""Creates and renews the certificates of a folder. Keys have mode 0600; each file is replaced atomically."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from webhook.tls.authority import CA_DAYS, LEAF_DAYS, Pair, bundle, is_pair, issue, names_of, new_authority
from webhook.tls.folder import Folder, write
from webhook.tls.validity import expiry

RENEW_BEFORE: Final = timedelta(days=30)
"""Certificates with less time left than this are renewed at the next `ensure`."""


def ensure(folder: Folder, names: tuple[str, ...], now: datetime, *, force: bool = False) -> str:
    """Create or renew what is missing, lacks a name, or expires soon; return a sentence on the result.

    `force` renews the leaf in any case. A folder without the CA's key, but with a valid leaf, is left unchanged
    (another CA issues it). Raises ValueError if such a leaf has expired or the CA cannot be read, OSError if the folder
    cannot be written.
    """
    folder.path.mkdir(parents=True, exist_ok=True)
    foreign = folder.certificate.exists() and not folder.authority_key.exists()
    if foreign:
        if expiry(folder.certificate.read_bytes()) <= now:
            raise ValueError(
                "the certificate has expired, and ca.key is not in this folder: renew it where it was signed"
            )
        return "kept: signed by another CA"
    authority, fresh = _authority(folder, now)
    if not force and not fresh and _leaf_is_good(folder, names, now):
        return f"kept: valid until {expiry(folder.certificate.read_bytes()):%Y-%m-%d}"
    leaf = issue(authority, names, now, LEAF_DAYS)
    write(folder.key, leaf.key, secret=True)
    write(folder.certificate, leaf.certificate)
    return f"issued: valid until {expiry(leaf.certificate):%Y-%m-%d}" + (", by a new CA" if fresh else "")


def rotate(folder: Folder, names: tuple[str, ...], now: datetime) -> None:
    """Replace CA and leaf; the old CA stays in the bundle until it expires.

    The bundle is written first: clients that trust it verify the old leaf and the new one. Raises OSError.
    """
    authority = _new_authority(folder, now)
    leaf = issue(authority, names, now, LEAF_DAYS)
    write(folder.key, leaf.key, secret=True)
    write(folder.certificate, leaf.certificate)


def issue_client(folder: Folder, name: str, now: datetime) -> None:
    """Issue a client certificate by the folder's CA.

    Raises ValueError or OSError if the CA's key is missing or unreadable.
    """
    authority = Pair(folder.bundle.read_bytes(), folder.authority_key.read_bytes())
    pair = issue(authority, (name,), now, LEAF_DAYS, client=True)
    write(folder.client_key, pair.key, secret=True)
    write(folder.client_certificate, pair.certificate)


def _authority(folder: Folder, now: datetime) -> tuple[Pair, bool]:
    if not (folder.bundle.exists() and folder.authority_key.exists()):
        return _new_authority(folder, now), True
    current = Pair(folder.bundle.read_bytes(), folder.authority_key.read_bytes())
    try:
        matches = is_pair(current)
    except ValueError as error:
        raise ValueError(f"{folder.bundle.name} or {folder.authority_key.name}: {error}") from None
    if not matches or expiry(current.certificate) - now < RENEW_BEFORE:  # a run was interrupted between the two files
        return _new_authority(folder, now), True
    return current, False


def _new_authority(folder: Folder, now: datetime) -> Pair:
    authority = new_authority(now, CA_DAYS)
    old = folder.bundle.read_bytes() if folder.bundle.exists() else b""
    write(folder.authority_key, authority.key, secret=True)
    write(folder.bundle, bundle(authority.certificate, old, now))
    return authority


def _leaf_is_good(folder: Folder, names: tuple[str, ...], now: datetime) -> bool:
    if not (folder.certificate.exists() and folder.key.exists()):
        return False
    leaf = Pair(folder.certificate.read_bytes(), folder.key.read_bytes())
    try:
        if not is_pair(leaf):
            return False
    except ValueError:
        return False
    return set(names) <= set(names_of(leaf.certificate)) and expiry(leaf.certificate) - now >= RENEW_BEFORE
