"""The finalizer that keeps an object while it is in use: the same for Workloads, queues, flavors and checks."""

from __future__ import annotations

from typing import Final

from webhook.store.objects import Object

FINALIZER: Final = "kueue.x-k8s.io/resource-in-use"


def finalizers(obj: Object) -> list[str]:
    """Return an object's finalizers."""
    return list((obj.get("metadata") or {}).get("finalizers") or ())


def is_marked(obj: Object) -> bool:
    """Return whether an object has our finalizer."""
    return FINALIZER in finalizers(obj)


def marked(obj: Object) -> list[str]:
    """Return the finalizers of an object with ours added."""
    return [*finalizers(obj), FINALIZER]


def let_go(obj: Object) -> list[str] | None:
    """Return the finalizers of an object without ours; None instead of an empty list, for a merge patch."""
    return without(obj, FINALIZER)


def without(obj: Object, finalizer: str) -> list[str] | None:
    """Return the finalizers of an object without `finalizer`; None instead of an empty list, for a merge patch."""
    return [name for name in finalizers(obj) if name != finalizer] or None
