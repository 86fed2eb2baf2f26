"""The job, or the pods of a group, that a Workload was made for, by its owner references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Object = dict[str, Any]


def owner_of(workload: Object) -> tuple[str, str, str]:
    """Return the job that a Workload was made for, as (namespace, kind, name); empty texts where it is for none."""
    for ref in workload["metadata"].get("ownerReferences") or ():
        if ref.get("controller"):
            return workload["metadata"]["namespace"], str(ref.get("kind")), str(ref.get("name"))
    return "", "", ""


def owners_of(workload: Object) -> Iterator[tuple[str, str, str]]:
    """Yield all that a Workload was made for: a group's are its pods, or their StatefulSet, none the controller."""
    for ref in workload["metadata"].get("ownerReferences") or ():
        yield workload["metadata"]["namespace"], str(ref.get("kind")), str(ref.get("name"))


def is_named(workload: Object, name: str, namespace: str) -> bool:
    """Return whether a Workload is the one asked for, by its own name or its job's (`NAME`, or `KIND/NAME`)."""
    kind, _, plain = name.rpartition("/")
    if workload["metadata"]["namespace"] != namespace:
        return False
    if (not kind or kind.lower() == "workload") and plain == workload["metadata"]["name"]:
        return True
    owners = ((owner.lower(), owned) for _, owner, owned in owners_of(workload))
    return any(owned == plain and kind.lower() in ("", owner) for owner, owned in owners)


def require_one_job(workloads: Iterable[Object], name: str, namespace: str) -> None:
    """Raise ValueError where Workloads of one name are those of jobs of several kinds: the name says not which."""
    kind, _, plain = name.rpartition("/")
    owners = {(owner, owned) for workload in workloads for _, owner, owned in owners_of(workload)}
    jobs = sorted(
        f"{owner}/{owned}" for owner, owned in owners if owned == plain and kind.lower() in ("", owner.lower())
    )
    if len(jobs) > 1:
        raise ValueError(f'"{name}" is the name of several jobs in namespace {namespace}: use {" or ".join(jobs)}')
