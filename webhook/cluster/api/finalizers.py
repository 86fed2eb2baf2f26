"""The finalizer by which an object stays while it is in use: the same for Workloads, queues, flavors and checks."""

from __future__ import annotations

from typing import Final

from webhook.store.objects import Object

FINALIZER: Final = "kueue.x-k8s.io/resource-in-use"


def finalizers(obj: Object) -> list[str]:
    """Give an object's finalizers."""
    return list((obj.get("metadata") or {}).get("finalizers") or ())


def is_marked(obj: Object) -> bool:
    """Say whether an object has ours."""
    return FINALIZER in finalizers(obj)


def marked(obj: Object) -> list[str]:
    """Give the finalizers of an object and ours."""
    return [*finalizers(obj), FINALIZER]


def let_go(obj: Object) -> list[str] | None:
    """Give the finalizers of an object without ours, None for an empty list: what a merge patch takes away."""
    return without(obj, FINALIZER)


def without(obj: Object, finalizer: str) -> list[str] | None:
    """Give the finalizers of an object without one of them, None for an empty list."""
    return [name for name in finalizers(obj) if name != finalizer] or None
