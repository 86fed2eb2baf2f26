"""Usage by user, namespace and queue, current and decayed: the usage facts that `admit` and `order` rules read.

Only what the rules in force read is counted. Trees and quota are in `tree.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from webhook.queue.definitions import Definitions, key_of, local_of
from webhook.queue.model import WEIGHT, Admission, ClusterQueue, History, LocalQueue, Namespace, Snapshot, Workload
from webhook.queue.quota.decayed_usage import Meters, admission_part, faded, sampled_at
from webhook.queue.rules import Rules, UsageFacts

Owner = tuple[str, str]
"""An owner of usage: `user`, `namespace` or `queue`, and its name; `unready` counts workloads with unready pods."""
USAGE_BASED: Final = "UsageBasedAdmissionFairSharing"
"""The `admissionMode` under which a ClusterQueue orders its LocalQueues by decayed usage."""
HELD: Final[Mapping[str, str]] = {
    "facts.user_usage": "user",
    "facts.user_workloads": "user",
    "facts.namespace_usage": "namespace",
    "facts.queue_usage": "queue",
    "facts.unready": "unready",
}
LATELY: Final = frozenset({"facts.user_history", "facts.namespace_history", "facts.queue_history"})


@dataclass(slots=True)
class OwnerUsage:
    """The amounts held now, and by how many workloads."""

    amounts: dict[str, int] = field(default_factory=dict)
    workloads: int = 0


class Accounting:
    """Usage by owner, and the meters of LocalQueues and ClusterQueues. `now` is the latest time seen."""

    __slots__ = (
        "_metered",
        "_order",
        "_owners",
        "_read",
        "_spaces",
        "by_owner",
        "changed",
        "clusters",
        "compared",
        "locals",
        "now",
        "rules",
    )

    def __init__(self) -> None:
        self.by_owner: dict[Owner, OwnerUsage] = {}
        self.locals, self.clusters = Meters(), Meters()
        self.changed: dict[str, None] = {}
        """LocalQueues whose usage changed since their workloads were last ordered."""
        self.compared = False
        """Whether usage facts are also read to order the heads of different queues."""
        self.now = 0
        self.rules: Rules | None = None
        self._read: frozenset[str] = frozenset()
        self._owners: tuple[str, ...] = ()
        self._order = self._metered = False
        self._spaces: dict[str, set[str]] = {}

    def begin(self, rules: Rules, defined: Definitions, now: int) -> None:
        """Count by new rules from now on: current usage starts at zero, decayed usage stays."""
        tables = (self.locals, defined.local_queues), (self.clusters, defined.cluster_queues)
        for meters, _ in tables:
            meters.begin(self.now, self.rules)
        compared = _facts_read(rules, ("across", "tournament"))
        read, self.compared = _facts_read(rules, ("admit",)) | compared, bool(compared)
        self._read = read | LATELY | HELD.keys() if "facts" in read else read
        self.rules, self.now, self.by_owner = rules, max(now, self.now), {}
        self._owners = tuple(dict.fromkeys(HELD[name] for name in sorted(HELD) if name in self._read))
        self._order = self._orders(rules, defined)
        self._metered = rules.metered or self._order or not LATELY.isdisjoint(self._read)
        for meters, table in tables:
            for name in table.keys() - meters.by_name.keys():
                meters.define(name, table[name].history, self.now, rules)
        self._spaces = {}
        for name, queue in defined.local_queues.items():
            self._spaces.setdefault(queue.namespace, set()).add(name)

    def misses(self, defined: Definitions) -> bool:
        """Return whether decayed usage is needed and not counted, or counted and no longer needed."""
        return self.rules is not None and self._order != self._orders(self.rules, defined)

    def _orders(self, rules: Rules, defined: Definitions) -> bool:
        read = any("usage" in rules.reads.get(point, ()) for point in ("order", "victim_order"))
        return read and any(q.admission_mode == USAGE_BASED for q in defined.cluster_queues.values())

    @property
    def reads_namespaces(self) -> bool:
        """Whether the rules read Namespace objects, with their ResourceQuotas."""
        return not self._read.isdisjoint({"facts", "facts.namespace"})

    def redefine(self, queue: LocalQueue | ClusterQueue, before: object, *, gone: bool) -> None:
        """Note a queue that was added, changed, or deleted; a history newer than its meter replaces the meter's.

        The decayed usage of a deleted queue is dropped.
        """
        assert self.rules is not None
        meters, name = self._meters_of(queue)
        if gone:
            meters.drop(name)
            if isinstance(queue, LocalQueue):
                self._spaces[queue.namespace].discard(name)
                if not self._spaces[queue.namespace]:
                    del self._spaces[queue.namespace]
            return
        meter = meters.by_name.get(name)
        if before is None or meter is None or queue.history.at > meter.at:
            meters.define(name, queue.history, self.now, self.rules)
        if isinstance(queue, LocalQueue):
            self.changed[name] = None
            self._spaces.setdefault(queue.namespace, set()).add(name)

    def hold(self, workload: Workload, admission: Admission, sign: int = 1) -> tuple[Owner, ...]:
        """Count what a workload holds from now on, or with -1 no longer. Return the owners whose usage changed."""
        if not self._owners and not self._metered:
            return ()
        assert self.rules is not None
        amounts = resources_of(admission)
        names = {"user": workload.user, "namespace": workload.namespace, "queue": admission.cluster_queue}
        if not workload.pods_ready:
            names["unready"] = ""
        owners = tuple((kind, names[kind]) for kind in self._owners if kind in names)
        for owner in owners:
            self._tally(owner, amounts, sign)
        if self._metered:
            parts = {(workload.user, r): n for r, n in amounts.items()}
            self.locals.hold(local_of(workload), parts, sign, self.now, self.rules)
            self.clusters.hold(names["queue"], parts, sign, self.now, self.rules)
        return owners

    def _tally(self, owner: Owner, amounts: Mapping[str, int], sign: int) -> None:
        held = self.by_owner.setdefault(owner, OwnerUsage())
        held.workloads += sign
        for resource, amount in amounts.items():
            held.amounts[resource] = held.amounts.get(resource, 0) + sign * amount
        if not held.workloads:
            del self.by_owner[owner]

    def owners(self, workload: Workload, queue: ClusterQueue) -> tuple[Owner, ...]:
        """Return the owners whose usage `admit` rules read for a workload in a queue."""
        names = {"user": workload.user, "namespace": workload.namespace, "queue": queue.name, "unready": ""}
        return tuple((kind, names[kind]) for kind in self._owners)

    def charge(self, workload: Workload, admission: Admission) -> None:
        """Count a new admission as held for one sampling interval at once, so that the next one sees it."""
        if self._metered:
            assert self.rules is not None
            self._charge(workload, admission, admission_part(self.rules))

    def take_back(self, workload: Workload, admission: Admission) -> None:
        """Undo what is left of the charge of an admission that was decided but not written.

        As in Kueue (`updateEntryPenalty` of its scheduler), only an admission that is written costs its LocalQueue.
        """
        if self._metered:
            assert self.rules is not None
            since = sampled_at(self.now, self.rules) - sampled_at(admission.reserved_at, self.rules)
            self._charge(workload, admission, -admission_part(self.rules) * faded(since, self.rules))

    def _charge(self, workload: Workload, admission: Admission, weight: float) -> None:
        assert self.rules is not None
        parts = {(workload.user, r): n for r, n in resources_of(admission).items()}
        local = local_of(workload)
        for meters, name in ((self.locals, local), (self.clusters, admission.cluster_queue)):
            meters.charge(name, parts, weight, self.now, self.rules)
        self.changed[local] = None

    def advance(self, now: int) -> bool:
        """Advance to a time. Return whether a sampling point was passed, so that decayed usage changed."""
        before, self.now = self.now, max(now, self.now)
        if not self._metered or self.rules is None:
            return False
        if sampled_at(before, self.rules) == sampled_at(self.now, self.rules):
            return False
        if self._order:
            self.changed.update(dict.fromkeys(self.locals.by_name))
        return True

    def next_sample(self, *, denied: bool, ordered: bool) -> int | None:
        """Return the next sampling point; None if no workload is `denied` or `ordered` by decayed usage."""
        if self.rules is None or not (ordered or (denied and not LATELY.isdisjoint(self._read))):
            return None
        return sampled_at(self.now, self.rules) + max(1, self.rules.sampling)

    def apart(self, queue: ClusterQueue) -> bool:
        """Return whether a ClusterQueue orders its LocalQueues by decayed usage."""
        return self._order and queue.admission_mode == USAGE_BASED

    def share(self, workload: Workload, queue: ClusterQueue, local: LocalQueue | None) -> float:
        """Return the decayed usage of a workload's LocalQueue divided by its weight; 0 if its queue does not use it."""
        if local is None or not self.apart(queue):
            return 0.0
        return self.weighted_usage(local_of(workload), local)

    def weighted_usage(self, name: str, local: LocalQueue) -> float:
        """Return the decayed usage of a LocalQueue (`namespace/name`) divided by its weight."""
        assert self.rules is not None
        meter = self.locals.sampled(name, self.now, self.rules)
        if meter is None:
            return 0.0
        total = meter.total(self.rules.resource_weights)
        return total / (local.weight / WEIGHT) if local.weight else float("inf")

    def facts(self, workload: Workload, queue: ClusterQueue, namespace: Namespace | None) -> UsageFacts:
        """Collect the usage facts that the rules read."""
        found = UsageFacts(namespace=namespace, requests=requests_of(workload))
        if (held := self.by_owner.get(("user", workload.user))) is not None:
            found.user_usage, found.user_workloads = held.amounts, held.workloads
        if (held := self.by_owner.get(("unready", ""))) is not None:
            found.unready = held.workloads
        if (held := self.by_owner.get(("namespace", workload.namespace))) is not None:
            found.namespace_usage = held.amounts
        if (held := self.by_owner.get(("queue", queue.name))) is not None:
            found.queue_usage = held.amounts
        if not LATELY.isdisjoint(self._read):
            self._lately(found, workload, queue)
        return found

    def _lately(self, found: UsageFacts, workload: Workload, queue: ClusterQueue) -> None:
        assert self.rules is not None
        now, rules = self.now, self.rules
        if "facts.user_history" in self._read:
            found.user_history = self.locals.read(self.locals.by_user.get(workload.user, ()), workload.user, now, rules)
        if "facts.namespace_history" in self._read:
            found.namespace_history = self.locals.read(self._spaces.get(workload.namespace, ()), None, now, rules)
        if "facts.queue_history" in self._read:
            found.queue_history = self.clusters.read((queue.name,), None, now, rules)

    def kept(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot with the histories to keep over a restart; the same one if no usage is counted."""
        if self.rules is None or not self._metered:
            return snapshot
        return replace(
            snapshot,
            local_queues=tuple(replace(q, history=self.history(q, self.now)) for q in snapshot.local_queues),
            cluster_queues=tuple(replace(q, history=self.history(q, self.now)) for q in snapshot.cluster_queues),
        )

    def history(self, queue: LocalQueue | ClusterQueue, now: int) -> History:
        """Return the history of a queue to keep over a restart, as of a time. Nothing is changed."""
        meters, name = self._meters_of(queue)
        meter = meters.by_name.get(name)
        if meter is None or self.rules is None or not self._metered:
            return queue.history
        return meter.as_of(max(now, self.now), self.rules).history()

    def _meters_of(self, queue: LocalQueue | ClusterQueue) -> tuple[Meters, str]:
        if isinstance(queue, LocalQueue):
            return self.locals, key_of(queue)
        return self.clusters, queue.name


def _facts_read(rules: Rules, points: Iterable[str]) -> frozenset[str]:
    """Return the names of the facts that some points read; `facts` itself if it is used as a whole."""
    read = (name for point in points for name in rules.reads.get(point, ()))
    return frozenset(name for name in read if name == "facts" or name.startswith("facts."))


def requests_of(workload: Workload) -> dict[str, int]:
    """Return the requests of all pods of a workload, by resource."""
    sums: dict[str, int] = {}
    for pod_set in workload.pod_sets:
        for resource, amount in pod_set.requests.items():
            sums[resource] = sums.get(resource, 0) + amount * pod_set.count
    return sums


def usage_of(admission: Admission) -> dict[tuple[str, str], int]:
    """Return the usage of an admission, by flavor and resource."""
    sums: dict[tuple[str, str], int] = {}
    for pod_set in admission.pod_set_assignments:
        for resource, flavor in pod_set.flavors.items():
            sums[flavor, resource] = sums.get((flavor, resource), 0) + pod_set.resource_usage.get(resource, 0)
    return sums


def resources_of(admission: Admission) -> Mapping[str, int]:
    """Return the usage of an admission, by resource."""
    sums: dict[str, int] = {}
    for pod_set in admission.pod_set_assignments:
        for resource, amount in pod_set.resource_usage.items():
            sums[resource] = sums.get(resource, 0) + amount
    return sums
