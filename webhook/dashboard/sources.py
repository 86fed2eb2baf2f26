"""What the page reads: the parts of one replica that hold what it shows. Nothing here changes any of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.api.view import View
from webhook.cluster.core.queue_core import QueueCore
from webhook.cluster.queues.counts import WorkloadCounts
from webhook.policy.queue_rules.configured import Configured
from webhook.policy_reload.reload import PolicyFiles
from webhook.queue.state import State
from webhook.server.policy_measures import PolicyKey, PolicyTime
from webhook.store.objects import Object


@dataclass(frozen=True, slots=True)
class Sources:
    """The core and the objects it decides over, the policies, the journal's folder; `now` is in milliseconds.

    `leads` says whether this replica decides, `records` whether it writes its journal now, `identity` names it;
    `times` are those that policies took.
    """

    core: QueueCore
    view: View
    counts: WorkloadCounts
    policies: PolicyFiles
    rules: Configured
    now: Callable[[], int]
    leads: Callable[[], bool]
    records: Callable[[], bool]
    identity: str
    journal: Path | None = None
    started: int = field(default=0)
    times: Mapping[PolicyKey, PolicyTime] = field(default_factory=dict)

    @property
    def state(self) -> State:
        """The core's state as of its last round."""
        return self.core.state

    @property
    def revision(self) -> int:
        """Counts what changed in the queues."""
        return self.core.revision

    def workload(self, key: str) -> Object | None:
        """Return the object of a Workload, by `namespace/name`."""
        namespace, _, name = key.partition("/")
        return self.view.informer(WORKLOAD).get(name, namespace)
