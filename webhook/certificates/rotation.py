"""When a certificate that Sluice makes for itself is replaced, and in which order. Pure, and without cryptography.

What stands in the Secret is the whole state: the authorities to trust (the current one first), its key, and the leaf.
Trust comes first, the new leaf next, and the old authority goes when every replica serves the new leaf. So whoever
calls verifies what it is shown at every moment.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final

from webhook.tls.validity import expiry

AUTHORITY_DAYS: Final = 365
LEAF_DAYS: Final = 90
AUTHORITY_BEFORE: Final = timedelta(days=90)
"""An authority with less time than this is replaced; a leaf never outlives the authority that signed it."""
LEAF_BEFORE: Final = timedelta(days=30)

_BLOCK: Final = re.compile(rb"-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----\n?")


class Step(Enum):
    """What is to be done to the Secret."""

    NOTHING = auto()
    NEW_AUTHORITY = auto()
    """Make an authority and trust it beside the old one; the leaf stays."""
    NEW_LEAF = auto()
    """Sign a leaf by the current authority."""
    FORGET = auto()
    """Trust the current authority alone."""


@dataclass(frozen=True, slots=True)
class Held:
    """The certificates of the Secret, PEM. `authority_key` is that of the first authority, empty where somebody
    else made them."""

    bundle: bytes
    authority_key: bytes
    certificate: bytes
    key: bytes
    signed_by: str = ""
    """The mark of the authority that signed the leaf."""
    asked: bool = False
    """Whether somebody wants a new authority now."""


def due(held: Held, now: datetime, *, trusted: bool, served: bool) -> Step:
    """Return what is due. `trusted`: callers know the bundle; `served`: every replica serves the leaf.

    Without the authority's key there is nothing to sign by: the next leaf takes an authority of our own, trusted
    beside theirs. Raises ValueError where a certificate cannot be read.
    """
    current, *old = authorities(held.bundle)
    late = expiry(held.certificate) - now < LEAF_BEFORE
    if not held.authority_key:
        return Step.NEW_AUTHORITY if held.asked or late or expiry(current) - now < LEAF_BEFORE else Step.NOTHING
    if held.signed_by != mark(current):
        return Step.NEW_LEAF if trusted else Step.NOTHING
    if held.asked or expiry(current) - now < AUTHORITY_BEFORE:
        return Step.NEW_AUTHORITY
    if late:
        return Step.NEW_LEAF
    return Step.FORGET if old and served else Step.NOTHING


def authorities(bundle: bytes) -> list[bytes]:
    """Return the certificates of a bundle, one by one. Raises ValueError where there is none."""
    found = _BLOCK.findall(bundle)
    if not found:
        raise ValueError("no certificate between BEGIN and END lines")
    return found


def mark(certificate: bytes) -> str:
    """Name a certificate by the sum of its text, short enough for an annotation."""
    return hashlib.sha256(certificate.strip()).hexdigest()[:32]
