"""Making and renewing what a certificate folder holds. Keys are written 0600; each file is replaced in one step."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from webhook.tls.authority import CA_DAYS, LEAF_DAYS, Pair, bundle, issue, names_of, new_authority
from webhook.tls.folder import Folder, write
from webhook.tls.validity import expiry

RENEW_BEFORE: Final = timedelta(days=30)
"""A leaf, or an authority, with less time than this is replaced at the next `ensure`."""


def ensure(folder: Folder, names: tuple[str, ...], now: datetime, *, force: bool = False) -> str:
    """Make or renew what is missing, lacks a name, or is near its end; give a sentence on what was done.

    `force` renews the leaf in any case. A folder without the authority's key, but with a valid leaf, is left alone
    (somebody else signs). Raises ValueError where such a leaf has expired, OSError where the folder cannot be written.
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
    """Replace authority and leaf at once; the old authority stays in the bundle until it expires.

    The bundle is written first: whoever trusts the folder's bundle verifies the old leaf and the new one.
    """
    authority = _new_authority(folder, now)
    leaf = issue(authority, names, now, LEAF_DAYS)
    write(folder.key, leaf.key, secret=True)
    write(folder.certificate, leaf.certificate)


def issue_client(folder: Folder, name: str, now: datetime) -> None:
    """Make the certificate that a client shows to a server that asks for one, by the folder's authority.

    Raises ValueError or OSError where the authority's key is not here.
    """
    authority = Pair(folder.bundle.read_bytes(), folder.authority_key.read_bytes())
    pair = issue(authority, (name,), now, LEAF_DAYS, client=True)
    write(folder.client_key, pair.key, secret=True)
    write(folder.client_certificate, pair.certificate)


def _authority(folder: Folder, now: datetime) -> tuple[Pair, bool]:
    if not (folder.bundle.exists() and folder.authority_key.exists()):
        return _new_authority(folder, now), True
    current = Pair(folder.bundle.read_bytes(), folder.authority_key.read_bytes())
    if expiry(current.certificate) - now < RENEW_BEFORE:
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
    leaf = folder.certificate.read_bytes()
    return set(names) <= set(names_of(leaf)) and expiry(leaf) - now >= RENEW_BEFORE
