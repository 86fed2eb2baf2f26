"""The steps of a rotation done: what the Secret holds afterwards. Imported where something is signed, and only then."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from webhook.certificates.rotation import AUTHORITY_DAYS, LEAF_DAYS, Held, Step, authorities, mark
from webhook.tls.authority import Pair, bundle, issue, new_authority


def first(names: tuple[str, ...], now: datetime, known: bytes) -> Held:
    """Make an authority and a leaf for `names`, where there is no Secret; `known` stays trusted beside it."""
    authority = new_authority(now, AUTHORITY_DAYS)
    held = Held(bundle(authority.certificate, known, now), authority.key, b"", b"")
    return take(Step.NEW_LEAF, held, names, now)


def take(step: Step, held: Held, names: tuple[str, ...], now: datetime) -> Held:
    """Do one step. Raises ValueError where what is held cannot be read."""
    current = authorities(held.bundle)[0]
    match step:
        case Step.NEW_AUTHORITY:
            made = new_authority(now, AUTHORITY_DAYS)
            return replace(held, bundle=bundle(made.certificate, held.bundle, now), authority_key=made.key, asked=False)
        case Step.NEW_LEAF:
            leaf = issue(Pair(current, held.authority_key), names, now, LEAF_DAYS)
            return replace(held, certificate=leaf.certificate, key=leaf.key, signed_by=mark(current))
        case Step.FORGET:
            return replace(held, bundle=current)
        case Step.NOTHING:
            return held


def signs(held: Held, names: tuple[str, ...], now: datetime) -> bool:
    """Return whether a leaf can be signed by what is held: not every key that matches is one of an authority."""
    try:
        take(Step.NEW_LEAF, held, names, now)
    except ValueError:
        return False
    return True
