"""A pod template that stands in as a Pod, so that a policy on Pods is evaluated inside every job kind."""

from __future__ import annotations

from typing import Any, NamedTuple

from webhook.documents import Path
from webhook.jobs.model import PodSet
from webhook.jobs.normalise import replace_at
from webhook.policy.world import World

EMPTY: dict[str, Any] = {}


class Stand(NamedTuple):
    """What a policy is evaluated on: the object itself (`path` None), or a template inside it.

    `writable` is False for templates that are made up from other fields.
    """

    path: Path | None
    writable: bool
    object: dict[str, Any] | None
    old: dict[str, Any] | None


def whole(world: World) -> tuple[Stand, ...]:
    """Give the request's own object."""
    return (Stand(None, True, world.object, world.old),)


def stands(world: World) -> tuple[Stand, ...]:
    """Give every pod template of the request's job as a Pod; the old object's template at the same path beside it."""
    job = world.job()
    if job is None or world.object is None:
        return ()
    return tuple(stand(world, pod_set) for pod_set in job.pod_sets)


def stand(world: World, pod_set: PodSet) -> Stand:
    """Give one pod set's template, as the object has it now, as a Pod."""
    template = pod_set.template if pod_set.made else find(world.object, pod_set.path)
    old = find(world.old, pod_set.path) if world.old is not None and not pod_set.made else None
    return Stand(pod_set.path, not pod_set.made, as_pod(template), as_pod(old))


def as_pod(template: Any) -> dict[str, Any] | None:
    """Make a Pod of a template; metadata and spec are shared, not copied."""
    if not isinstance(template, dict):
        return None
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": template.get("metadata") or EMPTY,
        "spec": template.get("spec") or EMPTY,
    }


def put_back(obj: dict[str, Any], at: Stand, pod: dict[str, Any]) -> dict[str, Any]:
    """Give the object with the changed Pod's metadata and spec in the template it stood in for."""
    if at.path is None:
        return pod
    template = find(obj, at.path)
    before = at.object or EMPTY
    changed = {k: pod[k] for k in ("metadata", "spec") if k in pod and pod[k] is not before.get(k)}
    if not changed or not isinstance(template, dict):
        return obj
    result: dict[str, Any] = replace_at(obj, at.path, {**template, **changed})
    return result


def find(obj: Any, path: Path) -> Any:
    """Give the value at a path, None where it is not there."""
    for step in path:
        try:
            obj = obj[step]
        except (KeyError, IndexError, TypeError):
            return None
    return obj
