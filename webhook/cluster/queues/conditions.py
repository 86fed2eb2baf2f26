"""The condition `Active` of a ClusterQueue or a LocalQueue: status, reason and message. Pure.

Reasons and messages are Kueue's, for its clients; reasons of Sluice's own become `Inactive`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.api.snapshot.queue_objects import check_is_active
from webhook.api.stop_policy import is_stopped
from webhook.kube.fields import at
from webhook.store.objects import Object, key_of

_NO: Final = "Can't admit new workloads"
_NOT_TO: Final = "Can't submit new workloads to clusterQueue"


@dataclass(frozen=True, slots=True)
class Activity:
    """Whether a queue is active. `status` is that of the metric: active, pending or terminating."""

    status: str = "active"
    reason: str = "Ready"
    message: str = "Can admit new workloads"


@dataclass(frozen=True, slots=True)
class Known:
    """Objects that ClusterQueues refer to: flavors, and checks by whether they are active.

    `inactive` has the reason why the core does not use a ClusterQueue, by name.
    """

    flavors: frozenset[str]
    checks: Mapping[str, bool]
    inactive: Mapping[str, str]

    @classmethod
    def of(cls, flavors: Iterable[Object], checks: Iterable[Object], inactive: Mapping[str, str]) -> Known:
        """Collect the names and states of the objects."""
        names = frozenset(key_of(flavor)[1] for flavor in flavors)
        return cls(names, {key_of(check)[1]: check_is_active(check) for check in checks}, inactive)


def flavors_of(queue: Object) -> Iterator[Any]:
    """Yield the flavor quotas of a ClusterQueue."""
    for group in at(queue, ("spec", "resourceGroups")) or ():
        yield from group.get("flavors") or ()


def of_cluster_queue(queue: Object, known: Known) -> Activity:
    """Return whether a ClusterQueue is active."""
    if at(queue, ("metadata", "deletionTimestamp")):
        return Activity("terminating", "Terminating", f"{_NO}; clusterQueue is terminating")
    problems = list(_problems(queue, known))
    if problems:
        return Activity("pending", problems[0][0], f"{_NO}: {', '.join(text for _, text in problems)}.")
    why = known.inactive.get(key_of(queue)[1])
    return Activity("pending", "Inactive", f"{_NO}: {why}.") if why else Activity()


def _problems(queue: Object, known: Known) -> Iterator[tuple[str, str]]:
    if is_stopped(queue):
        yield "Stopped", "is stopped"
    absent = [str(quotas.get("name")) for quotas in flavors_of(queue) if quotas.get("name") not in known.flavors]
    if absent:
        yield "FlavorNotFound", f"references missing ResourceFlavor(s): {_names(absent)}"
    uses = at(queue, ("spec", "admissionChecksStrategy", "admissionChecks")) or ()
    named = sorted(str(use.get("name")) for use in uses)
    if missing := [name for name in named if name not in known.checks]:
        yield "AdmissionCheckNotFound", f"references missing AdmissionCheck(s): {_names(missing)}"
    if idle := [name for name in named if known.checks.get(name) is False]:
        yield "AdmissionCheckInactive", f"references inactive AdmissionCheck(s): {_names(idle)}"


def of_local_queue(queue: Object, target: Activity | None) -> Activity:
    """Return whether a LocalQueue is active; `target` is that of its ClusterQueue, None if it does not exist."""
    if is_stopped(queue):
        return Activity("pending", "Stopped", "LocalQueue is stopped")
    if target is None:
        return Activity("pending", "ClusterQueueDoesNotExist", _NOT_TO)
    if target.status != "active":
        return Activity("pending", "ClusterQueueIsInactive", _NOT_TO)
    return Activity(message="Can submit new workloads to localQueue")


def _names(names: Iterable[str]) -> str:
    return ",".join(dict.fromkeys(names))
