"""Shorthands for the fields by which an object asks for a feature, used by the tables."""

from __future__ import annotations

from typing import Final

from webhook.api.compatibility.feature import Sign

_PREFIX: Final = "kueue.x-k8s.io/"


def by_annotation(of: str, *names: str) -> tuple[Sign, ...]:
    """Return a sign for each annotation of Kueue, of a job or of the template of a pod set."""
    where = ("template", "metadata") if of == "podSet" else ("metadata",)
    return tuple(Sign(of, (*where, "annotations", _PREFIX + name)) for name in names)


def by_configuration(*path: str) -> tuple[Sign, ...]:
    """Return the sign for a field of Kueue's Configuration."""
    return (Sign("Configuration", path),)
